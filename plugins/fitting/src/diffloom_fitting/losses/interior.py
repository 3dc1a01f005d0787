"""Interior error: colours well inside the target's outline, where different renderers agree."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import max_pool2d

from diffloom.interfaces import InputError
from diffloom_fitting.losses.loss import Loss
from diffloom_fitting.losses.robust import compress_residuals
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target


@dataclass(frozen=True)
class InteriorError(Loss):
    """Mean squared difference of colours over the pixels inside the target's outline.

    It suits videos from another renderer or a camera, whose outlines are softened differently. The target alone selects
    the pixels, so a fit cannot lower the loss by leaving them uncovered.

    Args:
        margin: Distance from the outline [px].
        level: Smallest coverage of a pixel; a soft rasteriser has less at seams between triangles.
        scale: Difference beyond which a pixel counts less (Cauchy's robust loss); None counts all alike. Lower it from
            stage to stage, so that pixels that agree decide.
    """

    margin: int = 1
    level: float = 0.9999
    scale: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.margin < 0 or not 0.0 < self.level <= 1.0 or not (self.scale is None or self.scale > 0.0):
            raise InputError(
                f"loss 'interior': got margin={self.margin}, level={self.level:g} and scale={self.scale}; expected a "
                "margin of 0 or more pixels, a level in 0..1 and a positive scale or none"
            )

    @property
    def outputs(self) -> tuple[str, ...]:
        return ("rgba",)

    def residuals(self, view: View, target: Target) -> Tensor:
        """Compare colours inside the outline.

        Args:
            view: View of the scene.
            target: The target.

        Returns:
            (pixels inside, 3).

        Raises:
            InputError: The target has no frames, or no pixel is inside.
        """
        if target.frames is None:
            raise InputError("loss 'interior' compares images, and this target has none; use 'silhouette' or 'state'")
        assert view.image is not None
        assert view.image.rgba is not None
        inside = self.inside(target.coverage())
        if not bool(inside.any()):
            raise InputError(
                f"loss 'interior': no pixel lies {self.margin} px inside the target's outline with a coverage of "
                f"{self.level:g}; lower margin or level, or use 'mse'"
            )
        difference = view.image.rgba[inside][:, :3] - target.frames[inside][:, :3]
        return difference if self.scale is None else compress_residuals(difference, self.scale)

    def inside(self, coverage: Tensor) -> Tensor:
        """Select the pixels.

        Args:
            coverage: (frames, height, width), of the target.

        Returns:
            (frames, height, width), true inside.
        """
        bare = (coverage < 0.5).to(torch.float32)[:, None]
        near = max_pool2d(bare, 2 * self.margin + 1, stride=1, padding=self.margin)[:, 0]
        return (near == 0.0) & (coverage >= self.level)
