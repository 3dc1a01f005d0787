"""The Jacobian of the residuals by differences: one simulation per unknown, many of them at once."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom_fitting.problem import Evaluate, Problem, Search

JUMP = 100.0  # a slope this many times the steepest of 99 % of all was not a slope: a pixel was switched, not moved
BLOCK = 4096  # residuals multiplied at once


def step_size(dtype: torch.dtype) -> float:
    """The step that balances truncation and rounding of a forward difference."""
    return 1e-6 if dtype == torch.float64 else 2e-3


def jacobian(
    problem: Problem, z: Tensor, at: Tensor, central: bool = False, width: float | None = None
) -> Search[Tensor]:
    """(unknowns, residuals): d residual / d z, a row per unknown.

    at: the residuals at ``z``. central: two simulations per column, more exact. width: of the differences, chosen by
    the precision when not given. Where a pixel jumps (an edge of a hard rasteriser crossed its centre) a narrow
    difference is no derivative, and is set to zero; a wide one is meant to see jumps.
    """
    # One block from the start: with many unknowns this is the largest thing in memory, and single precision is
    # enough for slopes that are themselves only differences.
    kept = at.dtype if z.numel() <= 32 else torch.float32
    slopes = torch.empty(z.numel(), at.numel(), dtype=kept)
    h = width or step_size(z.dtype)
    ways = (h, -h) if central else (h,)
    most = max(1, problem.batch_size(z) // len(ways))
    for first in range(0, z.numel(), most):
        rows = range(first, min(first + most, z.numel()))
        seen = iter((yield Evaluate([_moved(z, i, way) for i in rows for way in ways], "residuals")))
        for i in rows:
            there = next(seen)
            change = 0.5 * (there - next(seen)) if central else there - at
            slopes[i] = (without_jumps(change, problem.smooth_residuals) if width is None else change) / h
    return slopes


def curvature(slopes: Tensor, dtype: torch.dtype) -> Tensor:
    """(unknowns, unknowns): J'J / residuals, half the curvature of a mean of squares whose residuals are small."""
    total = torch.zeros(len(slopes), len(slopes), dtype=dtype)
    for block in torch.split(slopes, BLOCK, dim=1):
        # Most pixels see nothing of the scene.
        seen = block[:, block.any(dim=0)].to(dtype)
        total += seen @ seen.T
    return total / slopes.shape[1]


def _moved(z: Tensor, i: int, h: float) -> Tensor:
    """``z`` with its entry i farther on by h."""
    there = z.clone()
    there[i] += h
    return there


def without_jumps(change: Tensor, smooth: int = 0) -> Tensor:
    """A difference of residuals with zeros where a pixel was switched. smooth: how many at its end are no pixels: a
    prior's residuals, however steep, do not jump."""
    pixels, others = change[: change.numel() - smooth], change[change.numel() - smooth :]
    return torch.cat([torch.where(jumps(pixels), torch.zeros_like(pixels), pixels), others])


def jumps(change: Tensor, steeper: float = JUMP) -> Tensor:
    """Which of the residuals' differences are no slopes: a pixel was switched, not moved. steeper: times the steepest
    of 99 % of all."""
    size = change.abs()
    moved = size[size > 0.0]
    if moved.numel() < 100:
        return torch.zeros_like(change, dtype=torch.bool)
    steep = moved.kthvalue(int(0.99 * moved.numel())).values
    return size > steeper * steep
