"""Moments: position and size of the outline in the image; they have a gradient at any distance."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.fixed_order import ordered_sum
from diffloom.interfaces import InputError
from diffloom_fitting.losses.loss import Loss
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target


@dataclass(frozen=True)
class Moments(Loss):
    """Squared differences of the coverage's centroid and size, in parts of the image's width.

    Pixels of two outlines that do not touch have no gradient towards each other; their centroids do.

    Args:
        size: Weight of the square root of the area, which depends on depth.
        floor: Part of the image's pixels, in its middle, that counts as covered, so that an empty frame has a finite
            loss.
    """

    size: float = 1.0
    floor: float = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.size >= 0.0 and self.floor > 0.0):
            raise InputError(
                f"loss 'moments': got size={self.size:g} and floor={self.floor:g}; expected at least 0, and above 0"
            )

    @property
    def outputs(self) -> tuple[str, ...]:
        return ("silhouette",)

    def residuals(self, view: View, target: Target) -> Tensor:
        assert view.image is not None
        return self._moments(view.image.alpha) - self._moments(target.coverage())

    def _moments(self, coverage: Tensor) -> Tensor:
        """Return across and down from the middle, and the root of the area, (frames, 3)."""
        height, width = coverage.shape[1:]
        across = (torch.arange(width, dtype=coverage.dtype) + 0.5) / width - 0.5
        down = ((torch.arange(height, dtype=coverage.dtype) + 0.5) / height - 0.5) * (height / width)
        area = ordered_sum(coverage, kept=1) / (height * width) + self.floor
        first = [ordered_sum(coverage * axis, kept=1) / (height * width) for axis in (across, down[:, None])]
        return torch.stack([*(moment / area for moment in first), self.size * area.sqrt()], dim=1)
