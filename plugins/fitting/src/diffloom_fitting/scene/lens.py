"""The lens: each point of light spreads over a Gaussian spot."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from diffloom.fixed_order import ordered_sum

#: Beyond so many radii, and so many pixels more, a spot holds less than 1e-11 of its light.
RADII, MARGIN = 7.0, 8
#: Weights below are rounding and are left out, except those of the nearest pixels, whose derivatives count.
ROUNDING, NEAREST = 1e-14, 2


def spot_weights(radius: Tensor) -> Tensor:
    """Return the light that falls on each pixel of a row, (2 n + 1,), of a spot in the middle of the row.

    It is Gaussian on the grid of pixels: w_k = mean over angles a of exp(r^2 (cos a - 1)) cos(k a). Its variance is r^2
    exactly, for radii far below a pixel too, and two spots one after the other are a spot of radius (r^2 + s^2)^(1/2).

    Args:
        radius: () standard deviation r [px], 0 or more. Differentiable.
    """
    reach = math.ceil(RADII * float(radius.detach())) + MARGIN
    count = 4 * reach
    angles = torch.arange(count, dtype=radius.dtype) * (2.0 * math.pi / count)
    waves = torch.cos(torch.arange(-reach, reach + 1, dtype=radius.dtype)[:, None] * angles)
    weights = (waves * torch.exp(radius**2 * (torch.cos(angles) - 1.0))).sum(dim=1) / count
    used = max(NEAREST, int((weights.detach()[reach:] > ROUNDING).sum()))
    weights = weights[reach - used : reach + used + 1]
    return weights / weights.sum()


def blur(image: Tensor, radius: Tensor) -> Tensor:
    """Return images as a lens with a Gaussian spot shows them; beyond its border an image goes on as it ends there.

    Args:
        image: (frames, height, width) or (frames, height, width, channels). Differentiable.
        radius: () standard deviation of the spot [px], 0 or more. Differentiable.
    """
    weights = spot_weights(radius.to(image.dtype))
    for axis in (1, 2):
        made: Tensor = _Blur.apply(image, weights, axis)  # type: ignore[no-untyped-call]
        image = made
    return image


class _Blur(torch.autograd.Function):
    """Weighted sum of shifted images along one axis, with its adjoint: (image, weights, axis) -> image."""

    @staticmethod
    def forward(ctx, image: Tensor, weights: Tensor, axis: int) -> Tensor:  # type: ignore[no-untyped-def]
        ctx.axis = axis
        ctx.save_for_backward(image, weights)
        wide, size = _extend(image, len(weights) // 2, axis), image.shape[axis]
        found = torch.zeros_like(image)
        for k, weight in enumerate(weights.tolist()):
            found.add_(wide.narrow(axis, k, size), alpha=weight)
        return found

    @staticmethod
    def backward(ctx, adj: Tensor):  # type: ignore[no-untyped-def]
        image, weights = ctx.saved_tensors
        axis, reach, size = ctx.axis, len(weights) // 2, image.shape[ctx.axis]
        wide = _extend(image, reach, axis)
        adj_wide = torch.zeros_like(wide)
        for k, weight in enumerate(weights.tolist()):
            adj_wide.narrow(axis, k, size).add_(adj, alpha=weight)
        adj_image = adj_wide.narrow(axis, reach, size).clone()
        for end, part in ((0, adj_wide.narrow(axis, 0, reach)), (size - 1, adj_wide.narrow(axis, reach + size, reach))):
            for row in part.unbind(axis):
                adj_image.select(axis, end).add_(row)
        adj_weights = None
        if ctx.needs_input_grad[1]:
            parts = [ordered_sum(adj * wide.narrow(axis, k, size)) for k in range(len(weights))]
            adj_weights = torch.stack(parts)
        return adj_image, adj_weights, None


def _extend(image: Tensor, reach: int, axis: int) -> Tensor:
    """The image with its first and last rows along an axis repeated ``reach`` times."""
    shape = list(image.shape)
    shape[axis] = reach
    first, last = image.narrow(axis, 0, 1), image.narrow(axis, image.shape[axis] - 1, 1)
    return torch.cat([first.expand(shape), image, last.expand(shape)], dim=axis)
