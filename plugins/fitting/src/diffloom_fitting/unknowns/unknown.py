"""Unknown: a quantity that a fit seeks."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.unknowns.spaces import Bounds
from diffloom_fitting.validation import check_real, check_whole, describe_value


@dataclass(frozen=True)
class Unknown:
    """A quantity that a fit seeks: a parameter of the model, or a property of camera or appearance.

    Args:
        name: Name of a parameter, or "camera.distance", "camera.elevation", "camera.azimuth", "camera.fov",
            "camera.target", "appearance.colour" and so on.
        start: Start of the search: a number, list, array or tensor in the parameter's unit, or a text with a
            unit, for example "2 kPa"; None for the scene's value.
        each: True for one value per element; False for values of start's own shape (a number is shared by all
            elements).
        only: Rows of the parameter that are sought; None for all.
        space: "free", "log" or "bounded"; None chooses by the bounds.
        bounds: Narrower bounds than the parameter's own.
        scale: Size of a natural change: in the unit for the free space, as a logarithm for the log space.
        along: Pattern that a number is multiplied with to give a row, such as (1, 1, 1, 0, 0, 0) for the inertia of a
            cube; for several numbers a pattern each, which add up.
    """

    name: str
    start: float | str | list[float] | list[list[float]] | Tensor | None = None
    each: bool = False
    only: tuple[int, ...] | None = None
    space: str | None = None
    bounds: Bounds | None = None
    scale: float = 1.0
    along: Sequence[float] | Sequence[Sequence[float]] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(
                f"Unknown: got the name {describe_value(self.name)}; expected that of a parameter, such as 'mass'"
            )
        what = f"unknown {self.name!r}"
        start: object = self.start
        if isinstance(start, Iterator):
            object.__setattr__(self, "start", list(start))
        if not isinstance(self.each, bool):
            raise InputError(f"{what}: got each={describe_value(self.each)}; expected True or False")
        object.__setattr__(self, "scale", check_real(f"{what}: scale", self.scale, above=0.0))
        if self.space not in (None, "free", "log", "bounded"):
            raise InputError(f"{what}: got space={describe_value(self.space)}; expected one of free, log, bounded")
        if self.only is not None:
            given: object = self.only
            given = (given,) if isinstance(given, int) else given
            if isinstance(given, str) or not isinstance(given, Sequence) or not len(given):
                raise InputError(f"{what}: got only={describe_value(self.only)}; expected rows, such as (0, 2)")
            object.__setattr__(self, "only", tuple(check_whole(f"{what}: only", row) for row in given))
        if self.bounds is not None:
            object.__setattr__(self, "bounds", _bounds(what, self.bounds))


def _bounds(what: str, given: object) -> Bounds:
    """Return (low, high), each a number or None, the first smaller."""
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise InputError(f"{what}: got bounds={describe_value(given)}; expected (low, high), each a number or None")
    low, high = (None if end is None else check_real(f"{what}: bounds", end) for end in given)
    if low is not None and high is not None and not low < high:
        raise InputError(f"{what}: got bounds {low:g} and {high:g}; expected the first smaller")
    return low, high


Sought = Mapping[str, object] | Iterable[Unknown | str]


def as_unknowns(given: Sought) -> tuple[Unknown, ...]:
    """Return a tuple of ``Unknown`` from any of the short forms, also a generator or a row of pandas."""
    sought: Any = [given] if isinstance(given, Unknown | str) else given
    if isinstance(sought, ItemsView) or (not isinstance(sought, Mapping) and hasattr(sought, "items")):
        sought = dict(sought if isinstance(sought, ItemsView) else sought.items())
    if isinstance(sought, Iterator):
        sought = list(sought)
    if isinstance(sought, Mapping):
        return tuple(value if isinstance(value, Unknown) else Unknown(name, value) for name, value in sought.items())
    if not isinstance(sought, Sequence) or not all(isinstance(item, Unknown | str) for item in sought):
        raise InputError(
            f'unknowns: got {describe_value(sought)}; expected starts by name, such as {{"density": 2.0}}, or a '
            "list of Unknown"
        )
    return tuple(Unknown(item) if isinstance(item, str) else item for item in sought)
