"""Control from images: policies, goals, and scenes as gymnasium environments (``diffloom_control.gym``)."""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
