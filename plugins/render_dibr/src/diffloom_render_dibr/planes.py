"""Pictures filled up to whole tiles, as kernels know them, and cut out of that, as users do."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from diffloom.shading.arrays import plain

from .plan import Plan


def cropped(plan: Plan, planes: Any) -> Tensor:
    """(frames, pixels filled up x channels) -> (frames, height, width, channels), sharing memory."""
    _, height, width = plan.padded
    frames, size = planes.shape
    tensor = plan.room.tensor(planes).reshape(frames, height, width, size // (height * width))
    return tensor if (height, width) == plan.size else tensor[:, : plan.height, : plan.width]


def filled_up(plan: Plan, planes: Tensor | None) -> Any:
    """(frames, height, width, channels) -> (frames, pixels filled up with 0 x channels), as an array; None stays."""
    if planes is None:
        return None
    frames, height, width = plan.padded
    channels = int(planes.shape[3])
    if (height, width) == plan.size:
        return plain(planes).reshape(frames, height * width * channels)
    full = plan.room.floats(frames, height, width, channels, fill=0.0)
    full[:, : plan.height, : plan.width] = plain(planes)
    return full.reshape(frames, height * width * channels)
