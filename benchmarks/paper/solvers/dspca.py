"""DSPCA of d'Aspremont, El Ghaoui, Jordan and Lanckriet, which the paper names and leaves out."""

from benchmarks.paper.solvers.base import Solver, components

SOLVERS = {"dspca": Solver("DSPCA", "semidefinite relaxation, rounded to the cardinality", components("dspca"))}
