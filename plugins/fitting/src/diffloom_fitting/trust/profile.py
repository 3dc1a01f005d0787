"""Profile likelihood: the loss over one or two unknowns with all others fitted anew at each place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.driver import run_search
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.landscape import Axis, Grid, Points, check_axes
from diffloom_fitting.objective import Objective
from diffloom_fitting.optimisers import FitError, GaussNewton, Progress
from diffloom_fitting.problem import Problem, Search
from diffloom_fitting.result import Result
from diffloom_fitting.trust.uncertainty import Uncertainty
from diffloom_fitting.unknowns import make_tie

ITERATIONS, ENOUGH = 12, 1e-6  # of Gauss-Newton at each place, and the fall of the loss below which it rests
CHI2 = {1: 3.841, 2: 5.991}  # 95 % quantiles, by how many unknowns are looked at


@dataclass(frozen=True)
class Profile:
    """The lowest loss at each place of a grid, and the level up to which places belong to the 95 % region."""

    grid: Grid
    level: float

    def interval(self) -> tuple[float, float] | None:
        """The ends of the region along a single axis, between its grid points; infinite where the grid ends first."""
        if len(self.grid.axes) != 1 or not self.grid.least <= self.level:
            return None
        values, above = self.grid.axes[0].values, self.grid.losses - self.level
        inside = np.flatnonzero(above <= 0.0)
        return _end(values, above, int(inside[0]), -1), _end(values, above, int(inside[-1]), 1)


Watch = Callable[[list[tuple[int, ...]]], Points]


def profile(experiment: Experiment, result: Result, axes: Sequence[Axis], watch: Watch = iter) -> Profile:
    """Around what a fit has found. Places are taken in order, each from where the nearest one before it ended."""
    check_axes(experiment, axes)
    slots = {slot.name: slot for slot in experiment.layout.slots}
    for axis in axes:
        if slots[axis.name].size != 1:
            raise InputError(
                f"--over {axis.name!r}: it has {slots[axis.name].size} numbers; a profile takes single ones"
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
    return Profile(Grid(tuple(axes), losses), best + CHI2[len(axes)] * noise**2 / numbers)


def _outwards(
    experiment: Experiment, result: Result, axes: Sequence[Axis], shape: tuple[int, ...]
) -> list[tuple[int, ...]]:
    """The grid's points, those nearest to what was found first."""
    found = experiment.layout.sought(result.z)
    middle = [int(np.abs(axis.values - float(found[axis.name])).argmin()) for axis in axes]
    return sorted(np.ndindex(shape), key=lambda p: sum(abs(a - b) for a, b in zip(p, middle, strict=True)))


def _lowest(
    experiment: Experiment, objective: Objective, axes: Sequence[Axis], index: tuple[int, ...], begin: Tensor
) -> tuple[float, Tensor]:
    """The lowest loss with the axes' unknowns held, and where; infinite where it cannot be simulated."""
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
    """Gauss-Newton until the loss rests."""
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
    """Where the loss crosses the level beyond the last point inside, going one ``way``."""
    beyond = last + way
    if not 0 <= beyond < len(values):
        return way * math.inf
    if not math.isfinite(above[beyond]):
        return float(values[last])
    share = -above[last] / (above[beyond] - above[last])
    return float(values[last] + share * (values[beyond] - values[last]))
