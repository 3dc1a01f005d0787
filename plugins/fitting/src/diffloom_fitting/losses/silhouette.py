"""Silhouette error: the mean squared difference of coverage."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from diffloom_fitting.losses.loss import Loss
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target


@dataclass(frozen=True)
class SilhouetteError(Loss):
    """Mean over frames and pixels of the squared difference of coverage; blind to colour and light. Frames count as far
    as the target's confidence goes."""

    @property
    def outputs(self) -> tuple[str, ...]:
        return ("silhouette",)

    def residuals(self, view: View, target: Target) -> Tensor:
        assert view.image is not None
        apart = view.image.alpha - target.coverage()
        if target.confidence is None:
            return apart
        share = target.confidence / target.confidence.mean().clamp(min=1e-12)
        return apart * share.sqrt()[:, None, None]
