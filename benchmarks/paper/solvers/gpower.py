"""GPower of Journee, Nesterov, Richtarik and Sepulchre; gamma counts relative to the largest column norm."""

from benchmarks.paper.solvers.base import Solver, penalised

SINGLE = "one component after the other, projection deflation; gamma relative to the largest column norm"
BLOCK = "all components together, equal weights; gamma relative to the largest column norm"


def _gpower(penalty: str, deflation: str):
    return penalised(f"gpower-{penalty}", "gamma", method_options={"relative": True}, deflation=deflation)


SOLVERS = {
    "gpower-l1": Solver("GPower l1, single-unit", SINGLE, _gpower("l1", "projection")),
    "gpower-l0": Solver("GPower l0, single-unit", SINGLE, _gpower("l0", "projection")),
    "gpower-l1-block": Solver("GPower l1, block", BLOCK, _gpower("l1", "block")),
    "gpower-l0-block": Solver("GPower l0, block", BLOCK, _gpower("l0", "block")),
}
