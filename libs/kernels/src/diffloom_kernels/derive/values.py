"""Values that a device function computes, as the derivation follows them: their text, and what they depend on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, eq=False)
class Real:
    """Float.

    Args:
        text: Variable, entry of one, or literal.
        active: True if a derivative by it is wanted.
    """

    text: str
    active: bool = False


@dataclass(frozen=True, eq=False)
class Whole:
    """Value without derivative, such as an integer or a flag.

    Args:
        text: Source text.
        own: True for the index of the element that runs.
        corner: For the node at a corner, the array of corners and the number of the corner.
    """

    text: str
    own: bool = False
    corner: tuple[str, int] | None = None


@dataclass(frozen=True, eq=False)
class Group:
    """Tuple.

    Args:
        items: Entries.
        name: Variable that holds the tuple; None if there is none.
    """

    items: tuple[Any, ...]
    name: str | None = None

    @property
    def text(self) -> str:
        """The tuple as source text."""
        if self.name is not None:
            return self.name
        inside = ", ".join(item.text for item in self.items)
        return f"({inside},)" if len(self.items) == 1 else f"({inside})"


@dataclass(frozen=True, eq=False)
class Fixed:
    """Compile-time value: a number, a function, a type or None."""

    value: Any

    @property
    def text(self) -> str:
        """The number as source text; the name ``inf`` would mean nothing there."""
        if isinstance(self.value, float) and math.isinf(self.value):
            return "1e999" if self.value > 0 else "-1e999"
        return repr(self.value)


@dataclass(frozen=True, eq=False)
class FloatType:
    """Float type of an array, which converts numbers."""

    text: str


@dataclass(frozen=True, eq=False)
class Record:
    """Record with named entries, such as a clock.

    Args:
        text: Variable.
        entries: Values of the entries by name.
    """

    text: str
    entries: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Array:
    """Array argument.

    Args:
        text: Name of the argument.
        role: "real" or "whole" for constants; "parameter" for an array whose gradient is wanted; "state" for the
            state of nodes; "corners" for the nodes of elements; "slots" for the rows that elements write; "shared" for
            an array that is read and written at any index, whose adjoint runs in one thread.
        corners: For states and slots of elements, the name of the array of corners that indexes them.
        cotangent: Array of the cotangents: of parameters to be added to, of slots as given by node.
    """

    text: str
    role: str
    corners: str | None = None
    cotangent: str | None = None


Value = Real | Whole | Group | Fixed | FloatType | Record | Array


def leaves(value: Value) -> Iterator[Real | Whole | Fixed]:
    """Yield the numbers in a value."""
    if isinstance(value, Group):
        for item in value.items:
            yield from leaves(item)
    elif isinstance(value, Real | Whole | Fixed):
        yield value


def is_active(value: Value) -> bool:
    """Return True if a derivative by some number in the value is wanted."""
    return any(isinstance(leaf, Real) and leaf.active for leaf in leaves(value))


def named(value: Value, text: str, active: bool | None = None) -> Any:
    """Return a value of this structure that is held by variable ``text``.

    Args:
        value: Value to copy.
        text: Variable.
        active: Activity of its floats; their own by default.
    """
    if isinstance(value, Group):
        entries = (named(item, f"{text}[{k}]", active) for k, item in enumerate(value.items))
        return Group(tuple(entries), text)
    if isinstance(value, Real):
        return Real(text, value.active if active is None else active)
    if isinstance(value, Fixed):
        return value if not isinstance(value.value, float) else Real(text)
    return replace(value, text=text)


def structure(value: Value) -> Any:
    """Return the key of a value: functions are derived once for each structure of their arguments."""
    if isinstance(value, Group):
        return tuple(map(structure, value.items))
    if isinstance(value, Fixed):
        return ("fixed", value.value)
    return type(value).__name__


@dataclass
class Names:
    """Names in use in one generated function."""

    taken: set[str] = field(default_factory=set)

    def fresh(self, wanted: str) -> str:
        """Return an unused name like ``wanted``, and reserve it."""
        name, number = wanted, 1
        while name in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        return name
