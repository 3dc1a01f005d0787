"""Pictures filled up to whole tiles, as kernels know them, and cut out of that, as users do."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from diffloom.shading.arrays import plain

from .plan import Plan


def cropped(plan: Plan, planes: Any) -> Tensor:
    """(frames, channels, pixels filled up) -> (frames, channels, height, width), sharing memory."""
    _, height, width = plan.padded
    tensor = plan.room.tensor(planes)
    return tensor.reshape(tensor.shape[0], tensor.shape[1], height, width)[..., : plan.height, : plan.width]


def filled_up(plan: Plan, planes: Tensor | None) -> Any:
    """(frames, channels, height, width) -> (frames, channels, pixels filled up with 0), as an array; None stays."""
    if planes is None:
        return None
    frames, height, width = plan.padded
    if (plan.height, plan.width) == (height, width):
        return plain(planes).reshape(frames, planes.shape[1], height * width)
    full = plan.room.floats(frames, int(planes.shape[1]), height, width, fill=0.0)
    full[..., : plan.height, : plan.width] = plain(planes)
    return full.reshape(frames, planes.shape[1], height * width)
