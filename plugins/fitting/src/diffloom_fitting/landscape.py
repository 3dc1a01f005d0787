"""Losses on a grid of one or two unknowns: with the other unknowns fixed, or fitted at each point (profile)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.validation import suggest_name
from diffloom_fitting.driver import run_search
from diffloom_fitting.experiment import AbstractExperiment, Experiment
from diffloom_fitting.objective import Objective
from diffloom_fitting.optimisers import FitError, GaussNewton, Progress
from diffloom_fitting.problem import Problem, Search
from diffloom_fitting.results import Result
from diffloom_fitting.scene import MOST_SCENES
from diffloom_fitting.trust.uncertainty import Uncertainty
from diffloom_fitting.unknowns import make_tie

__all__ = ["Axis", "LossGrid", "Profile", "check_axes", "evaluate_grid", "evaluate_losses", "profile"]

Points = Iterable[tuple[int, ...]]
ITERATIONS, ENOUGH = 12, 1e-6  # largest number of Gauss-Newton steps per point, and relative fall that ends them
CHI2 = {1: 3.841, 2: 5.991}  # 95 % quantiles of chi-squared, by number of unknowns


@dataclass(frozen=True)
class Axis:
    """Axis of a grid: an unknown and its values.

    Args:
        name: Name of the unknown.
        values: Increasing values, in its unit.
    """

    name: str
    values: NDArray[np.float64]

    @staticmethod
    def parse(text: str, spaced: bool = False) -> Axis:
        """Parse an axis such as "mass=0.1:5:41".

        Args:
            text: NAME=LOW:HIGH:COUNT.
            spaced: True for equal factors instead of equal steps.

        Returns:
            The axis.

        Raises:
            InputError: The text has another form.
        """
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
class LossGrid:
    """Losses over one or two axes.

    Args:
        axes: The axes.
        losses: (n,) or (n, m); infinite where the simulation fails.
    """

    axes: tuple[Axis, ...]
    losses: NDArray[np.float64]

    @property
    def least(self) -> float:
        """The lowest loss."""
        return float(self.losses.min())

    @property
    def lowest(self) -> tuple[float, ...]:
        """Position of the lowest loss."""
        index = np.unravel_index(int(self.losses.argmin()), self.losses.shape)
        return tuple(float(axis.values[i]) for axis, i in zip(self.axes, index, strict=True))

    def minima(self) -> int:
        """Count the grid points that are lower than all their neighbours.

        Returns:
            The number of local minima.
        """
        padded = np.pad(self.losses, 1, constant_values=np.inf)
        lower = np.ones(self.losses.shape, dtype=bool)
        for shift in np.ndindex(*([3] * self.losses.ndim)):
            if all(s == 1 for s in shift):
                continue
            part = tuple(slice(s, s + n) for s, n in zip(shift, self.losses.shape, strict=True))
            lower &= self.losses < padded[part]
        return int(lower.sum())


def check_axes(experiment: AbstractExperiment, axes: Sequence[Axis]) -> None:
    """Raise unless each axis is an unknown of the experiment.

    Args:
        experiment: The experiment.
        axes: The axes.
    """
    names = [slot.name for slot in experiment.layout.slots]
    vectors = [slot.name for slot in experiment.layout.slots if slot.shape[-1:] == (3,)]
    for axis in axes:
        if axis.name in vectors:
            raise InputError(
                f"--over {axis.name!r}: this is a vector, and an axis has one number; seek its components, such as "
                f"[unknowns.'{axis.name}.x']"
            )
        if axis.name not in names:
            raise InputError(
                f"--over {axis.name!r}: not an unknown of the experiment{suggest_name(axis.name, names) or '.'} "
                f"It seeks: {', '.join(names)}"
            )


def evaluate_grid(
    experiment: AbstractExperiment, axes: Sequence[Axis], watch: Callable[[list[tuple[int, ...]]], Points] = iter
) -> LossGrid:
    """Evaluate the loss at each grid point, with the other unknowns at their truth or start.

    Args:
        experiment: The experiment.
        axes: One or two axes.
        watch: Wraps the list of points, to show progress.

    Returns:
        The losses.
    """
    check_axes(experiment, axes)
    losses = np.full([len(axis.values) for axis in axes], np.inf)
    waiting: list[tuple[int, ...]] = []
    for index in watch(list(np.ndindex(losses.shape))):
        waiting.append(index)
        if len(waiting) == MOST_SCENES or index == tuple(n - 1 for n in losses.shape):
            for point, loss in zip(waiting, evaluate_losses(experiment, axes, waiting), strict=True):
                losses[point] = loss
            waiting.clear()
    return LossGrid(tuple(axes), losses)


def evaluate_losses(
    experiment: AbstractExperiment, axes: Sequence[Axis], points: Sequence[tuple[int, ...]]
) -> list[float]:
    """Evaluate the losses at some points of a grid.

    Args:
        experiment: The experiment.
        axes: Axes of the grid.
        points: Indices of the points.

    Returns:
        The losses.
    """
    layout = experiment.layout
    base: dict[str, Tensor] = {s.name: experiment.truth.get(s.name, s.start) for s in layout.slots}
    places = []
    for index in points:
        here = dict(base)
        for axis, i in zip(axes, index, strict=True):
            here[axis.name] = torch.tensor(axis.values[i], dtype=layout.dtype)
        places.append(layout.encode(here))
    return [seen.value for seen in experiment.objective().values_at(places)]


@dataclass(frozen=True)
class Profile:
    """Profile likelihood: the loss with the other unknowns fitted at each grid point.

    Args:
        grid: The lowest losses.
        level: Loss up to which points belong to the 95 % region.
    """

    grid: LossGrid
    level: float

    def interval(self) -> tuple[float, float] | None:
        """Interpolate the ends of the region along a single axis.

        Returns:
            Low and high end, infinite where the grid ends first; None for two axes or without a region.
        """
        if len(self.grid.axes) != 1 or not self.grid.least <= self.level:
            return None
        values, above = self.grid.axes[0].values, self.grid.losses - self.level
        inside = np.flatnonzero(above <= 0.0)
        return _end(values, above, int(inside[0]), -1), _end(values, above, int(inside[-1]), 1)


Watch = Callable[[list[tuple[int, ...]]], Points]


def profile(experiment: Experiment, result: Result, axes: Sequence[Axis], watch: Watch = iter) -> Profile:
    """Fit the other unknowns at each grid point, starting from the nearest point done before.

    Args:
        experiment: The experiment.
        result: Its result, with an uncertainty.
        axes: One or two axes of single numbers.
        watch: Wraps the list of points, to show progress.

    Returns:
        The profile.

    Raises:
        InputError: An axis has several numbers, or the result has no noise.
    """
    check_axes(experiment, axes)
    slots = {slot.name: slot for slot in experiment.layout.slots}
    for axis in axes:
        if slots[axis.name].size != 1:
            raise InputError(
                f"--over {axis.name!r}: got an unknown of {slots[axis.name].size} numbers; expected a single number"
            )
    if not isinstance(result.uncertainty, Uncertainty):
        raise InputError(f"a profile needs the noise of the fit, which has none: {result.uncertainty}")
    objective = experiment.last_objective()
    losses = np.full([len(axis.values) for axis in axes], np.inf)
    ended: dict[tuple[int, ...], Tensor] = {}
    for index in watch(_outwards(experiment, result, axes, losses.shape)):
        near = min(ended, key=lambda other: sum(abs(a - b) for a, b in zip(other, index, strict=True)), default=None)
        begin = result.z if near is None else ended[near]
        losses[index], ended[index] = _lowest(experiment, objective, axes, index, begin)
    noise = result.uncertainty.noise * result.uncertainty.inflation
    numbers = sum(field.numel() for field in objective.residual_fields(result.z))
    best = min(float(losses.min()), objective.value(result.z).value)
    return Profile(LossGrid(tuple(axes), losses), best + CHI2[len(axes)] * noise**2 / numbers)


def _outwards(
    experiment: Experiment, result: Result, axes: Sequence[Axis], shape: tuple[int, ...]
) -> list[tuple[int, ...]]:
    """Return the points of the grid by their distance from the estimate."""
    found = experiment.layout.sought(result.z)
    middle = [int(np.abs(axis.values - float(found[axis.name])).argmin()) for axis in axes]
    return sorted(np.ndindex(shape), key=lambda p: sum(abs(a - b) for a, b in zip(p, middle, strict=True)))


def _lowest(
    experiment: Experiment, objective: Objective, axes: Sequence[Axis], index: tuple[int, ...], begin: Tensor
) -> tuple[float, Tensor]:
    """Return the lowest loss with the axes' unknowns fixed, and its vector; infinite if the simulation fails."""
    layout = experiment.layout
    values = dict(layout.sought(begin.detach()))
    for axis, i in zip(axes, index, strict=True):
        values[axis.name] = torch.full(values[axis.name].shape, axis.values[i], dtype=layout.dtype)
    here = layout.encode(values)
    others = [slot.name for slot in layout.slots if slot.name not in {axis.name for axis in axes}]
    if not others:
        return objective.value(here).value, here
    tie = make_tie(layout, here, others, ())
    part = replace(objective, tie=tie)
    try:
        progress = run_search(part, _descend(part, tie.reduce(here)))
    except FitError:
        return math.inf, begin
    return progress.value, tie.expand(progress.z)


def _descend(problem: Problem, z: Tensor) -> Search[Progress]:
    """Run Gauss-Newton until the loss rests."""
    optimiser = GaussNewton()
    progress = yield from optimiser.begin(problem, z, 0)
    for _ in range(ITERATIONS):
        before = progress.value
        progress = yield from optimiser.step(problem, progress, 1.0)
        if progress.done is not None or before - progress.value <= ENOUGH * before:
            break
    return progress


def _end(values: np.ndarray[tuple[int], np.dtype[np.float64]], above: np.ndarray[tuple[int], np.dtype[np.float64]],
         last: int, way: int) -> float:  # fmt: skip
    """Interpolate the loss beyond the last point inside to the level, in direction ``way``."""
    beyond = last + way
    if not 0 <= beyond < len(values):
        return way * math.inf
    if not math.isfinite(above[beyond]):
        return float(values[last])
    share = -above[last] / (above[beyond] - above[last])
    return float(values[last] + share * (values[beyond] - values[last]))
