"""PathSPCA of d'Aspremont, Bach and El Ghaoui: greedy forward selection."""

from benchmarks.paper.solvers.base import Solver, components

SOLVERS = {
    "pathspca": Solver(
        "PathSPCA",
        "approximate greedy: add the variable with the largest |a_j'x|, x the leading eigenvector so far",
        components("pathspca"),
    ),
    "pathspca-full": Solver(
        "PathSPCA, full greedy",
        "add the variable that raises the eigenvalue most",
        components("pathspca", method_options={"greedy": "full"}),
    ),
}
