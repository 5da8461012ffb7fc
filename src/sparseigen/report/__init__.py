"""What people look at: progress lines, tables and pages."""

from typing import TYPE_CHECKING, Any

from sparseigen.report.component_pages import component_report
from sparseigen.report.page import Report
from sparseigen.report.progress import ProgressBar, progress_bar
from sparseigen.report.tables import components_table

if TYPE_CHECKING:
    from sparseigen.report.graph_pages import graph_report

__all__ = ["ProgressBar", "Report", "component_report", "components_table", "graph_report", "progress_bar"]


def __getattr__(name: str) -> Any:
    if name == "graph_report":  # the graphs part loads scipy.sparse: only those who ask for it wait
        from sparseigen.report import graph_pages

        return graph_pages.graph_report
    message = f"module 'sparseigen.report' has no attribute {name!r}"
    raise AttributeError(message)
