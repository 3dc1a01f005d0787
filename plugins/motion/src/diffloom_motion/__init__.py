"""Fits of models to measured motion: recorded poses and markers of many clips at once."""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
