"""Normals of a moving mesh."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom_kernels import Arena, array_of

from .programs import program
from .records import Corners
from .topology import topology_of

#: Nanoseconds for the normal of one vertex, roughly.
PER_VERTEX = 60.0


def vertex_normals(vertices: Tensor, faces: Tensor) -> Tensor:
    """Unit normals (frames, vertices, 3): sums over the faces around a vertex, each weighted with its area.

    vertices: (frames, vertices, 3). faces: (faces, 3), counter-clockwise seen from outside. Vertices without a proper
    face get zero. Differentiable, and the same bits for any number of threads.
    """
    return normals_of(vertices, topology_of(faces, int(vertices.shape[1])).corners)


def normals_of(vertices: Tensor, corners: Corners) -> Tensor:
    """The same, of faces that were looked up."""
    normals: Tensor = _Normals.apply(corners, vertices)  # type: ignore[no-untyped-call]
    return normals


class _Normals(torch.autograd.Function):
    """(corners, vertices) -> normals."""

    @staticmethod
    def forward(ctx: Any, corners: Corners, vertices: Tensor) -> Tensor:
        points = array_of(vertices).reshape(-1, 3)
        normals = Arena.of(vertices).floats(*points.shape)
        program.run("normals_forward", vertices.shape[1], corners, points, normals, work=len(points) * PER_VERTEX)
        ctx.corners = corners
        ctx.save_for_backward(vertices)
        return Arena.of(vertices).tensor(normals).reshape(vertices.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_normals: Tensor) -> tuple[Any, ...]:
        (vertices,) = ctx.saved_tensors
        arena, points = Arena.of(vertices), array_of(vertices).reshape(-1, 3)
        adj, adj_points = array_of(adj_normals).reshape(-1, 3), arena.floats(*points.shape)
        program.run(
            "normals_backward", vertices.shape[1], ctx.corners, points, adj, arena.floats(*points.shape), adj_points,
            work=len(points) * PER_VERTEX,
        )  # fmt: skip
        return None, arena.tensor(adj_points).reshape(vertices.shape)
