"""Lazy exports: a package's public names are written once, in its stub ``__init__.pyi``, and imported on first use."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["lazy_exports"]

# Patterns instead of ast.parse, which takes milliseconds for a long stub.
_IMPORT = re.compile(r"^from ([\w.]+) import (\([^)]*\)|.+)$", re.MULTILINE)
_NAME = re.compile(r"(\w+)(?: as (\w+))?")


def lazy_exports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package whose stub says where its names are defined.

    The stub beside ``__init__.py`` holds lines such as ``from diffloom.simulation import simulate as simulate``, which
    type checkers read. Importing the package imports none of these modules, and reads the stub only when a name is
    first used; ``__all__`` is such a name. Use::

        __getattr__, __dir__ = lazy_exports(__name__)

    Args:
        package: Name of the package, ``__name__`` of its ``__init__.py``.

    Returns:
        The two functions.
    """
    homes = cache(partial(_read_stub, package))

    def get(name: str) -> Any:
        if name == "__all__":
            found: Any = sorted(homes())
        elif name.startswith("__") or name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        else:
            home, original = homes()[name]
            found = getattr(import_module(home), original)
        setattr(sys.modules[package], name, found)  # later lookups do not call this function
        return found

    return get, lambda: sorted(homes())


def _read_stub(package: str) -> dict[str, tuple[str, str]]:
    """Return (module, name in it) of each name that the stub of a package imports."""
    source = sys.modules[package].__file__
    assert source is not None
    homes: dict[str, tuple[str, str]] = {}
    for found in _IMPORT.finditer(Path(source).with_suffix(".pyi").read_text(encoding="utf-8")):
        for name, alias in _NAME.findall(found[2]):
            homes[alias or name] = found[1], name
    return homes
