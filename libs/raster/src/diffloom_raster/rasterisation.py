"""Rasterise faces, interpolate values of their corners, and draw the soft mask around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from diffloom.errors import InputError
from diffloom.transforms import once_differentiable
from diffloom.validation import check_shape
from diffloom_kernels import Arena, as_array

from .binning_kernels import TILE
from .layout import ImageLayout, find_layout, find_topology
from .pipelines import program
from .records import Bins, Coverage, EntryCells, Falloff, Mask, MaskAdjoint, PixelLists, TileLists, Triangles
from .triangle_kernels import EDGES, SIDES


@dataclass(frozen=True)
class Raster:
    """Faces that pixels show, and the places on them. ``weights`` and ``depth`` are differentiable in the points.

    Args:
        face_index: (frames, height, width) int64, -1 for none.
        weights: (frames, height, width, 3) perspective-correct weights of the face's corners at the pixel's centre, 0
            where nothing is shown.
        depth: (frames, height, width) [m], 0 where nothing is shown.
    """

    face_index: Tensor
    weights: Tensor
    depth: Tensor


def rasterise(screen: Tensor, faces: Tensor, size: tuple[int, int], *, cull_backfaces: bool = False) -> Raster:
    """Find the nearest face that holds each pixel's centre.

    Args:
        screen: (frames, points, 3) x, y [px] from the middle of the image and depth [m], as ``project`` gives them.
            Faces with points nearer than the camera's near must be cut before (``clip_near``). Differentiable.
        faces: (faces, 3) int64.
        size: (height, width) [px].
        cull_backfaces: Leave out faces turned away from the camera.

    Returns:
        The face, weights and depth of every pixel.

    Example:
        screen = project(surface.vertices, camera)
        raster = rasterise(screen, surface.faces, (camera.height, camera.width))
    """
    layout = find_screen_layout(screen, faces, size)
    index, weights, depth = _Rasterise.apply(layout, cull_backfaces, screen)  # type: ignore[no-untyped-call]
    return Raster(torch.where(index >= 0, index % max(int(faces.shape[0]), 1), -1).long(), weights, depth)


def find_screen_layout(screen: Tensor, faces: Tensor, size: tuple[int, int]) -> ImageLayout:
    """Return the layout of points on the screen, after checks of their shapes."""
    check_shape("screen", screen, ("frames", "points", 3))
    check_shape("faces", faces, ("faces", 3))
    if min(size) < 1:
        raise InputError(f"size: got {size}; expected a height and width of at least 1 px")
    topology = find_topology(faces, int(screen.shape[1]))
    return find_layout(topology, int(screen.shape[0]), Arena.of(screen), (int(size[0]), int(size[1])))


def allocate_triangles(layout: ImageLayout, ready: bool = True) -> Triangles:
    """Return arrays to set triangles up in.

    Args:
        layout: Layout of the images.
        ready: Include edges and sides, which ``kernels.set_up_triangle`` fills.

    Returns:
        Arrays without values.
    """
    arena, n = layout.arena, layout.triangles
    edges, sides = arena.floats(n if ready else 0, EDGES), arena.floats(n if ready else 0, SIDES)
    return Triangles(arena.ints(n, 4), arena.ints(n, 4), arena.floats(n, 9), edges, sides)


def allocate_coverage(layout: ImageLayout) -> Coverage:
    """Return arrays for the coverage of a layout's pixels.

    Args:
        layout: Layout of the images.

    Returns:
        Arrays without values, except that no triangle is visible.
    """
    arena = layout.arena
    return Coverage(arena.ints(*layout.padded), arena.flags(layout.triangles, fill=False), arena.flags(layout.tiles))


def bin_screen(layout: ImageLayout, points: Any, cull: bool, reach: float) -> tuple[Triangles, Bins, TileLists, int]:
    """Set up triangles and count bins: return triangles, bins, arrays for the tiles' lists, and the number of cells."""
    triangles, bins = allocate_triangles(layout), layout.bins()
    valid = layout.arena.flags(0)
    layout.run(program, "bin_triangles", layout.bound, int(cull), reach, points, valid, triangles, bins)
    lists, _, cells = layout.lists(bins)
    return triangles, bins, lists, cells


def group_pixels(layout: ImageLayout, index: Tensor) -> PixelLists:
    """Return covered pixels by triangle.

    Args:
        layout: Layout of the images.
        index: (frames, height, width) triangles, numbered through all frames; negative where nothing is shown.

    Returns:
        Pixels of each triangle, in reading order.
    """
    flat = index.reshape(-1)
    covered = (flat >= 0).nonzero()[:, 0]
    shown = flat[covered]
    start = torch.zeros(layout.triangles + 1, dtype=torch.int32, device=index.device)
    torch.cumsum(torch.bincount(shown, minlength=layout.triangles), 0, out=start[1:])
    return PixelLists(as_array(start), as_array(covered[shown.argsort(stable=True)].to(torch.int32)))


