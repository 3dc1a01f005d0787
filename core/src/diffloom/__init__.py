"""diffloom: fit physics to pixels.

The core has interfaces, plugin system, command line and `simulate`. Names are imported when first used, so that
``import diffloom`` and listing plugins stay fast.
"""

from typing import Any

from diffloom.lazy import lazy_exports

_get, __dir__ = lazy_exports(__name__)


def __getattr__(name: str) -> Any:
    """Return the version, or import a public name."""
    if name == "__version__":
        from importlib.metadata import version

        return version("diffloom-core")
    return _get(name)
