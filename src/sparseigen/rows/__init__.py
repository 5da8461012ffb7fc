"""Blocks of rows from files, functions, or the partitions of a cluster."""
