"""Silhouettes: the autograd function around the coverage kernels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom.shading.arrays import plain
from diffloom.shading.kernels.tiles import TILE
from diffloom.shading.projection import camera_cotangents

from .drawing import Drawing, is_limited, prepare
from .plan import Plan

NOTHING = 1e30


def limits(drawing: Drawing) -> tuple[tuple[Any, Any], Any]:
    """Arrays for the limit of the nearest faces, and room to look for it; tiny where all faces count."""
    plan, room = drawing.plan, drawing.plan.room
    if not plan.soft.most:
        return (room.floats(1, 1, 1), room.floats(1, 1, 1)), room.floats(1, TILE)
    limit = room.floats(*plan.padded, fill=NOTHING), room.floats(*plan.padded, fill=0.0)
    return limit, room.floats(drawing.entries, TILE)


def findings(drawing: Drawing, depths: bool) -> tuple[Any, ...]:
    """Arrays for what a survey finds: clear, nearest, front, hits; tiny where not wanted."""
    plan, room = drawing.plan, drawing.plan.room
    small = (1, 1, 1)
    deep = plan.padded if depths or plan.soft.most else small
    nearest, front = room.floats(*deep, fill=NOTHING), room.floats(*deep, fill=-1.0)
    return (
        room.floats(*plan.padded, fill=1.0), nearest, front,
        room.floats(*(plan.padded if plan.soft.most else small), fill=0.0),
    )  # fmt: skip


def padded(plan: Plan, grad: Tensor) -> Any:
    """A cotangent (..., height, width) as an array of whole tiles."""
    height, width = plan.padded[1:]
    if grad.shape[-2:] == (height, width):
        return plain(grad)
    full = torch.zeros((*grad.shape[:-2], height, width), dtype=grad.dtype, device=grad.device)
    full[..., : plan.height, : plan.width] = grad
    return plain(full)


def adjoint_room(drawing: Drawing, parts: int) -> tuple[Any, ...]:
    """Slots, corner, screen, point and camera cotangents, and the table of cells."""
    plan, room = drawing.plan, drawing.plan.room
    points = plan.frames * plan.count
    return (
        room.floats(drawing.entries * plan.parts, parts, 9), room.floats(plan.triangles, 3, 3), room.floats(points, 3),
        room.floats(points, 3, fill=0.0), room.floats(points, 3),
        (drawing.first_cell, room.ints(drawing.cells, fill=0)),
    )  # fmt: skip


def cameras_adjoint(drawing: Drawing, camera: list[Tensor], adj_screen: Any, adj_c: Any) -> list[Tensor]:
    """Cotangents of rotation, eye, focal and centre; camera: the first two."""
    plan = drawing.plan
    rows = plan.room.floats(plan.frames, 16)
    drawing.run(
        "camera_sums", plan.frames, plan.count, plan.near, drawing.camera, drawing.points, adj_screen, adj_c, rows
    )
    return camera_cotangents(plan.room.tensor(rows), *camera)


class Coverage(torch.autograd.Function):
    """(plan, points, rotation, eye, focal, centre) -> alpha (frames, height, width)."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, points: Tensor, *camera: Tensor) -> Tensor:
        drawing = prepare(plan, plain(points).reshape(-1, 3), tuple(plain(t) for t in camera))
        limit, spare = limits(drawing)
        found = findings(drawing, depths=False)
        drawing.survey(False, found, limit, spare)
        ctx.drawing, ctx.limit, ctx.found = drawing, limit, found
        ctx.save_for_backward(points, *camera)
        return 1.0 - plan.room.tensor(found[0])[:, : plan.height, : plan.width]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_alpha: Tensor) -> tuple[Any, ...]:
        drawing: Drawing = ctx.drawing
        plan = drawing.plan
        points, *camera = ctx.saved_tensors
        slots, adj_corners, adj_screen, adj_points, adj_c, cells = adjoint_room(drawing, 1)
        around = plan.corners.start, plan.corners.corner
        drawing.run(
            "silhouette_adjoint", plan.parts, plan.count, plan.near, plan.middle, plan.grid,
            is_limited(plan, ctx.found), drawing.camera, plan.mesh, around, drawing.points, drawing.shape,
            drawing.lists, cells, plan.view, plan.blur, ctx.limit, ctx.found[0], padded(plan, adj_alpha), slots,
            adj_corners, adj_screen, adj_points, adj_c,
        )  # fmt: skip
        grads: list[Any] = [None] * 4
        if any(ctx.needs_input_grad[2:]):
            grads = cameras_adjoint(drawing, camera[:2], adj_screen, adj_c)
        return None, plan.room.tensor(adj_points).reshape(points.shape), *grads