class _Rasterise(torch.autograd.Function):
    """(layout, cull, screen) -> triangles int32, weights, depth."""

    @staticmethod
    def forward(ctx: Any, layout: ImageLayout, cull: bool, screen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        arena, points = layout.arena, as_array(screen).reshape(-1, 3)
        triangles, bins, lists, _ = bin_screen(layout, points, cull, 0.0)
        coverage, size = allocate_coverage(layout), (layout.frames, layout.height, layout.width)
        weights, depth = arena.floats(*size, 3), arena.floats(*size)
        layout.run(
            program, "rasterise_pixels", layout.bound, points, triangles, bins.counts, lists,
            arena.floats(*layout.padded), arena.floats(*layout.padded), coverage, weights, depth,
        )  # fmt: skip
        index = layout.crop(coverage.face_index)
        ctx.layout = layout
        ctx.mark_non_differentiable(index)
        ctx.save_for_backward(screen, index, arena.tensor(weights))
        return index, arena.tensor(weights), arena.tensor(depth)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: Any, adj_weights: Tensor, adj_depth: Tensor) -> tuple[Any, ...]:
        layout: ImageLayout = ctx.layout
        screen, index, weights = ctx.saved_tensors
        arena, points = layout.arena, as_array(screen).reshape(-1, 3)
        adj_screen = arena.floats(*points.shape)
        layout.run(
            program, "rasterise_pixels_adjoint", layout.bound, layout.corners, points, group_pixels(layout, index),
            as_array(weights).reshape(-1, 3), as_array(adj_weights).reshape(-1, 3), as_array(adj_depth).reshape(-1),
            arena.floats(layout.triangles, 3, 3), adj_screen,
        )  # fmt: skip
        return None, None, arena.tensor(adj_screen).reshape(screen.shape)


def interpolate(values: Tensor, faces: Tensor, raster: Raster) -> Tensor:
    """Return values at pixels, mixed from those of the corners with the raster's weights.

    Args:
        values: (frames or 1, rows, n): colours, normals, texture coordinates, ... Differentiable.
        faces: (faces, 3) int64, rows of ``values`` at the corners of the faces that were rasterised.
        raster: Result of ``rasterise``. Differentiable in the points on the screen, through its weights.

    Returns:
        (frames, height, width, n), 0 where nothing is shown.

    Example:
        normals = interpolate(compute_vertex_normals(surface.vertices, surface.faces), surface.faces, raster)
    """
    check_shape("values", values, ("frames", "rows", "channels"))
    frames, height, width = (int(n) for n in raster.face_index.shape)
    if values.shape[0] not in (1, frames):
        raise InputError(f"values: got {values.shape[0]} frames for {frames} images; expected {frames} or 1")
    topology = find_topology(faces, int(values.shape[1]))
    shift = torch.arange(frames, device=faces.device)[:, None, None] * faces.shape[0]
    index = torch.where(raster.face_index >= 0, raster.face_index + shift, -1)
    layout = find_layout(topology, frames, Arena.of(values), (height, width))
    rows = values.expand(frames, -1, -1)
    mixed: Tensor = _Interpolate.apply(layout, index, raster.weights, rows)  # type: ignore[no-untyped-call]
    return mixed


class _Interpolate(torch.autograd.Function):
    """(layout, triangles, weights, values) -> values at pixels."""

    @staticmethod
    def forward(ctx: Any, layout: ImageLayout, index: Tensor, weights: Tensor, values: Tensor) -> Tensor:
        arena, n = layout.arena, int(values.shape[2])
        triangle = as_array(index.to(torch.int32)).reshape(-1)
        mixed = arena.floats(len(triangle), n)
        rows = as_array(values).reshape(-1, n)
        layout.run(program, "interpolate_pixels", layout.mesh, triangle, as_array(weights).reshape(-1, 3), rows, mixed)
        ctx.layout = layout
        ctx.save_for_backward(index, weights, values)
        return arena.tensor(mixed).reshape(*index.shape, n)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_mixed: Tensor) -> tuple[Any, ...]:
        layout: ImageLayout = ctx.layout
        index, weights, values = ctx.saved_tensors
        arena, n = layout.arena, int(values.shape[2])
        triangle, rows = as_array(index.to(torch.int32)).reshape(-1), as_array(values).reshape(-1, n)
        adj_weights, adj_rows = arena.floats(len(triangle), 3), arena.floats(*rows.shape)
        layout.run(
            program, "interpolate_pixels_adjoint", layout.mesh, layout.corners, triangle, group_pixels(layout, index),
            as_array(weights).reshape(-1, 3), rows, as_array(adj_mixed).reshape(-1, n), adj_weights, adj_rows,
        )  # fmt: skip
        tensor = arena.tensor
        return None, None, tensor(adj_weights).reshape(weights.shape), tensor(adj_rows).reshape(values.shape)


