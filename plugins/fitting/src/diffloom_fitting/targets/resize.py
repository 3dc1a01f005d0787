"""Scaling of images to the camera's size."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import interpolate

from diffloom.interfaces import InputError


def resize(image: Tensor, size: tuple[int, int]) -> Tensor:
    """An image (height, width, channels) scaled to ``size``; shrinking averages, so nothing is skipped.

    Height and width must scale alike to within 2 %: a stretched video has another field of view per axis.
    """
    height, width = int(image.shape[0]), int(image.shape[1])
    if (height, width) == size:
        return image
    ratio = (size[0] / height) / (size[1] / width)
    if not 0.98 < ratio < 1.02:
        raise InputError(
            f"the video is {width}x{height} pixels and the camera {size[1]}x{size[0]}, another shape; set camera.size "
            f"to [{size[0]}, {round(size[0] * width / height)}] or to the video's own [{height}, {width}]"
        )
    batch = image.permute(2, 0, 1)[None]
    scaled = interpolate(batch, size=size, mode="bilinear", antialias=True, align_corners=False)
    return scaled[0].permute(1, 2, 0).clamp(0.0, 1.0).contiguous()
