"""Files: formats of tables, matrices and graphs, and writing that never leaves half a file."""