#: Number of faces that no pixel reaches: no limit.
NO_LIMIT = 2**24


def draw_soft_mask(
    screen: Tensor, faces: Tensor, face_index: Tensor, *, sharpness: float, reach: float, most: int | None = None
) -> Tensor:
    """Return the soft mask of faces.

    It is 1 where a face is shown, else 1 - prod (1 - p) over the nearest faces, p = exp(-sharpness d^2), d [px] being
    the distance from the face's nearest side (Chen et al. 2019, DIB-R). Covered pixels pass no gradient.

    Args:
        screen: (frames, points, 3) as for ``rasterise``. Differentiable.
        faces: (faces, 3) int64.
        face_index: (frames, height, width), negative where nothing is shown.
        sharpness: Factor of the squared distance [1/px^2].
        reach: Distance up to which a face counts [px].
        most: Largest number of faces that count at a pixel, the nearest ones; None for all.

    Returns:
        (frames, height, width) in 0..1.
    """
    check_shape("face_index", face_index, (screen.shape[0], "height", "width"))
    if not (sharpness > 0.0 and reach > 0.0):
        raise InputError(f"soft_mask: got sharpness {sharpness} and reach {reach}; expected both above 0")
    layout = find_screen_layout(screen, faces, (int(face_index.shape[1]), int(face_index.shape[2])))
    falloff = Falloff(float(sharpness), float(reach), NO_LIMIT if most is None else most)
    mask: Tensor = _SoftMask.apply(layout, falloff, face_index >= 0, screen)  # type: ignore[no-untyped-call]
    return mask


def allocate_mask(layout: ImageLayout, entries: int) -> Mask:
    """Return arrays of a soft mask.

    Args:
        layout: Layout of the images.
        entries: Number of entries of the tiles' lists.

    Returns:
        Arrays without values.
    """
    arena = layout.arena
    return Mask(arena.floats(*layout.padded), arena.floats(*layout.padded), arena.ints(entries * layout.stripes))


class _SoftMask(torch.autograd.Function):
    """(layout, falloff, covered, screen) -> mask."""

    @staticmethod
    def forward(ctx: Any, layout: ImageLayout, falloff: Falloff, covered: Tensor, screen: Tensor) -> Tensor:
        arena, points = layout.arena, as_array(screen).reshape(-1, 3)
        triangles, bins, lists, cells = bin_screen(layout, points, False, falloff.reach)
        entries = int(lists.triangle.shape[0])
        mask, open_tile = allocate_mask(layout, entries), arena.flags(layout.tiles, fill=True)
        which = layout.pad_image(covered.to(screen.dtype) - 1.0)
        layout.run(
            program, "mask_pixels", layout.bound, falloff, triangles, bins.counts, lists, open_tile, which,
            arena.floats(entries, TILE), mask,
        )  # fmt: skip
        ctx.layout, ctx.falloff, ctx.shape = layout, falloff, screen.shape
        ctx.saved = triangles, lists, open_tile, mask, bins.first_cell, cells
        ctx.save_for_backward(screen)
        return 1.0 - layout.crop(mask.miss)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_mask: Tensor) -> tuple[Any, ...]:
        layout: ImageLayout = ctx.layout
        triangles, lists, open_tile, mask, first_cell, cells = ctx.saved
        arena, entries = layout.arena, int(lists.triangle.shape[0])
        found = MaskAdjoint(
            arena.floats(*layout.padded), arena.floats(entries * layout.stripes, 6),
            arena.floats(layout.triangles, 3, 3), arena.floats(layout.frames * layout.count, 3),
        )  # fmt: skip
        layout.run(
            program, "mask_pixels_adjoint", layout.stripes, layout.bound, ctx.falloff, layout.corners, triangles, lists,
            open_tile, mask, layout.pad_image(adj_mask).reshape(layout.frames, -1),
            EntryCells(first_cell, arena.ints(cells, fill=0)), arena.flags(layout.triangles, fill=False), found,
        )  # fmt: skip
        return None, None, None, arena.tensor(found.screen).reshape(ctx.shape)
