"""Silhouette error: the mean squared difference of coverage."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom_fitting.losses.loss import Loss
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target


@dataclass(frozen=True)
class SilhouetteError(Loss):
    """Mean squared difference of coverage over frames and pixels, independent of colour and light.

    Frames are weighted by the target's confidence.

    Args:
        least_confidence: Frames below it do not count, for example where a fast object is poorly segmented.
    """

    least_confidence: float = 0.0

    @property
    def outputs(self) -> tuple[str, ...]:
        return ("silhouette",)

    def residuals(self, view: View, target: Target) -> Tensor:
        assert view.image is not None
        apart = view.image.alpha - target.coverage()
        if target.confidence is None:
            return apart
        belief = torch.where(target.confidence < self.least_confidence, 0.0, target.confidence)
        share = belief / belief.mean().clamp(min=1e-12)
        return apart * share.sqrt()[:, None, None]
