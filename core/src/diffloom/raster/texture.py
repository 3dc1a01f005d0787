"""Reading colours off a texture."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom.interfaces import Texture
from diffloom.interfaces.errors import InputError, check_shape

from .arena import Arena, array_of
from .programs import program
from .records import Texels

#: Nanoseconds to read one point, roughly.
PER_POINT = 20.0
#: Copies of a texture that its cotangent is summed in, and the memory they may take together [bytes].
COPIES, COPIES_MEMORY = 8, 256 * 2**20


def sample_texture(texture: Texture, uv: Tensor) -> Tensor:
    """Colours (..., 3) at ``uv`` (..., 2); u to the right, v up, both 0..1, held at the border outside.

    Differentiable in the texture's image and, with the bilinear filter, in uv.
    """
    check_texture(texture)
    check_shape("uv", uv.reshape(-1, uv.shape[-1]), ("points", 2))
    mode = int(texture.corners), int(texture.filter == "bilinear")
    colours: Tensor = _Sample.apply(mode, texture.image, uv)  # type: ignore[no-untyped-call]
    return colours


def check_texture(texture: Texture) -> None:
    """Raise unless the texture has texels."""
    if 0 in texture.image.shape[:2]:
        raise InputError(f"Texture.image: got {tuple(texture.image.shape)}; expected at least one row and one column")


def texture_copies(image: Any, stripes: int = 1) -> int:
    """In how many copies a texture's cotangent is summed: by sizes only, so that threads do not change a bit."""
    memory = 8 * int(image.shape[0]) * int(image.shape[1]) * 3 * stripes
    return max(1, min(COPIES, COPIES_MEMORY // memory))


class _Sample(torch.autograd.Function):
    """((corners, bilinear), image, uv) -> colours."""

    @staticmethod
    def forward(ctx: Any, mode: tuple[int, int], image: Tensor, uv: Tensor) -> Tensor:
        points = array_of(uv).reshape(-1, 2)
        colour = Arena.of(uv).floats(len(points), 3)
        work = len(points) * PER_POINT
        program.run("texture_forward", Texels(mode[0], mode[1], array_of(image)), points, colour, work=work)
        ctx.mode = mode
        ctx.save_for_backward(image, uv)
        return Arena.of(uv).tensor(colour).reshape(*uv.shape[:-1], 3)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_colour: Tensor) -> tuple[Any, ...]:
        image, uv = ctx.saved_tensors
        arena, texels, points = (
            Arena.of(uv),
            Texels(ctx.mode[0], ctx.mode[1], array_of(image)),
            array_of(uv).reshape(-1, 2),
        )
        adj, adj_uv, work = array_of(adj_colour).reshape(-1, 3), arena.floats(*points.shape), len(points) * PER_POINT
        program.run("texture_backward", texels, points, adj, adj_uv, work=work)
        adj_image = None
        if ctx.needs_input_grad[1]:
            copies = arena.floats(texture_copies(image), *image.shape)
            columns = array_of(uv.reshape(-1, 2).T), array_of(adj_colour.reshape(-1, 3).T)
            program.run("image_backward", texels, columns[0][0], columns[0][1], columns[1], copies, work=work)
            adj_image = arena.tensor(copies[0])
        return None, adj_image, arena.tensor(adj_uv).reshape(uv.shape)
