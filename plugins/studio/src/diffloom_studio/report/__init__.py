"""Files that a fit leaves for people: videos, plots and one self-contained report."""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
