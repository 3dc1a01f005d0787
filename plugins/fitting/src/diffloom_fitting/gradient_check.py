"""This very experiment's gradient against finite differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom_fitting.objective import Objective
from diffloom_fitting.optimisers.optimiser import not_finite

#: A smooth loss is best seen with the first, one that jumps at contacts with the second.
STEPS = {torch.float64: (1e-5, 1e-8, 1e-6, 1e-7, 1e-3), torch.float32: (3e-2, 1e-2, 3e-3)}
SMOOTH = 0.05  # of the tolerance: differences that agree so well are believed at once


@dataclass(frozen=True)
class Checked:
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

    rows: tuple[Checked, ...]
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
    objective: Objective, z: Tensor, *, tolerance: float | None = None, step: float | None = None, entries: int = 12,
    seed: int = 0,
) -> GradientCheck:  # fmt: skip
    """Compare d loss / d z at ``z`` with Richardson-extrapolated central differences.

    Up to ``entries`` unknowns are checked one by one; with more, that many random directions of unit length. A
    direction's error is relative to the gradient's norm, so that a direction in which nothing happens does not count.
    step: of the differences; without it several are tried and the one whose two differences agree best is believed:
    a narrow one fits between the jumps that contact and rasterisers make, a wide one does not drown in rounding.
    tolerance: 1e-4 in double and 2e-2 in single precision unless given.
    """
    double = z.dtype == torch.float64
    steps = (step,) if step is not None else STEPS[z.dtype]
    limit = tolerance if tolerance is not None else 1e-4 if double else 2e-2
    seen = objective.evaluate(z)
    if not seen.finite or seen.gradient is None:
        raise not_finite("where the gradient is checked", z, seen.trouble)
    scale = max(float(seen.gradient.norm()), 1e-300)
    rows = []
    for label, way in _directions(objective, z, entries, seed):
        difference, roughness = _smoothest(objective, z, way, steps, SMOOTH * limit * scale)
        adjoint = float(seen.gradient @ way)
        rows.append(Checked(label, adjoint, difference, abs(adjoint - difference) / scale, roughness / scale))
    return GradientCheck(tuple(rows), limit)


def _smoothest(
    objective: Objective, z: Tensor, way: Tensor, steps: Sequence[float], enough: float
) -> tuple[float, float]:
    """(difference, roughness) of the step whose two differences agree best, or of the first that is good enough."""
    found: list[tuple[float, float]] = []
    for h in steps:
        found.append(_richardson(objective, z, way, h))
        if found[-1][1] <= enough:
            break
    return min(found, key=lambda pair: pair[1])


def _richardson(objective: Objective, z: Tensor, way: Tensor, h: float) -> tuple[float, float]:
    """The extrapolated difference, and how far the two it is made of are apart."""
    wide, narrow = _central(objective, z, way, h), _central(objective, z, way, 0.5 * h)
    return (4.0 * narrow - wide) / 3.0, abs(narrow - wide)


def _central(objective: Objective, z: Tensor, way: Tensor, h: float) -> float:
    ahead, behind = objective.value(z + h * way), objective.value(z - h * way)
    for side in (ahead, behind):
        if not side.finite:
            raise not_finite("beside the place where the gradient is checked", z, side.trouble)
    return (ahead.value - behind.value) / (2.0 * h)


def _directions(objective: Objective, z: Tensor, entries: int, seed: int) -> Sequence[tuple[str, Tensor]]:
    if z.numel() <= entries:
        labels = objective.layout.labels()
        return [(labels[i], torch.eye(z.numel(), dtype=z.dtype)[i]) for i in range(z.numel())]
    generator = torch.Generator().manual_seed(seed)
    ways = torch.randn(entries, z.numel(), generator=generator, dtype=torch.float64).to(z.dtype)
    return [(f"direction {k + 1}", way / way.norm()) for k, way in enumerate(ways)]
