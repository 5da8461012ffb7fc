"""What people look at: progress lines and tables."""

from sparseigen.report.progress import ProgressBar, progress_bar
from sparseigen.report.tables import components_table

__all__ = ["ProgressBar", "components_table", "progress_bar"]
