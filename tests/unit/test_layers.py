"""Imports point down the layers; the public names are exactly those promised; importing stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import sparseigen

SOURCE = Path(sparseigen.__file__).parent

LAYERS = [
    "errors",
    "kernels",
    "config",
    "results",
    "checks",
    "io",
    "rows",
    "operators",
    "certificates",
    "solvers",
    "solve",
    "datasets",
    "problems",
    "components",
    "estimators graphs",
    "networkx_backend",
    "tools",
    "report",
    "cli",
]
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names.split()}

PUBLIC_NAMES = {
    "Operator",
    "SparseCCA",
    "SparseLDA",
    "SparsePCA",
    "cardinality_path",
    "contrast",
    "covariance",
    "datasets",
    "densest_k_subgraph",
    "density_curve",
    "disjoint_dense_subgraphs",
    "errors",
    "explained_variance",
    "read_graph",
    "recovery_check",
    "report",
    "restricted_norm",
    "show_config",
    "solve_exact",
    "sparse_components",
    "sparse_eigenvector",
    "upper_bound",
    "verify",
}

IN_SUBMODULES = {
    "components": {
        "ComponentOverlap",
        "SelectionStability",
        "Significance",
        "choose_cardinalities",
        "explained_variance",
        "find_overlap",
        "refine_components",
        "selection_stability",
        "sparse_components",
    },
    "estimators": {"CardinalitySearchCV", "CorrelationEvidence", "SparseCCA", "SparseLDA", "SparsePCA"},
    "operators": {"Operator", "as_operator", "contrast", "covariance", "from_linear_operator"},
    "results": {
        "Certificate",
        "ComponentSet",
        "DenseSubgraphResult",
        "DensityCurve",
        "SparseEigResult",
        "SparsePath",
        "Stage",
        "StopReason",
        "Verification",
    },
    "tools": {"sparse_pca"},
}
"""Submodules that load on first use, and the names they promise."""


def _part(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def _imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            if node.module == "sparseigen":
                found += [f"sparseigen.{alias.name}" for alias in node.names]
            else:
                found.append(node.module)
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            found.append("a relative import")
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    part = _part(path)
    if part in ("__init__", "__main__"):
        return
    assert part in HEIGHT, f"{part} has no place in the layers; add it to LAYERS"
    for module in _imports(path):
        assert module != "a relative import", f"{path.name}: relative imports hide the direction"
        if not module.startswith("sparseigen."):
            continue
        target = module.split(".")[1]
        assert target == part or HEIGHT[target] < HEIGHT[part], f"{part} may not import {target}"


def test_public_names_are_pinned() -> None:
    assert set(sparseigen.__all__) == PUBLIC_NAMES
    assert set(dir(sparseigen)) == PUBLIC_NAMES | set(IN_SUBMODULES) | {"__version__"}
    assert sparseigen.__version__ == metadata.version("sparseigen")


@pytest.mark.parametrize("name", sorted(PUBLIC_NAMES))
def test_every_public_name_loads_and_is_documented(name: str) -> None:
    value = getattr(sparseigen, name)
    assert value.__doc__


@pytest.mark.parametrize("module", sorted(IN_SUBMODULES))
def test_submodules_load_on_first_use_with_the_names_promised(module: str) -> None:
    code = f"import sparseigen; print(sorted(sparseigen.{module}.__all__))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == repr(sorted(IN_SUBMODULES[module]))
    assert all(getattr(getattr(sparseigen, module), name).__doc__ for name in IN_SUBMODULES[module])


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'densest'$"):
        sparseigen.densest  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'none'$"):
        sparseigen.estimators.none  # noqa: B018


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("CardinalitySearchCV", "estimators"),
        ("Certificate", "results"),
        ("DenseSubgraphResult", "results"),
        ("DensityCurve", "results"),
        ("SelectionStability", "components"),
        ("SparseEigResult", "results"),
        ("SparsePath", "results"),
        ("StopReason", "results"),
        ("progress_bar", "report"),
        ("refine_components", "components"),
        ("selection_stability", "components"),
    ],
)
def test_a_name_that_lives_in_a_submodule_says_so(name: str, home: str) -> None:
    assert getattr(getattr(sparseigen, home), name).__doc__
    with pytest.raises(AttributeError, match=f"it lives in sparseigen.{home}: from sparseigen.{home} import {name}$"):
        getattr(sparseigen, name)


def test_import_is_light() -> None:
    heavy = ["sklearn", "pandas", "polars", "networkx", "dask", "torch", "matplotlib", "plotly", "scipy.linalg", "rich"]
    code = (
        "import sys, sparseigen; sparseigen.sparse_eigenvector; "
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_no_module_prints() -> None:
    for path in SOURCE.rglob("*.py"):
        if "cli" in path.parts:
            continue
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        assert not [c for c in calls if getattr(c.func, "id", "") == "print"], path


MOST_FILES = 22
"""Files whose functions run in a default solve whose certificate closes the bracket, kernels included."""


def list_files(call: Any) -> list[str]:
    """The files of the package whose functions run during the call, after a first call has loaded them."""
    call()
    files: set[str] = set()

    def look(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            files.add(Path(frame.f_code.co_filename).relative_to(SOURCE).as_posix())

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return sorted(files)


def test_a_default_certified_solve_runs_through_few_files(rng: np.random.Generator) -> None:
    data = rng.standard_normal((100, 50))
    data[:, :5] += 3.0 * rng.standard_normal((100, 1))
    matrix, solve = np.cov(data.T), sparseigen.sparse_eigenvector
    assert solve(matrix, 5).certificate.optimal
    files = list_files(lambda: solve(matrix, 5))
    assert "solve/eigenvector.py" in files
    if "kernels/compiled.py" not in files:
        pytest.skip("the compiled kernels are not in use")
    assert len(files) <= MOST_FILES, files
