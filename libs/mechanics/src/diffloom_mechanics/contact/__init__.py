"""Contact with planes, obstacles and other bodies, shared by every model: host side. Device functions are in
``diffloom_mechanics.contact.kernels``."""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
