"""The loss on a grid of one or two parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.validation import nearest
from diffloom_fitting.experiment import AbstractExperiment
from diffloom_fitting.scene import MOST_SCENES

Points = Iterable[tuple[int, ...]]


@dataclass(frozen=True)
class Axis:
    """A parameter and the values it takes."""

    name: str
    values: NDArray[np.float64]

    @staticmethod
    def parse(text: str, spaced: bool = False) -> Axis:
        """From "mass=0.1:5:41"; ``spaced`` by equal factors instead of equal steps."""
        name, _, span = text.partition("=")
        try:
            low, high, count = span.split(":")
            ends, number = (float(low), float(high)), int(count)
        except ValueError:
            raise InputError(f"--over {text!r}: expected NAME=LOW:HIGH:COUNT, such as mass=0.1:5:41") from None
        if number < 2 or not ends[0] < ends[1] or (spaced and ends[0] <= 0.0):
            raise InputError(f"--over {text!r}: expected LOW < HIGH (positive with --log) and at least 2 values")
        return Axis(name, np.geomspace(*ends, number) if spaced else np.linspace(*ends, number))


@dataclass(frozen=True)
class Grid:
    """Losses (n,) or (n, m) over one or two axes; infinite where it could not be simulated."""

    axes: tuple[Axis, ...]
    losses: NDArray[np.float64]

    @property
    def least(self) -> float:
        """The lowest loss."""
        return float(self.losses.min())

    @property
    def lowest(self) -> tuple[float, ...]:
        """Where it is."""
        index = np.unravel_index(int(self.losses.argmin()), self.losses.shape)
        return tuple(float(axis.values[i]) for axis, i in zip(self.axes, index, strict=True))

    def minima(self) -> int:
        """How many grid points are lower than all their neighbours."""
        padded = np.pad(self.losses, 1, constant_values=np.inf)
        lower = np.ones(self.losses.shape, dtype=bool)
        for shift in np.ndindex(*([3] * self.losses.ndim)):
            if all(s == 1 for s in shift):
                continue
            part = tuple(slice(s, s + n) for s, n in zip(shift, self.losses.shape, strict=True))
            lower &= self.losses < padded[part]
        return int(lower.sum())


def check_axes(experiment: AbstractExperiment, axes: Sequence[Axis]) -> None:
    """Raise InputError unless each axis is something the experiment seeks."""
    names = [slot.name for slot in experiment.layout.slots]
    vectors = [slot.name for slot in experiment.layout.slots if slot.shape[-1:] == (3,)]
    for axis in axes:
        if axis.name in vectors:
            raise InputError(
                f"--over {axis.name!r}: one number is no vector; seek its numbers on their own, such as "
                f"'{axis.name}.x', in the file"
            )
        if axis.name not in names:
            raise InputError(
                f"--over {axis.name!r}: not an unknown of the experiment{nearest(axis.name, names) or '.'} It seeks: "
                f"{', '.join(names)}"
            )


def evaluate_grid(
    experiment: AbstractExperiment, axes: Sequence[Axis], watch: Callable[[list[tuple[int, ...]]], Points] = iter
) -> Grid:
    """The loss at each grid point, other unknowns at their truth or start."""
    check_axes(experiment, axes)
    losses = np.full([len(axis.values) for axis in axes], np.inf)
    waiting: list[tuple[int, ...]] = []
    for index in watch(list(np.ndindex(losses.shape))):
        waiting.append(index)
        if len(waiting) == MOST_SCENES or index == tuple(n - 1 for n in losses.shape):
            for point, loss in zip(waiting, losses_at(experiment, axes, waiting), strict=True):
                losses[point] = loss
            waiting.clear()
    return Grid(tuple(axes), losses)


def losses_at(experiment: AbstractExperiment, axes: Sequence[Axis], points: Sequence[tuple[int, ...]]) -> list[float]:
    """The losses at some points of a grid."""
    layout = experiment.layout
    base: dict[str, Tensor] = {s.name: experiment.truth.get(s.name, s.start) for s in layout.slots}
    places = []
    for index in points:
        here = dict(base)
        for axis, i in zip(axes, index, strict=True):
            here[axis.name] = torch.tensor(axis.values[i], dtype=layout.dtype)
        places.append(layout.encode(here))
    return [seen.value for seen in experiment.objective().values_at(places)]
