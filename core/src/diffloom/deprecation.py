"""Old names that go on working for a while, each with a warning that says the new one."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)


def warn_renamed(what: str, old: str, new: str, depth: int = 3) -> None:
    """Say that ``what`` is called ``new`` now. depth: how many calls up the line stands that uses the old name."""
    warnings.warn(f"{what}: {old!r} is now called {new!r}; the old name will go", DeprecationWarning, stacklevel=depth)


def renamed_names(module: str, renamed: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` that serves old names. renamed: new by old, of the same module."""

    def found(name: str) -> Any:
        if name not in renamed:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn_renamed(module, name, renamed[name])
        return getattr(import_module(module), renamed[name])

    return found


def renamed_arguments(**renamed: str) -> Callable[[_Class], _Class]:
    """For a class whose constructor's arguments were renamed, and with them its attributes: new by old."""

    def decorate(cls: _Class) -> _Class:
        construct: Callable[..., None] = cls.__init__  # type: ignore[misc]

        @functools.wraps(construct)
        def constructed(self: Any, *args: Any, **given: Any) -> None:
            for old in given.keys() & renamed.keys():
                warn_renamed(cls.__name__, old, renamed[old])
                given[renamed[old]] = given.pop(old)
            construct(self, *args, **given)

        cls.__init__ = constructed  # type: ignore[misc]
        return renamed_attributes(**renamed)(cls)

    return decorate


def renamed_attributes(**renamed: str) -> Callable[[_Class], _Class]:
    """For a class whose attributes or methods were renamed: new by old."""

    def decorate(cls: _Class) -> _Class:
        for old, new in renamed.items():
            setattr(cls, old, property(functools.partial(_attribute, old, new), doc=f"Old name of ``{new}``."))
        return cls

    return decorate


def _attribute(old: str, new: str, self: Any) -> Any:
    warn_renamed(type(self).__name__, old, new)
    return getattr(self, new)
