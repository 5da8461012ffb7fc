"""The door: arrays, frames, files and arguments become checked values with names."""
