"""Pixel error at several scales: coarse ones see far, fine ones see sharply."""

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
    """Squared differences of images halved ``first`` times and then again, ``levels`` of them, weighing the same.

    of: "rgba" or "silhouette". An object that has not yet met its target's outline still feels it at a coarse level;
    with ``first`` above 0 only coarse levels count, whose slopes hold farther.
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
        # A mean over all entries follows: scale so that every level contributes its own mean square.
        joined = torch.cat(parts, dim=1)
        scale: float = (joined.shape[1] / len(parts)) ** 0.5
        return joined * scale
