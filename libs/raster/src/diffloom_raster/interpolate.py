"""Interpolation: what the corners of faces carry, at the pixels that show them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom.errors import InputError
from diffloom.validation import check_shape
from diffloom_kernels import Arena, array_of

from .layout import Layout, layout_of
from .programs import program
from .rasterise import Raster, pixel_lists
from .topology import topology_of


def interpolate(values: Tensor, faces: Tensor, raster: Raster) -> Tensor:
    """Values at pixels (frames, height, width, n), 0 where nothing is shown.

    values: (frames or 1, rows, n), of points, or of whatever rows ``faces`` (faces, 3) int64 names: colours, normals,
    texture coordinates. raster: what pixels show; faces must number as many as were rasterised. Differentiable in the
    values and, through the weights, in the points on the screen.
    """
    check_shape("values", values, ("frames", "rows", "channels"))
    frames, height, width = (int(n) for n in raster.face_index.shape)
    if values.shape[0] not in (1, frames):
        raise InputError(f"values: got {values.shape[0]} frames for {frames} images; expected {frames} or 1")
    topology = topology_of(faces, int(values.shape[1]))
    shift = torch.arange(frames, device=faces.device)[:, None, None] * faces.shape[0]
    index = torch.where(raster.face_index >= 0, raster.face_index + shift, -1)
    layout = layout_of(topology, frames, Arena.of(values), (height, width))
    rows = values.expand(frames, -1, -1)
    mixed: Tensor = _Interpolate.apply(layout, index, raster.weights, rows)  # type: ignore[no-untyped-call]
    return mixed


class _Interpolate(torch.autograd.Function):
    """(layout, triangles, weights, values) -> values at pixels."""

    @staticmethod
    def forward(ctx: Any, layout: Layout, index: Tensor, weights: Tensor, values: Tensor) -> Tensor:
        arena, n = layout.arena, int(values.shape[2])
        triangle = array_of(index.to(torch.int32)).reshape(-1)
        mixed = arena.floats(len(triangle), n)
        rows = array_of(values).reshape(-1, n)
        layout.run(program, "interpolate_forward", layout.mesh, triangle, array_of(weights).reshape(-1, 3), rows, mixed)
        ctx.layout = layout
        ctx.save_for_backward(index, weights, values)
        return arena.tensor(mixed).reshape(*index.shape, n)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_mixed: Tensor) -> tuple[Any, ...]:
        layout: Layout = ctx.layout
        index, weights, values = ctx.saved_tensors
        arena, n = layout.arena, int(values.shape[2])
        triangle, rows = array_of(index.to(torch.int32)).reshape(-1), array_of(values).reshape(-1, n)
        adj_weights, adj_rows = arena.floats(len(triangle), 3), arena.floats(*rows.shape)
        layout.run(
            program, "interpolate_backward", layout.mesh, layout.corners, triangle, pixel_lists(layout, index),
            array_of(weights).reshape(-1, 3), rows, array_of(adj_mixed).reshape(-1, n), adj_weights, adj_rows,
        )  # fmt: skip
        tensor = arena.tensor
        return None, None, tensor(adj_weights).reshape(weights.shape), tensor(adj_rows).reshape(values.shape)
