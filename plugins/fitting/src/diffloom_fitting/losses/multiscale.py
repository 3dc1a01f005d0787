"""Pixel error at several scales: coarse ones reach far, fine ones are sharp."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d

from diffloom.interfaces import InputError
from diffloom_fitting.losses.loss import Loss
from diffloom_fitting.losses.mse import PixelError
from diffloom_fitting.losses.silhouette import SilhouetteError
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target


@dataclass(frozen=True)
class MultiScale(Loss):
    """Squared differences of images at several resolutions, with equal weights.

    An object that does not touch the target's outline yet has a gradient at a coarse level.

    Args:
        levels: Number of resolutions, each half the one before.
        of: "rgba" or "silhouette".
        first: Number of halvings before the first level; above 0 only coarse levels count.
    """

    levels: int = 4
    of: str = "rgba"
    first: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.levels < 1 or self.first < 0:
            raise InputError(
                f"loss 'multiscale': got levels={self.levels} and first={self.first}; expected at least 1 and 0"
            )
        if self.of not in ("rgba", "silhouette"):
            raise InputError(f"loss 'multiscale': got of={self.of!r}; expected rgba or silhouette")

    @property
    def outputs(self) -> tuple[str, ...]:
        return (self.of,)

    def residuals(self, view: View, target: Target) -> Tensor:
        base: Loss = PixelError() if self.of == "rgba" else SilhouetteError()
        fine = base.residuals(view, target)
        assert fine is not None
        planes = fine[:, None] if fine.dim() == 3 else fine.permute(0, 3, 1, 2)
        if self.first:
            planes = avg_pool2d(planes, min(2**self.first, *planes.shape[2:]), ceil_mode=True)
        parts = []
        for level in range(self.levels):
            if level > 0:
                if min(planes.shape[2:]) < 2:
                    break
                planes = avg_pool2d(planes, 2, ceil_mode=True)
            parts.append(planes.flatten(1) / float(planes[0].numel()) ** 0.5)
        # Scaled for the mean over all entries, so that every level contributes its own mean square.
        joined = torch.cat(parts, dim=1)
        scale: float = (joined.shape[1] / len(parts)) ** 0.5
        return joined * scale
