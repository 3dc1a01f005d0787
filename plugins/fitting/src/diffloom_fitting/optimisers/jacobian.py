"""Jacobian of the residuals by finite differences, many simulations in one batch."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom_fitting.problem import Evaluate, Problem, Search

JUMP = 100.0  # ratio to the 99 % quantile of all slopes from which on a pixel counts as switched
BLOCK = 4096  # number of residuals multiplied at once


def step_size(dtype: torch.dtype) -> float:
    """Return the step that balances truncation and rounding of a forward difference."""
    return 1e-6 if dtype == torch.float64 else 2e-3


def jacobian(
    problem: Problem, z: Tensor, at: Tensor, central: bool = False, width: float | None = None
) -> Search[Tensor]:
    """Compute d residual / d z, (unknowns, residuals).

    Args:
        problem: The problem.
        z: (n,), the point.
        at: Residuals at ``z``.
        central: True for two simulations per column, more exact.
        width: Step of the differences; None chooses by precision and sets jumps of pixels to zero. A given step is
            meant to average over jumps.

    Returns:
        A search for the Jacobian.
    """
    # Allocated at once, because it is the largest array with many unknowns; single precision is enough for slopes
    # from differences.
    kept = at.dtype if z.numel() <= 32 else torch.float32
    slopes = torch.empty(z.numel(), at.numel(), dtype=kept)
    h = width or step_size(z.dtype)
    ways = (h, -h) if central else (h,)
    most = max(1, problem.batch_size(z) // len(ways))
    for first in range(0, z.numel(), most):
        rows = range(first, min(first + most, z.numel()))
        seen = iter((yield Evaluate([_shift_entry(z, i, way) for i in rows for way in ways], "residuals")))
        for i in rows:
            there = next(seen)
            change = 0.5 * (there - next(seen)) if central else there - at
            slopes[i] = (without_jumps(change, problem.smooth_residuals) if width is None else change) / h
    return slopes


def curvature(slopes: Tensor, dtype: torch.dtype) -> Tensor:
    """Return J'J / residuals, (unknowns, unknowns): half the curvature of a mean of small squares."""
    total = torch.zeros(len(slopes), len(slopes), dtype=dtype)
    for block in torch.split(slopes, BLOCK, dim=1):
        # Most pixels do not depend on the scene.
        seen = block[:, block.any(dim=0)].to(dtype)
        total += seen @ seen.T
    return total / slopes.shape[1]


def _shift_entry(z: Tensor, i: int, h: float) -> Tensor:
    """Return ``z`` with h added to its entry i."""
    there = z.clone()
    there[i] += h
    return there


def without_jumps(change: Tensor, smooth: int = 0) -> Tensor:
    """Return a difference of residuals with zeros for switched pixels.

    Args:
        change: The difference.
        smooth: Number of residuals at the end that cannot jump, such as a prior's.
    """
    pixels, others = change[: change.numel() - smooth], change[change.numel() - smooth :]
    return torch.cat([torch.where(jumps(pixels), torch.zeros_like(pixels), pixels), others])


def jumps(change: Tensor, steeper: float = JUMP) -> Tensor:
    """Return true for differences of residuals that are jumps of switched pixels.

    Args:
        change: The difference.
        steeper: Smallest ratio of a jump to the 99 % quantile.
    """
    size = change.abs()
    moved = size[size > 0.0]
    if moved.numel() < 100:
        return torch.zeros_like(change, dtype=torch.bool)
    steep = moved.kthvalue(int(0.99 * moved.numel())).values
    return size > steeper * steep
