"""Sphinx settings. `make docs` builds with warnings as errors and needs no network."""

import importlib.util
import os
import re
import sys
from pathlib import Path

from sphinx.util import logging

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
_beside = HERE.parents[1] / "shared" / "data"
if _beside.is_dir():  # examples run in folders of their own, from where the data set folder would not be found
    os.environ.setdefault("SPARSEIGEN_DATA", str(_beside))

from api_pages import write_api_pages  # noqa: E402

import sparseigen  # noqa: E402
from sparseigen.datasets import data_folder  # noqa: E402
from sparseigen.errors import MissingDataError  # noqa: E402

project = "sparseigen"
copyright = "The sparseigen developers"
author = "The sparseigen developers"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery", "examples", "images", "auto_examples/*.ipynb", "auto_examples/*.py"]
default_role = "py:obj"

html_theme = "pydata_sphinx_theme"
html_title = "sparseigen"
html_static_path = ["static"]
html_css_files = ["wide.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "sparseigen"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}

autosummary_generate = True
templates_path = ["templates"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]


def _data_reason() -> str | None:
    try:
        data_folder()
    except MissingDataError as error:
        return str(error)
    return None


def _genetics_reason() -> str | None:
    return None if importlib.util.find_spec("bed_reader") else "bed-reader is not installed"


def _gpu_reason() -> str | None:
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed."
    import torch

    return None if torch.cuda.is_available() else "there is no GPU that torch can use."


def _dask_reason() -> str | None:
    missing = [name for name in ("dask", "distributed") if importlib.util.find_spec(name) is None]
    return f"{missing[0]} is not installed (pip install 'sparseigen[dask]')." if missing else None


NEEDS = {
    "plot_airline.py": _data_reason,
    "plot_colon.py": _data_reason,
    "plot_dask.py": _dask_reason,
    "plot_genotypes.py": _genetics_reason,
    "plot_million_variables.py": _gpu_reason,
    "plot_newsgroups.py": _data_reason,
    "plot_web.py": _data_reason,
    "plot_what_are_my_components.py": _data_reason,
}
"""Example -> what says why it cannot run here, or None. Examples without a row always run."""

NOT_RUN = {name: reason for name, check in NEEDS.items() if (reason := check()) is not None}
_RUN = [path.name for path in sorted((HERE / "gallery").glob("plot_*.py")) if path.name not in NOT_RUN]

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "|".join(re.escape(f"/{name}") + "$" for name in _RUN) or "(?!)",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,  # that page loads scripts from the network
    "reset_modules": ("matplotlib",),
}


def say_why_not_run(app, docname, source) -> None:
    """On the page of an example that cannot run here: say so, and why."""
    reason = NOT_RUN.get(f"{Path(docname).name}.py")
    if not docname.startswith("auto_examples/") or reason is None:
        return
    note = f"\n\n.. note::\n\n   Shown without output. In this build the example was not run: {reason}\n\n"
    heading = re.search(r"^=+\n.+\n=+\n|^.+\n=+\n", source[0], flags=re.MULTILINE)
    where = heading.end() if heading else 0
    source[0] = source[0][:where] + note + source[0][where:]
    logging.getLogger(__name__).info("%s was not run: %s", docname, reason)


def skip_generated_by_sklearn(app, what, name, value, skip, options) -> bool | None:
    """Leave out `set_..._request`, which scikit-learn makes and documents with links into its own pages."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app) -> None:
    """Write the reference pages before autosummary looks for them."""
    write_api_pages(HERE / "api", sparseigen)
    app.connect("source-read", say_why_not_run)
    app.connect("autodoc-skip-member", skip_generated_by_sklearn)
