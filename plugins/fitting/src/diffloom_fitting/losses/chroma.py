"""Chroma subsampling: compressed videos store brightness per pixel, and colour for squares of pixels."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, interpolate

LUMA = (0.2126, 0.7152, 0.0722)  # brightness of red, green and blue, Rec. 709


def with_shared_colour(difference: Tensor, side: int) -> Tensor:
    """Average the colour of differences (frames, height, width, 3 or 4) over squares of ``side`` pixels.

    Finer colour is interpolated by the decoder, and comparing it would pull outlines between two colours. Brightness,
    and coverage as a fourth channel, stay unchanged.
    """
    if side <= 1:
        return difference
    rgb = difference[..., :3]
    grey = brightness(rgb)
    colour = (rgb - grey).permute(0, 3, 1, 2)
    shared = avg_pool2d(colour, side, ceil_mode=True, count_include_pad=False)
    even = interpolate(shared, scale_factor=side, mode="nearest")[:, :, : rgb.shape[1], : rgb.shape[2]]
    return torch.cat([grey + even.permute(0, 2, 3, 1), difference[..., 3:]], dim=-1)


def brightness(rgba: Tensor) -> Tensor:
    """Return the brightness (..., 1) of colours (..., 3 or 4)."""
    rgb = rgba[..., :3]
    return (rgb * torch.tensor(LUMA, dtype=rgb.dtype, device=rgb.device)).sum(dim=-1, keepdim=True)
