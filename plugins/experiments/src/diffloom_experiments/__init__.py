"""Experiment files: TOML, checked and built into objects; and the folders of their runs."""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
