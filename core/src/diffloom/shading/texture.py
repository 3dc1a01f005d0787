"""Reading colours off a texture."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom.interfaces import Texture


def sample_texture(texture: Texture, uv: Tensor) -> Tensor:
    """Colours (..., 3) at ``uv`` (..., 2); u to the right, v up, both 0..1, held at the border outside.

    Differentiable in the texture's image and, with the bilinear filter, in uv.
    """
    image = texture.image
    height, width = image.shape[0], image.shape[1]
    x = _texel(uv[..., 0], width, texture.corners)
    y = _texel(1.0 - uv[..., 1], height, texture.corners)
    flat = image.reshape(-1, 3)
    if texture.filter == "nearest":
        nearest = torch.round(y.detach()).long() * width + torch.round(x.detach()).long()
        return flat[nearest]
    left, top = _lower(x, width), _lower(y, height)
    fx, fy = (x - left)[..., None], (y - top)[..., None]
    index = top * width + left
    right, below = int(width > 1), width * int(height > 1)
    upper = torch.lerp(flat[index], flat[index + right], fx)
    lower = torch.lerp(flat[index + below], flat[index + below + right], fx)
    return torch.lerp(upper, lower, fy)


def _texel(place: Tensor, size: int, corners: bool) -> Tensor:
    """Position in texels, 0 at the centre of the first."""
    scaled = place * (size - 1) if corners else place * size - 0.5
    return scaled.clamp(0.0, float(size - 1))


def _lower(place: Tensor, size: int) -> Tensor:
    return place.detach().floor().long().clamp(0, max(size - 2, 0))
