"""Checks of input: arguments, arrays, frames, graphs, memory. What is wrong is refused in one sentence."""
