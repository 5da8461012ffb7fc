"""Small faults put into solvers and certificates, one at a time: does a test notice? Run by ``make mutants``."""
