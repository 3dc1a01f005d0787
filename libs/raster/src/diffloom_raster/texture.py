"""Reading colours off a texture."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom.errors import InputError
from diffloom.interfaces import Texture
from diffloom.validation import check_shape
from diffloom_kernels import Arena, array_of

from .programs import program
from .records import Texels

#: Nanoseconds to read one point, roughly.
PER_POINT = 20.0
#: Copies of a texture that its cotangent is summed in, and the memory they may take together [bytes].
COPIES, COPIES_MEMORY = 8, 256 * 2**20


def sample_texture(texture: Texture, uv: Tensor, frame: Tensor | None = None) -> Tensor:
    """Colours (..., 3) at ``uv`` (..., 2); u to the right, v up, both 0..1, held at the border outside.

    frame: (...) whole numbers, the frame whose image each point reads; needed where the texture has several.
    Differentiable in the texture's image and, with the bilinear filter, in uv.
    """
    check_texture(texture)
    check_shape("uv", uv.reshape(-1, uv.shape[-1]), ("points", 2))
    mode, frames = texture_mode(texture), frames_of_texture(texture)
    chosen = torch.empty(0, dtype=torch.int32, device=uv.device)
    if frames > 1:
        chosen = _check_frames(frame, uv, frames)
    image = texture.image.reshape(-1, *texture.image.shape[-2:])
    colours: Tensor = _Sample.apply(mode, chosen, image, uv)  # type: ignore[no-untyped-call]
    return colours


def texture_mode(texture: Texture) -> tuple[int, int, int, int]:
    """What ``Texels`` says of a texture besides its image: corners, bilinear, height, stride."""
    height = int(texture.image.shape[-3])
    stride = height if frames_of_texture(texture) > 1 else 0
    return int(texture.corners), int(texture.filter == "bilinear"), height, stride


def frames_of_texture(texture: Texture) -> int:
    """How many frames have an image of their own; 1 where one serves all."""
    return int(texture.image.shape[0]) if texture.image.dim() == 4 else 1


def _check_frames(frame: Tensor | None, uv: Tensor, frames: int) -> Tensor:
    """The frames of points, flat, in the kind that kernels read."""
    if frame is None:
        raise InputError(f"sample_texture: the texture has {frames} images; give frame=, which of them a point reads")
    check_shape("frame", frame, tuple(uv.shape[:-1]))
    if frame.numel() and not 0 <= int(frame.min()) <= int(frame.max()) < frames:
        raise InputError(
            f"frame: numbers run from {int(frame.min())} to {int(frame.max())}; expected 0 to {frames - 1}, one less "
            "than the texture's images"
        )
    return frame.reshape(-1).to(torch.int32)


def check_texture(texture: Texture) -> None:
    """Raise unless the texture has texels."""
    if 0 in texture.image.shape[:-1]:
        raise InputError(f"Texture.image: got {tuple(texture.image.shape)}; expected at least one row and one column")


def texture_copies(image: Any, stripes: int = 1) -> int:
    """In how many copies a texture's cotangent is summed: by sizes only, so that threads do not change a bit.

    image: (rows, width, 3), the rows of all frames.
    """
    memory = 8 * int(image.shape[0]) * int(image.shape[1]) * 3 * stripes
    return max(1, min(COPIES, COPIES_MEMORY // memory))


class _Sample(torch.autograd.Function):
    """(mode, frame, image (rows of all frames, width, 3), uv) -> colours."""

    @staticmethod
    def forward(ctx: Any, mode: tuple[int, int, int, int], frame: Tensor, image: Tensor, uv: Tensor) -> Tensor:
        points = array_of(uv).reshape(-1, 2)
        colour = Arena.of(uv).floats(len(points), 3)
        texels, work = Texels(*mode, array_of(image)), len(points) * PER_POINT
        program.run("texture_forward", texels, points, array_of(frame), colour, work=work)
        ctx.mode, ctx.frame = mode, frame
        ctx.save_for_backward(image, uv)
        return Arena.of(uv).tensor(colour).reshape(*uv.shape[:-1], 3)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_colour: Tensor) -> tuple[Any, ...]:
        image, uv = ctx.saved_tensors
        arena, points, frame = Arena.of(uv), array_of(uv).reshape(-1, 2), array_of(ctx.frame)
        mode: tuple[int, int, int, int] = ctx.mode
        texels = Texels(*mode, array_of(image))
        adj, adj_uv, work = array_of(adj_colour).reshape(-1, 3), arena.floats(*points.shape), len(points) * PER_POINT
        program.run("texture_backward", texels, points, frame, adj, adj_uv, work=work)
        adj_image = None
        if ctx.needs_input_grad[2]:
            copies = arena.floats(texture_copies(image), *image.shape)
            columns = array_of(uv.reshape(-1, 2).T), array_of(adj_colour.reshape(-1, 3).T)
            program.run("image_backward", texels, *columns[0], frame, columns[1], copies, work=work)
            adj_image = arena.tensor(copies[0])
        return None, None, adj_image, arena.tensor(adj_uv).reshape(uv.shape)
