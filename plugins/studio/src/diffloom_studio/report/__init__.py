"""What a fit leaves for people: videos, plots and one self-contained report."""

from diffloom_studio.report.media import write_frames
from diffloom_studio.report.report import write_report

__all__ = ["write_frames", "write_report"]
