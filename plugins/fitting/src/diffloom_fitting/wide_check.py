"""This very experiment's gradient against wide differences: is it of use to an optimiser?"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from diffloom_fitting.gradient_check import losses
from diffloom_fitting.optimisers.optimiser import not_finite
from diffloom_fitting.problem import Problem
from diffloom_testing.wide import WIDTH, WideComparison

ADVICE = (
    "the loss changes otherwise than its gradient says: impacts that jump (contact = 'linear') or a chaotic motion. "
    "Try contact = 'hunt_crossley', a shorter horizon that grows from stage to stage, or start states of later frames"
)


def check_wide(
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
