"""Pixel error: the mean squared difference of colours."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.losses.chroma import with_shared_colour
from diffloom_fitting.losses.loss import Loss
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target


@dataclass(frozen=True)
class PixelError(Loss):
    """Mean squared difference of colours over frames, pixels and channels.

    Colours are compared at the resolution at which the target stores them (its ``chroma``).

    Args:
        coverage: True to compare the alpha channel too, if the target has one.
    """

    coverage: bool = True

    @property
    def outputs(self) -> tuple[str, ...]:
        return ("rgba",)

    def residuals(self, view: View, target: Target) -> Tensor:
        if target.frames is None:
            raise InputError("loss 'mse' compares images, and this target has none; use 'silhouette' or 'state'")
        assert view.image is not None
        assert view.image.rgba is not None
        channels = 4 if self.coverage and target.frames.shape[-1] == 4 else 3
        return with_shared_colour(view.image.rgba[..., :channels] - target.frames[..., :channels], target.chroma)
