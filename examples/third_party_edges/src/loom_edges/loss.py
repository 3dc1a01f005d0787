"""Edge error: differences between neighbouring pixels instead of the pixels themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d

from diffloom.interfaces import InputError
from diffloom_fitting import Loss, Target, View

#: Shares of red, green and blue in perceived brightness (Rec. 709).
LUMA = (0.2126, 0.7152, 0.0722)


@final
@dataclass(frozen=True)
class EdgeError(Loss):
    """Mean squared difference of the image gradient [per px]: a brightness added to all pixels does not count.

    blur: width of the box that both images are averaged over first [px], 1 for none. Wider boxes see farther.
    """

    blur: int = 1

    def __post_init__(self) -> None:
        if self.blur < 1 or self.blur % 2 == 0:
            raise InputError(f"loss 'edges': got blur={self.blur}; expected an odd number of pixels, 1 for none")

    @property
    def outputs(self) -> tuple[str, ...]:
        return ("rgba",)

    def residuals(self, view: View, target: Target) -> Tensor:
        """(frames, 2 numbers per pixel): differences to the right and downwards."""
        if target.frames is None:
            raise InputError("loss 'edges' compares images, and this target has none; use 'silhouette' or 'state'")
        assert view.image is not None
        assert view.image.rgba is not None
        difference = self._brightness(view.image.rgba) - self._brightness(target.frames)
        right = difference[:, :, 1:] - difference[:, :, :-1]
        down = difference[:, 1:] - difference[:, :-1]
        return torch.cat([right.flatten(1), down.flatten(1)], dim=1)

    def _brightness(self, frames: Tensor) -> Tensor:
        """(frames, height, width) of (frames, height, width, channels)."""
        found = frames[..., :3] @ torch.tensor(LUMA, dtype=frames.dtype)
        if self.blur == 1:
            return found
        # Padded with the rim: with zeros, an added brightness would make an edge there.
        half = self.blur // 2
        padded = torch.nn.functional.pad(found[:, None], (half, half, half, half), mode="replicate")
        return avg_pool2d(padded, self.blur, stride=1)[:, 0]
