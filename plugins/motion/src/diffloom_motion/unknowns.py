"""What is sought in measured motion: parameters that all clips share, and corrections of each clip's own start."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_motion.clips import Array

#: The recording's own unknown: recorded length per metre.
SCALE = "scale"
#: What of a start may be free, three numbers each, and one for each joint.
STARTS = ("position", "orientation", "velocity", "angular_velocity")
JOINT_STARTS = ("joint_position", "joint_velocity")


@dataclass(frozen=True)
class Shared:
    """A parameter of the model, or ``scale``, the recorded length per metre, that is the same in all clips.
    ``mass[1]`` or ``mass[forearm]`` is one row of a parameter, by number or by the name of the link.

    start: a number, or several. space: "log" for positive numbers, or "free". along: for a number x that stands for a
    row, the pattern it is multiplied with, such as (1, 1, 1, 0, 0, 0) for the inertia of a cube; for several numbers a
    pattern each, which add up. natural: the size of a natural change, in the unit (free) or as a ratio (log).
    """

    name: str
    start: float | Sequence[float]
    space: str = "log"
    along: Sequence[float] | Sequence[Sequence[float]] | None = None
    natural: float = 1.0

    def __post_init__(self) -> None:
        if self.space not in ("log", "free"):
            raise InputError(f"unknowns.{self.name}: got space={self.space!r}; expected 'log' or 'free'")
        if self.space == "log" and bool((self.numbers <= 0.0).any()):
            raise InputError(f"unknowns.{self.name}: starts at {self.start}; in log space only positive numbers can be "
                             "sought, expected space = 'free'")  # fmt: skip
        if self.along is not None and len(np.atleast_2d(np.asarray(self.along))) != len(self.numbers):
            raise InputError(f"unknowns.{self.name}: got {len(self.numbers)} numbers along {self.along}; expected a "
                             "pattern for each")  # fmt: skip
        if self.natural <= 0.0:
            raise InputError(f"unknowns.{self.name}: got natural={self.natural:g}; expected a positive size")

    @property
    def numbers(self) -> Array:
        """Its start values."""
        return np.atleast_1d(np.asarray(self.start, dtype=np.float64))

    def searched(self) -> Array:
        """The start in the searched space."""
        return (np.log(self.numbers) if self.space == "log" else self.numbers) / self.natural

    def value(self, z: Tensor) -> Tensor:
        """The parameter (numbers,), or (pattern,), at ``z`` of the searched space."""
        found = (z * self.natural).exp() if self.space == "log" else z * self.natural
        return found if self.along is None else found @ torch.atleast_2d(torch.tensor(self.along, dtype=found.dtype))

    def shown(self, z: Array) -> Array:
        """The numbers themselves."""
        return np.exp(z * self.natural) if self.space == "log" else z * self.natural

    def deviation(self, z: Array, deviation: Array) -> Array:
        """Standard deviations of the numbers, of those in the searched space."""
        return deviation * self.natural * (self.shown(z) if self.space == "log" else 1.0)


@dataclass(frozen=True)
class Own:
    """Corrections of each clip's start, with what is expected of them.

    deviations: by part of the start, the standard deviation [m, rad, m/s, rad/s] of its error. noise: that [m]
    of a frame's error that they are weighed against. joints: of the model.
    """

    deviations: Mapping[str, float]
    noise: float = 1e-3
    joints: int = 0

    def __post_init__(self) -> None:
        for name, value in self.deviations.items():
            if name not in (*STARTS, *JOINT_STARTS) or not value > 0.0 or not math.isfinite(value):
                raise InputError(f"start.free.{name}: got {value}; expected a positive deviation of one of "
                                 f"{', '.join((*STARTS, *JOINT_STARTS))}")  # fmt: skip

    @property
    def size(self) -> int:
        """Numbers of a clip."""
        return sum(self._width(name) for name in self.deviations)

    def _width(self, name: str) -> int:
        return self.joints if name in JOINT_STARTS else 3

    def correction(self, y: Tensor, name: str) -> Tensor | None:
        """The correction (clips, 3 or joints) of one part, of y (clips, size) in units of the deviations."""
        if name not in self.deviations:
            return None
        names = list(self.deviations)
        at = sum(self._width(before) for before in names[: names.index(name)])
        return y[:, at : at + self._width(name)] * self.deviations[name]


def start_vector(shared: Sequence[Shared]) -> Array:
    """All starts in the searched space, one after another."""
    return np.concatenate([unknown.searched() for unknown in shared]) if shared else np.zeros(0)


def split(shared: Sequence[Shared], z: Array) -> list[Array]:
    """The part of each unknown."""
    ends = np.cumsum([len(unknown.numbers) for unknown in shared])
    return np.split(z, ends[:-1])


def values_at(shared: Sequence[Shared], z: Tensor) -> dict[str, Tensor]:
    """Each unknown's value at z."""
    parts = torch.split(z, [len(unknown.numbers) for unknown in shared]) if shared else ()
    return {unknown.name: unknown.value(part) for unknown, part in zip(shared, parts, strict=True)}
