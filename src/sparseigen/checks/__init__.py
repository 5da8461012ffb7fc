"""What comes in is right, or one sentence says why not: arguments, arrays, frames, graphs, memory."""
