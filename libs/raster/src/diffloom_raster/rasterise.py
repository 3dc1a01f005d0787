"""Rasterising: which face each pixel shows, and where on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom.errors import InputError
from diffloom.validation import check_shape
from diffloom_kernels import Arena, array_of

from .layout import Layout, layout_of
from .programs import program
from .records import Bins, Coverage, PixelLists, TileLists, Triangles
from .topology import topology_of
from .triangle_kernels import EDGES, SIDES


@dataclass(frozen=True)
class Raster:
    """What pixels show.

    face_index: (frames, height, width) int64, -1 for none. weights: (frames, height, width, 3) of the face's corners at
    the pixel's centre, perspective-correct, 0 where nothing is shown. depth: (frames, height, width) [m], 0 there.
    weights and depth are differentiable in the points on the screen.
    """

    face_index: Tensor
    weights: Tensor
    depth: Tensor


def rasterise(screen: Tensor, faces: Tensor, size: tuple[int, int], *, cull_backfaces: bool = False) -> Raster:
    """The nearest face that holds a pixel's centre.

    screen: (frames, points, 3) x, y [px] from the middle of the image and depth [m], as ``project`` gives them; faces
    with points nearer than the camera's near must be cut before (``clip_near``). faces: (faces, 3) int64. size:
    (height, width) [px]. cull_backfaces: leave out faces turned away from the camera.
    """
    layout = screen_layout(screen, faces, size)
    index, weights, depth = _Rasterise.apply(layout, cull_backfaces, screen)  # type: ignore[no-untyped-call]
    return Raster(torch.where(index >= 0, index % max(int(faces.shape[0]), 1), -1).long(), weights, depth)


def screen_layout(screen: Tensor, faces: Tensor, size: tuple[int, int]) -> Layout:
    """The layout of points on the screen, checked."""
    check_shape("screen", screen, ("frames", "points", 3))
    check_shape("faces", faces, ("faces", 3))
    if min(size) < 1:
        raise InputError(f"size: got {size}; expected a height and width of at least 1 px")
    topology = topology_of(faces, int(screen.shape[1]))
    return layout_of(topology, int(screen.shape[0]), Arena.of(screen), (int(size[0]), int(size[1])))


def new_triangles(layout: Layout, ready: bool = True) -> Triangles:
    """Arrays to set triangles up in; ``ready``: with what our own rules need of edges and sides."""
    arena, n = layout.arena, layout.triangles
    edges, sides = arena.floats(n if ready else 0, EDGES), arena.floats(n if ready else 0, SIDES)
    return Triangles(arena.ints(n, 4), arena.ints(n, 4), arena.floats(n, 9), edges, sides)


def new_coverage(layout: Layout) -> Coverage:
    """Arrays for what pixels show."""
    arena = layout.arena
    return Coverage(arena.ints(*layout.padded), arena.flags(layout.triangles, fill=False), arena.flags(layout.tiles))


def binned(layout: Layout, points: Any, cull: bool, reach: float) -> tuple[Triangles, Bins, TileLists, int]:
    """Triangles set up, bins counted, and arrays for the tiles' lists; how many cells there are."""
    triangles, bins = new_triangles(layout), layout.bins()
    valid = layout.arena.flags(0)
    layout.run(program, "bin_triangles", layout.bound, int(cull), reach, points, valid, triangles, bins)
    lists, _, cells = layout.lists(bins)
    return triangles, bins, lists, cells


def pixel_lists(layout: Layout, index: Tensor) -> PixelLists:
    """Pixels of (frames, height, width) by the triangle (numbered through all frames) that they show."""
    flat = index.reshape(-1)
    covered = (flat >= 0).nonzero()[:, 0]
    shown = flat[covered]
    start = torch.zeros(layout.triangles + 1, dtype=torch.int32, device=index.device)
    torch.cumsum(torch.bincount(shown, minlength=layout.triangles), 0, out=start[1:])
    return PixelLists(array_of(start), array_of(covered[shown.argsort(stable=True)].to(torch.int32)))


class _Rasterise(torch.autograd.Function):
    """(layout, cull, screen) -> triangles int32, weights, depth."""

    @staticmethod
    def forward(ctx: Any, layout: Layout, cull: bool, screen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        arena, points = layout.arena, array_of(screen).reshape(-1, 3)
        triangles, bins, lists, _ = binned(layout, points, cull, 0.0)
        coverage, size = new_coverage(layout), (layout.frames, layout.height, layout.width)
        weights, depth = arena.floats(*size, 3), arena.floats(*size)
        layout.run(
            program, "rasterise_forward", layout.bound, points, triangles, bins.counts, lists,
            arena.floats(*layout.padded), arena.floats(*layout.padded), coverage, weights, depth,
        )  # fmt: skip
        index = layout.cropped(coverage.face_index)
        ctx.layout = layout
        ctx.mark_non_differentiable(index)
        ctx.save_for_backward(screen, index, arena.tensor(weights))
        return index, arena.tensor(weights), arena.tensor(depth)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: Any, adj_weights: Tensor, adj_depth: Tensor) -> tuple[Any, ...]:
        layout: Layout = ctx.layout
        screen, index, weights = ctx.saved_tensors
        arena, points = layout.arena, array_of(screen).reshape(-1, 3)
        adj_screen = arena.floats(*points.shape)
        layout.run(
            program, "rasterise_backward", layout.bound, layout.corners, points, pixel_lists(layout, index),
            array_of(weights).reshape(-1, 3), array_of(adj_weights).reshape(-1, 3), array_of(adj_depth).reshape(-1),
            arena.floats(layout.triangles, 3, 3), adj_screen,
        )  # fmt: skip
        return None, None, arena.tensor(adj_screen).reshape(screen.shape)
