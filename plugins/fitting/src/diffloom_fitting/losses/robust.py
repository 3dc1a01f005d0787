"""Robust residuals, which give less weight to large differences."""

from __future__ import annotations

import torch
from torch import Tensor

SMALL = 1e-8  # squared ratio below which the series is exact in double precision


def compress_residuals(difference: Tensor, scale: float) -> Tensor:
    """Return t with the difference's sign and t^2 = scale^2 log(1 + (difference / scale)^2), Cauchy's loss.

    Far beyond ``scale`` the square hardly grows, so that outliers have little weight.
    """
    ratio = (difference / scale).square()
    safe = ratio.clamp(min=SMALL)
    return difference * torch.where(ratio < SMALL, 1.0 - 0.25 * ratio, (torch.log1p(safe) / safe).sqrt())
