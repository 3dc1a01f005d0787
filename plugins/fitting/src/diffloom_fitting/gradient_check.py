"""This very experiment's gradient against finite differences: narrow ones, and as wide as an optimiser's steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from diffloom_fitting.optimisers.optimiser import not_finite
from diffloom_fitting.problem import Problem
from diffloom_fitting.validation import real, whole
from diffloom_testing.wide_differences import WIDTH, WideComparison

__all__ = ["ADVICE", "CheckedDirection", "GradientCheck", "check_gradient", "check_wide_gradient"]

#: A smooth loss is best seen with the first, one that jumps at contacts with the second.
STEPS = {torch.float64: (1e-5, 1e-8, 1e-6, 1e-7, 1e-3), torch.float32: (3e-2, 1e-2, 3e-3)}
SMOOTH = 0.05  # of the tolerance: differences that agree so well are believed at once
ADVICE = (
    "the loss changes otherwise than its gradient says: impacts that jump (contact = 'linear') or a chaotic motion. "
    "Try contact = 'hunt_crossley', a shorter horizon that grows from stage to stage, or start states of later frames"
)


@dataclass(frozen=True)
class CheckedDirection:
    """One direction: what the adjoint says, what differences say, and how far apart they are, relative to the larger.

    roughness: how far two step sizes' differences are apart: where this is large the loss itself is not smooth.
    """

    label: str
    adjoint: float
    difference: float
    error: float
    roughness: float


@dataclass(frozen=True)
class GradientCheck:
    """All directions, and the worst error."""

    rows: tuple[CheckedDirection, ...]
    tolerance: float

    @property
    def worst(self) -> float:
        """The largest relative error."""
        return max((row.error for row in self.rows), default=0.0)

    @property
    def passed(self) -> bool:
        """Whether every direction agrees."""
        return self.worst <= self.tolerance


def check_gradient(
    objective: Problem, z: Tensor, *, tolerance: float | None = None, step: float | None = None, entries: int = 12,
    seed: int = 0, together: bool = False,
) -> GradientCheck:  # fmt: skip
    """Compare d loss / d z at ``z`` with Richardson-extrapolated central differences.

    Up to ``entries`` unknowns are checked one by one; with more, that many random directions of unit length. A
    direction's error is relative to the gradient's norm, so that a direction in which nothing happens does not count.
    step: of the differences; without it several are tried and the one whose two differences agree best is believed:
    a narrow one fits between the jumps that contact and rasterisers make, a wide one does not drown in rounding.
    tolerance: 1e-4 in double and 2e-2 in single precision unless given. together: simulate the places of a difference
    as a batch, to the same bits; whoever has no program for batches yet would compile one.
    """
    entries = whole("check_gradient: entries", entries, 1)
    step = None if step is None else real("check_gradient: step", step, above=0.0)
    tolerance = None if tolerance is None else real("check_gradient: tolerance", tolerance, above=0.0)
    double = z.dtype == torch.float64
    steps = (step,) if step is not None else STEPS[z.dtype]
    limit = tolerance if tolerance is not None else 1e-4 if double else 2e-2
    seen = objective.evaluate(z)
    if not seen.finite or seen.gradient is None:
        raise not_finite("where the gradient is checked", z, seen.trouble)
    scale = max(float(seen.gradient.norm()), 1e-300)
    rows = []
    for label, way in _directions(objective, z, entries, seed):
        difference, roughness = _smoothest(partial(losses, objective, together), z, way, steps, SMOOTH * limit * scale)
        adjoint = float(seen.gradient @ way)
        rows.append(CheckedDirection(label, adjoint, difference, abs(adjoint - difference) / scale, roughness / scale))
    return GradientCheck(tuple(rows), limit)


def losses(objective: Problem, together: bool, z: Tensor, places: Sequence[Tensor]) -> list[float]:
    """The loss at places beside ``z``; FitError where one has none."""
    seen = objective.values_at(places) if together else [objective.value(place) for place in places]
    for side in seen:
        if not side.finite:
            raise not_finite("beside the place where the gradient is checked", z, side.trouble)
    return [side.value for side in seen]


def _smoothest(
    losses: Callable[[Tensor, Sequence[Tensor]], list[float]], z: Tensor, way: Tensor, steps: Sequence[float],
    enough: float,
) -> tuple[float, float]:  # fmt: skip
    """(difference, roughness) of the step whose two differences agree best, or of the first that is good enough: the
    difference extrapolated, the roughness how far the two it is made of are apart."""
    found: list[tuple[float, float]] = []
    for h in steps:
        ends = losses(z, [z + s * way for s in (h, -h, 0.5 * h, -0.5 * h)])
        wide, narrow = (ends[0] - ends[1]) / (2.0 * h), (ends[2] - ends[3]) / h
        found.append(((4.0 * narrow - wide) / 3.0, abs(narrow - wide)))
        if found[-1][1] <= enough:
            break
    return min(found, key=lambda pair: pair[1])


def _directions(objective: Problem, z: Tensor, entries: int, seed: int) -> Sequence[tuple[str, Tensor]]:
    if z.numel() <= entries:
        labels = objective.layout.labels()
        return [(labels[i], torch.eye(z.numel(), dtype=z.dtype)[i]) for i in range(z.numel())]
    generator = torch.Generator().manual_seed(seed)
    ways = torch.randn(entries, z.numel(), generator=generator, dtype=torch.float64).to(z.dtype)
    return [(f"direction {k + 1}", way / way.norm()) for k, way in enumerate(ways)]


def check_wide_gradient(
    objective: Problem, z: Tensor, *, width: float = WIDTH, entries: int = 12, together: bool = False
) -> WideComparison:
    """d loss / d z at ``z`` beside differences over +-``width`` of the value of each unknown.

    Up to ``entries`` numbers are changed one by one; with more, each unknown as a whole. A value of 0 is changed by
    ``width`` of the largest of its unknown, or of 1. together: simulate all changes as a batch, to the same bits.
    """
    seen = objective.evaluate(z)
    if not seen.finite or seen.gradient is None:
        raise not_finite("where the gradient is checked", z, seen.trouble)
    labels, ways = zip(*_ways(objective, z, entries), strict=True)
    ends = losses(objective, together, z, [z + s * width * way for s in (1.0, -1.0) for way in ways])
    adjoint = tuple(float(seen.gradient @ way) for way in ways)
    sides = zip(ends[: len(ways)], ends[len(ways) :], strict=True)
    return WideComparison(labels, adjoint, tuple((ahead - behind) / (2.0 * width) for ahead, behind in sides), width)


def _ways(objective: Problem, z: Tensor, entries: int) -> Iterator[tuple[str, Tensor]]:
    """Directions in the searched space, each the relative change of a number, or of all numbers of an unknown."""
    layout = objective.layout
    relative = torch.cat([_relative(part) for part in _values(objective, z)]) if layout.slots else z
    if z.numel() <= entries:
        for i, label in enumerate(layout.labels()):
            yield label, torch.eye(z.numel(), dtype=z.dtype)[i] * relative
        return
    first = 0
    for slot in layout.slots:
        way = torch.zeros_like(z)
        way[first : first + slot.size] = relative[first : first + slot.size]
        first += slot.size
        yield slot.name, way


def _values(objective: Problem, z: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Of each unknown its numbers and their derivatives by the searched space, in a row each."""
    layout = objective.layout
    for slot, part in zip(layout.slots, layout.split(z), strict=True):
        at = part.detach().clone().requires_grad_()
        value = slot.space.decode(at.reshape(slot.shape)).reshape(-1)
        (slope,) = torch.autograd.grad(value.sum(), at)
        yield value.detach(), slope


def _relative(part: tuple[Tensor, Tensor]) -> Tensor:
    value, slope = part
    size = float(value.abs().max()) or 1.0
    return torch.where(value == 0.0, torch.full_like(value, size), value.abs()) / slope
