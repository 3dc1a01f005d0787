"""IoU of silhouettes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.fixed_order import ordered_sum
from diffloom_fitting.losses.loss import Loss
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target


@dataclass(frozen=True)
class IoU(Loss):
    """One minus intersection over union of silhouettes, averaged over frames.

    Coverages a and b are fuzzy sets: the intersection is sum min(a, b), the union sum max(a, b), so the loss is 0
    exactly when they agree.

    Args:
        floor: Added to both [px], so that an empty frame has a finite loss.
    """

    floor: float = 1e-6

    @property
    def outputs(self) -> tuple[str, ...]:
        return ("silhouette",)

    def residuals(self, view: View, target: Target) -> None:
        return None

    def value(self, view: View, target: Target) -> Tensor:
        assert view.image is not None
        seen, wanted = view.image.alpha, target.coverage()
        both = ordered_sum(torch.minimum(seen, wanted), kept=1)
        either = ordered_sum(torch.maximum(seen, wanted), kept=1)
        return (1.0 - (both + self.floor) / (either + self.floor)).mean()
