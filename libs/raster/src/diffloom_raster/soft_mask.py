"""The soft mask: 1 where a face is shown, falling off around it, so that outlines have gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom.errors import InputError
from diffloom.validation import check_shape
from diffloom_kernels import array_of

from .bin_kernels import TILE
from .layout import Layout
from .programs import program
from .rasterise import binned, screen_layout
from .records import Cells, Falloff, Mask

#: More faces than any mask counts.
ALL = 2**24


class Cotangents(NamedTuple):
    """pull: (frames, rows, columns) cotangent of miss times miss. slots: (entries x stripes, 6). corners: (triangles,
    3, 3). screen: (points, 3)."""

    pull: Any
    slots: Any
    corners: Any
    screen: Any


def soft_mask(
    screen: Tensor, faces: Tensor, face_index: Tensor, *, sharpness: float, reach: float, most: int | None = None
) -> Tensor:
    """The mask (frames, height, width) in 0..1: 1 where ``face_index`` is not negative, else 1 - prod (1 - p) over the
    nearest faces, p = exp(-sharpness d^2), d [px] being the distance from the face's nearest side.

    screen: (frames, points, 3) as for ``rasterise``. faces: (faces, 3) int64. face_index: (frames, height, width).
    sharpness [1/px^2]. reach [px]: how far a face counts. most: how many faces count at a pixel, the nearest ones, or
    None for all. Differentiable in the points on the screen; covered pixels pass nothing.
    """
    check_shape("face_index", face_index, (screen.shape[0], "height", "width"))
    if not (sharpness > 0.0 and reach > 0.0):
        raise InputError(f"soft_mask: got sharpness {sharpness} and reach {reach}; expected both above 0")
    layout = screen_layout(screen, faces, (int(face_index.shape[1]), int(face_index.shape[2])))
    falloff = Falloff(float(sharpness), float(reach), ALL if most is None else most)
    mask: Tensor = _SoftMask.apply(layout, falloff, face_index >= 0, screen)  # type: ignore[no-untyped-call]
    return mask


def new_mask(layout: Layout, entries: int) -> Mask:
    """Arrays of a mask."""
    arena = layout.arena
    return Mask(arena.floats(*layout.padded), arena.floats(*layout.padded), arena.ints(entries * layout.stripes))


class _SoftMask(torch.autograd.Function):
    """(layout, falloff, covered, screen) -> mask."""

    @staticmethod
    def forward(ctx: Any, layout: Layout, falloff: Falloff, covered: Tensor, screen: Tensor) -> Tensor:
        arena, points = layout.arena, array_of(screen).reshape(-1, 3)
        triangles, bins, lists, cells = binned(layout, points, False, falloff.reach)
        entries = int(lists.triangle.shape[0])
        mask, open_tile = new_mask(layout, entries), arena.flags(layout.tiles, fill=True)
        which = layout.padded_image(covered.to(screen.dtype) - 1.0)
        layout.run(
            program, "soft_mask_forward", layout.bound, falloff, triangles, bins.counts, lists, open_tile, which,
            arena.floats(entries, TILE), mask,
        )  # fmt: skip
        ctx.layout, ctx.falloff, ctx.shape = layout, falloff, screen.shape
        ctx.saved = triangles, lists, open_tile, mask, bins.first_cell, cells
        return 1.0 - layout.cropped(mask.miss)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_mask: Tensor) -> tuple[Any, ...]:
        layout: Layout = ctx.layout
        triangles, lists, open_tile, mask, first_cell, cells = ctx.saved
        arena, entries = layout.arena, int(lists.triangle.shape[0])
        found = Cotangents(
            arena.floats(*layout.padded), arena.floats(entries * layout.stripes, 6),
            arena.floats(layout.triangles, 3, 3), arena.floats(layout.frames * layout.count, 3),
        )  # fmt: skip
        layout.run(
            program, "soft_mask_backward", layout.stripes, layout.bound, ctx.falloff, layout.corners, triangles, lists,
            open_tile, mask, layout.padded_image(adj_mask).reshape(layout.frames, -1),
            Cells(first_cell, arena.ints(cells, fill=0)), arena.flags(layout.triangles, fill=False), found,
        )  # fmt: skip
        return None, None, None, arena.tensor(found.screen).reshape(ctx.shape)
