"""Cutting, turning and scaling of images to the camera's size."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import interpolate

from diffloom.interfaces import InputError


def resize(image: Tensor, size: tuple[int, int]) -> Tensor:
    """An image (height, width, channels) scaled to ``size``; shrinking averages, so nothing is skipped.

    Height and width must scale alike to within 2 %: a stretched video has another field of view per axis.
    """
    check_shape(int(image.shape[0]), int(image.shape[1]), size)
    if image.shape[:2] == size:
        return image
    batch = image.permute(2, 0, 1)[None]
    scaled = interpolate(batch, size=size, mode="bilinear", antialias=True, align_corners=False)
    return scaled[0].permute(1, 2, 0).clamp(0.0, 1.0).contiguous()


def check_shape(height: int, width: int, size: tuple[int, int]) -> None:
    """Raise unless an image of this height and width can be scaled to ``size`` without being stretched."""
    ratio = (size[0] / height) / (size[1] / width)
    # Sizes are whole pixels: half a pixel of a small image may be more than the 2 %.
    if (height, width) != size and not min(0.98, 1.0 - 0.5 / min(size)) < ratio < max(1.02, 1.0 + 0.5 / min(size)):
        raise InputError(
            f"the video is {width}x{height} pixels and the camera {size[1]}x{size[0]}, another shape; set camera.size "
            f"to [{size[0]}, {round(size[0] * width / height)}] or to the video's own [{height}, {width}]"
        )


def scale_frame(frame: NDArray[Any], size: tuple[int, int] | None, dtype: torch.dtype, gamma: float = 1.0) -> Tensor:
    """A reader's frame, bytes or 0..1, as a tensor in 0..1 of ``size``; None keeps its own.

    Bytes are scaled as bytes, by averaging: large videos are read many times faster so, and the half of a grey level
    that rounding may cost is less than what a video codec leaves. gamma: other than 1, light is averaged, which is
    proportional to this power of the numbers: half of a dark pixel and half of a bright one are not their mean.
    """
    if gamma != 1.0 and size is not None and frame.shape[:2] != size:
        light = torch.from_numpy(np.ascontiguousarray(frame)).to(torch.float32)
        light = (light / 255.0 if frame.dtype == np.uint8 else light).clamp(min=0.0) ** gamma
        return (resize(light, size) ** (1.0 / gamma)).to(dtype)
    if frame.dtype != np.uint8:
        image = torch.from_numpy(np.ascontiguousarray(frame)).to(dtype)
        return image if size is None else resize(image, size)
    if size is not None and frame.shape[:2] != size:
        from PIL import Image

        check_shape(frame.shape[0], frame.shape[1], size)
        frame = np.asarray(Image.fromarray(frame).resize((size[1], size[0]), Image.Resampling.BILINEAR))
    return torch.from_numpy(np.array(frame)).to(dtype) / 255.0


def cut_out(frame: NDArray[Any], crop: tuple[int, int, int, int] | None, rotate: int, name: str) -> NDArray[Any]:
    """A frame turned counter-clockwise by ``rotate`` degrees (a multiple of 90), then cut to ``crop``: (top, left,
    height, width) [px]."""
    if rotate % 90:
        raise InputError(f"video {name!r}: got rotate={rotate}; expected 0, 90, 180 or 270 degrees")
    turned = np.rot90(frame, rotate // 90 % 4)
    if crop is None:
        return turned
    top, left, height, width = crop
    within = top >= 0 and left >= 0 and top + height <= turned.shape[0] and left + width <= turned.shape[1]
    if not within or height < 1 or width < 1:
        raise InputError(
            f"video {name!r}: got crop={list(crop)}; expected [top, left, height, width] within its "
            f"{turned.shape[0]} rows and {turned.shape[1]} columns"
        )
    return turned[top : top + height, left : left + width]
