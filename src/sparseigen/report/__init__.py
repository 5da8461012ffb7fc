"""Progress lines, tables as text and HTML pages; each name loads what it needs when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparseigen.report.component_pages import component_report
    from sparseigen.report.graph_pages import graph_report
    from sparseigen.report.page import Report
    from sparseigen.report.progress import ProgressBar, progress_bar
    from sparseigen.report.words import components_table

_MODULES = {
    "ProgressBar": "progress",
    "Report": "page",
    "component_report": "component_pages",
    "components_table": "words",
    "graph_report": "graph_pages",
    "progress_bar": "progress",
}

__all__ = ["ProgressBar", "Report", "component_report", "components_table", "graph_report", "progress_bar"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        message = f"module 'sparseigen.report' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"sparseigen.report.{_MODULES[name]}"), name)
