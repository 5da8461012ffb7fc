"""``doctor``: what is installed, and whether it gives the right answers here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from sparseigen.cli.failures import FAILED
from sparseigen.cli.output import as_json


def _eigenvector() -> str | None:
    from sparseigen.datasets import load_pitprops
    from sparseigen.solve import sparse_eigenvector

    value = sparse_eigenvector(load_pitprops().matrix, 5).value
    return None if abs(value - 3.406154946789761) < 1e-9 else f"PitProps, 5 variables gave {value!r}"


def _proof() -> str | None:
    from sparseigen.datasets import load_pitprops
    from sparseigen.solve import solve_exact

    result = solve_exact(load_pitprops().matrix, 5)
    proven = result.certificate is not None and result.certificate.optimal
    return None if proven else f"PitProps, 5 variables: {result!r}"


def _kernels() -> str | None:
    import numpy as np

    from sparseigen import kernels
    from sparseigen.kernels import numpy_reference

    values = np.sin(np.arange(1.0, 400.0))
    ours, reference = (part.largest_magnitudes(values, 37) for part in (kernels, numpy_reference))
    return None if np.array_equal(ours, reference) else "compiled and NumPy kernels disagree"


def _graph() -> str | None:
    import numpy as np
    import scipy.sparse as sp

    from sparseigen.graphs import densest_k_subgraph

    clique = np.zeros((12, 12))
    clique[3:8, 3:8] = 1.0
    np.fill_diagonal(clique, 0.0)
    found = densest_k_subgraph(sp.csr_array(clique), 5)
    return None if found.nodes == (3, 4, 5, 6, 7) else f"a clique of 5 was not found: {found.nodes}"


TESTS: dict[str, Callable[[], str | None]] = {
    "self-test": _eigenvector,
    "proof": _proof,
    "kernel twin": _kernels,
    "graphs": _graph,
}
"""Name -> a test with a known answer; it returns what is wrong, or None."""


def doctor(json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False) -> None:
    """Print versions, kernels, threads and optional parts, and solve problems with known answers.

    Example: sparseigen doctor
    """
    from sparseigen.config import config, show_config
    from sparseigen.datasets import data_folder
    from sparseigen.errors import MissingDataError

    try:
        folder = str(data_folder())
    except MissingDataError:
        folder = "not found (set SPARSEIGEN_DATA)"
    failures = {name: test() for name, test in TESTS.items()}
    if json:
        print(as_json({"config": config(), "data": folder, "failures": failures}))
    else:
        show_config()
        print(f"{'data':<12}{folder}")
        for name, wrong in failures.items():
            print(f"{name:<12}{'passed' if wrong is None else f'FAILED: {wrong}'}")
    if any(failures.values()):
        raise typer.Exit(FAILED)


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("doctor")(doctor)
