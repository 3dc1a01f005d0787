"""The Jacobian of the residuals by differences, one simulation per unknown."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom_fitting.objective import Objective

JUMP = 100.0  # a slope this many times the steepest of 99 % of all was not a slope: a pixel was switched, not moved


def step_size(dtype: torch.dtype) -> float:
    """The step that balances truncation and rounding of a forward difference."""
    return 1e-6 if dtype == torch.float64 else 2e-3


def jacobian(objective: Objective, z: Tensor, at: Tensor, central: bool = False) -> Tensor:
    """(unknowns, residuals): d residual / d z, a row per unknown.

    at: the residuals at ``z``. central: two simulations per column, more exact. Where a pixel jumps (an edge of
    a hard rasteriser crossed its centre) the difference is no derivative, and is set to zero.
    """
    h = step_size(z.dtype)
    # One block from the start: with many unknowns this is the largest thing in memory.
    slopes = torch.empty(z.numel(), at.numel(), dtype=at.dtype)
    for i in range(z.numel()):
        ahead = z.clone()
        ahead[i] += h
        change = objective.residuals(ahead)
        if central:
            behind = z.clone()
            behind[i] -= h
            change = 0.5 * (change - objective.residuals(behind))
        else:
            change = change - at
        torch.div(_without_jumps(change), h, out=slopes[i])
    return slopes


def _without_jumps(change: Tensor) -> Tensor:
    size = change.abs()
    moved = size[size > 0.0]
    if moved.numel() < 100:
        return change
    steep = moved.kthvalue(int(0.99 * moved.numel())).values
    return torch.where(size > JUMP * steep, torch.zeros_like(change), change)
