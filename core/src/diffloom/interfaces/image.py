"""What a renderer returns."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Image:
    """Rendered frames; what was not asked for is None.

    rgba: (frames, height, width, 4), colour over the background and coverage in the last channel, all 0..1.
    silhouette: (frames, height, width), coverage 0..1; the same numbers as rgba's last channel.
    depth: (frames, height, width) [m] along the viewing axis, the camera's far where nothing is seen.
    face_index: (frames, height, width) int64, the nearest face that covers the pixel's centre, -1 for none.
    """

    rgba: Tensor | None = None
    silhouette: Tensor | None = None
    depth: Tensor | None = None
    face_index: Tensor | None = None

    @property
    def rgb(self) -> Tensor:
        """(frames, height, width, 3)."""
        return self._asked("rgba")[..., :3]

    @property
    def alpha(self) -> Tensor:
        """(frames, height, width): the silhouette, whichever way it was asked for."""
        return self.silhouette if self.silhouette is not None else self._asked("rgba")[..., 3]

    def bytes(self) -> Tensor:
        """(frames, height, width, 4) uint8, for files and screens."""
        return (self._asked("rgba").detach().clamp(0.0, 1.0) * 255.0).round().to(torch.uint8)

    def _asked(self, name: str) -> Tensor:
        value: Tensor | None = getattr(self, name)
        if value is None:
            raise AttributeError(f"this image has no {name}; ask for it with outputs=({name!r},) when rendering")
        return value
