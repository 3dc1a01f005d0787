"""Measured motion: fits of models to recorded poses and markers, many clips at once."""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
