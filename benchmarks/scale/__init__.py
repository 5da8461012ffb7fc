"""Beyond memory and beyond one machine: measured on this one."""
