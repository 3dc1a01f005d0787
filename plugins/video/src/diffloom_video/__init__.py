"""Videos as targets of a fit: reading, frame times, segmentation, tracks and first guesses."""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
