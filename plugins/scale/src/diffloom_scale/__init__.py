"""Many fits at once: engines, sweeps, datasets and loggers."""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
