"""Judgement of a fit: whether it converged, saw the object, determined its unknowns and explains the video."""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
