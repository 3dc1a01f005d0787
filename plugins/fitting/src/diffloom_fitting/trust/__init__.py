"""Whether a fit's answer can be trusted: what converged, what was visible, what the pixels determine."""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
