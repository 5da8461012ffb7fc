"""Write the pages of the API reference from the public names: what is public and grouped here is on the page."""

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType

GROUPS = {
    "Sparse eigenvectors and components": [
        "covariance",
        "contrast",
        "sparse_eigenvector",
        "sparse_components",
        "cardinality_path",
        "explained_variance",
    ],
    "Estimators": ["SparsePCA", "SparseCCA", "SparseLDA"],
    "Proofs": ["upper_bound", "verify", "solve_exact", "restricted_norm", "recovery_check"],
    "Dense subgraphs": ["densest_k_subgraph", "density_curve", "disjoint_dense_subgraphs", "read_graph"],
    "Operators": ["Operator"],
    "Around it": ["show_config"],
}
"""Heading -> names of the package under it."""

MODULES = {
    "results": "Results",
    "components": "Sets of components",
    "estimators": "Estimators",
    "operators": "Operators",
    "datasets": "Data sets",
    "tools": "AnnData objects",
    "report": "Report pages",
    "errors": "Errors and warnings",
}
"""Public modules, each with a page of its own, and its heading."""


def public_members(module: ModuleType) -> list[str]:
    """The names a public module offers beyond the package's own: its ``__all__``, or the classes defined in it."""
    names = getattr(module, "__all__", None)
    if names is not None:
        return sorted(set(names) - set(import_module("sparseigen").__all__))
    classes = inspect.getmembers(module, inspect.isclass)
    return [name for name, value in classes if value.__module__ == module.__name__]


def index_page(package: ModuleType) -> str:
    """The first page: every public name, in groups."""
    parts = [_heading("API reference", "="), "Everything a program may rely on. Every example runs in the tests."]
    for title, names in GROUPS.items():
        present = [name for name in names if name in package.__all__]
        parts += [_heading(title, "-"), ".. currentmodule:: sparseigen", _summary(present)]
    parts += [_heading("Modules", "-"), ".. toctree::\n   :maxdepth: 1\n\n" + "".join(f"   {n}\n" for n in MODULES)]
    return "\n\n".join(parts) + "\n"


def module_page(package: ModuleType, name: str) -> str:
    """The page of one public module; errors are short enough to stand on one page in full."""
    module = getattr(package, name)
    title = f"{MODULES[name]}: sparseigen.{name}"
    full = f"sparseigen.{name}"
    described = inspect.getdoc(module) or ""
    parts = [_heading(title, "="), described, f".. currentmodule:: {full}"]
    if name == "errors":
        parts += [f".. autoclass:: {full}.{member}\n   :show-inheritance:" for member in public_members(module)]
    else:
        parts.append(_summary(public_members(module)))
    return "\n\n".join(parts) + "\n"


def write_api_pages(folder: Path, package: ModuleType) -> None:
    """Write all pages, leaving files that are already right alone so that unchanged pages are not rebuilt."""
    folder.mkdir(exist_ok=True)
    pages = {"index": index_page(package)}
    pages |= {name: module_page(package, name) for name in MODULES}
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)


def _heading(title: str, underline: str) -> str:
    return f"{title}\n{underline * len(title)}"


def _summary(names: list[str]) -> str:
    return ".. autosummary::\n   :toctree: generated/\n   :nosignatures:\n\n" + "".join(
        f"   {name}\n" for name in names
    )
