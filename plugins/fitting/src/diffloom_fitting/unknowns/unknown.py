"""One thing that is sought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.unknowns.spaces import Bounds
from diffloom_fitting.validation import real, shown, whole


@dataclass(frozen=True)
class Unknown:
    """A parameter of the model, or of the image, that a fit is to find.

    name: a parameter of the model; or "camera.distance", "camera.elevation", "camera.azimuth", "camera.fov",
        "camera.target", "appearance.colour".
    start: where the search begins: a number, list, array or tensor in the parameter's unit, or a text with a unit,
        such as "2 kPa"; None takes the scene's value.
    each: False seeks values of start's own shape (a number is shared by all elements), True one value per element.
    only: rows of the parameter that are sought; the others keep the scene's values. None seeks all.
    space: "free", "log" or "bounded"; None lets the parameter's bounds decide. bounds: narrower ones of your own.
    scale: the size of a natural change: in the parameter's unit in the free space, as a logarithm in the log space.
    along: for a number that stands for a row, the pattern that it is multiplied with, such as (1, 1, 1, 0, 0, 0) for
        the inertia of a cube; for several numbers a pattern each, which add up.
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
            raise InputError(f"Unknown: got the name {shown(self.name)}; expected that of a parameter, such as 'mass'")
        what = f"unknown {self.name!r}"
        if not isinstance(self.each, bool):
            raise InputError(f"{what}: got each={shown(self.each)}; expected True or False")
        object.__setattr__(self, "scale", real(f"{what}: scale", self.scale, above=0.0))
        if self.space not in (None, "free", "log", "bounded"):
            raise InputError(f"{what}: got space={shown(self.space)}; expected one of free, log, bounded")
        if self.only is not None:
            given: object = self.only
            given = (given,) if isinstance(given, int) else given
            if isinstance(given, str) or not isinstance(given, Sequence) or not len(given):
                raise InputError(f"{what}: got only={shown(self.only)}; expected rows, such as (0, 2)")
            object.__setattr__(self, "only", tuple(whole(f"{what}: only", row) for row in given))
        if self.bounds is not None:
            object.__setattr__(self, "bounds", _bounds(what, self.bounds))


def _bounds(what: str, given: object) -> Bounds:
    """(low, high), each a number or None, the first smaller."""
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise InputError(f"{what}: got bounds={shown(given)}; expected (low, high), each a number or None")
    low, high = (None if end is None else real(f"{what}: bounds", end) for end in given)
    if low is not None and high is not None and not low < high:
        raise InputError(f"{what}: got bounds {low:g} and {high:g}; expected the first smaller")
    return low, high


Sought = Mapping[str, object] | Sequence[Unknown | str]


def as_unknowns(sought: Sought) -> tuple[Unknown, ...]:
    """A list of ``Unknown`` from any of the short forms."""
    if isinstance(sought, Unknown | str):
        sought = [sought]
    if isinstance(sought, Mapping):
        return tuple(
            value if isinstance(value, Unknown) else Unknown(name, value)  # type: ignore[arg-type]
            for name, value in sought.items()
        )
    if not isinstance(sought, Sequence) or not all(isinstance(item, Unknown | str) for item in sought):
        raise InputError(
            f'unknowns: got {shown(sought)}; expected starts by name, such as {{"density": 2.0}}, or a list of Unknown'
        )
    return tuple(Unknown(item) if isinstance(item, str) else item for item in sought)
