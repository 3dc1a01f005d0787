"""What a fit leaves for people: videos, plots and one self-contained report."""

from diffloom_fitting.report.report import write_report

__all__ = ["write_report"]
