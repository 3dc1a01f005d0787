"""Normals of a moving mesh."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom.shading.arrays import Room, plain
from diffloom.shading.programs import program
from diffloom.shading.topology import Corners, corners_of

#: Nanoseconds for the normal of one vertex, roughly.
PER_VERTEX = 60.0


def vertex_normals(vertices: Tensor, faces: Tensor) -> Tensor:
    """Unit normals (frames, vertices, 3): sums over the faces around a vertex, each weighted with its area.

    vertices: (frames, vertices, 3). faces: (faces, 3), counter-clockwise seen from outside. Vertices without a proper
    face get zero. Differentiable, and the same bits for any number of threads.
    """
    normals: Tensor = _Normals.apply(corners_of(faces, vertices.shape[1]), vertices)  # type: ignore[no-untyped-call]
    return normals


class _Normals(torch.autograd.Function):
    """(corners, vertices) -> normals."""

    @staticmethod
    def forward(ctx: Any, corners: Corners, vertices: Tensor) -> Tensor:
        room = Room(vertices.device, vertices.dtype)
        points = plain(vertices).reshape(-1, 3)
        normals = room.floats(*points.shape)
        around = corners.index, corners.start, corners.corner
        work = len(points) * PER_VERTEX
        program.run("normals_forward", len(points), vertices.shape[1], *around, points, normals, work=work)
        ctx.save_for_backward(vertices)
        ctx.around, ctx.work = around, work
        return room.tensor(normals).reshape(vertices.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_normals: Tensor) -> tuple[Any, ...]:
        (vertices,) = ctx.saved_tensors
        room = Room(vertices.device, vertices.dtype)
        points, adj = plain(vertices).reshape(-1, 3), plain(adj_normals).reshape(-1, 3)
        sums, adj_points = room.floats(*points.shape), room.floats(*points.shape)
        program.run(
            "normals_backward", len(points), vertices.shape[1], *ctx.around, points, adj, sums, adj_points,
            work=ctx.work,
        )  # fmt: skip
        return None, room.tensor(adj_points).reshape(vertices.shape)
