"""Triangles given on the picture: the autograd functions around drawing for those who project by themselves."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom.shading.arrays import Room, plain
from diffloom.shading.topology import Corners

from .adjoint import Wants, pull_back
from .drawing import Colouring, Features, Painted, Source, paint, see
from .plan import Plan
from .planes import cropped, filled_up


@functools.lru_cache(maxsize=8)
def separate_corners(triangles: int, device: str) -> Corners:
    """Triangles that share no points: 0 1 2, 3 4 5, ..."""
    count = plain(torch.arange(3 * triangles + 1, dtype=torch.int32, device=device))
    return Corners(count[:-1].reshape(-1, 3), count, count[:-1])


def given_points(points: Any, room: Room) -> Source:
    """Points that are in place already."""
    none = room.floats(0, 3)
    return Source((room.floats(0, 3, 3), none, room.floats(2), room.floats(2)), none, points, False)


def plain_values(room: Room) -> Colouring:
    """Values stay what they are."""
    look = 0, 0, 1, 1, room.floats(1, 1, 3)
    kinds = room.ints(0)
    return Colouring(
        0, look, (room.floats(1, 3), kinds, room.floats(3), kinds, room.floats(0, 9), room.floats(0, 3), room.floats(1))
    )


class Raster(torch.autograd.Function):
    """(plan, points (points, 3), features (points, n)) -> planes (frames, height, width, n and the mask if soft), 0
    where nothing is seen; triangles (frames, height, width) int32, -1 for none."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, points: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        source = given_points(plain(points), plan.room)
        seen = see(plan, source)
        carried = Features(plan.room.floats(int(points.shape[0]), 0), plain(features), plan.corners)
        painted = paint(plan, source, seen, carried, plain_values(plan.room), (), None)
        ctx.plan, ctx.seen, ctx.painted = plan, seen, painted
        ctx.save_for_backward(points, features)
        index = plan.room.tensor(seen.face_index)[:, : plan.height, : plan.width]
        ctx.mark_non_differentiable(index)
        return cropped(plan, painted.planes), index

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_planes: Tensor, _: Any) -> tuple[Any, ...]:
        plan: Plan = ctx.plan
        points, features = ctx.saved_tensors
        source = given_points(plain(points), plan.room)
        carried = Features(plan.room.floats(int(points.shape[0]), 0), plain(features), plan.corners)
        found = pull_back(
            plan, source, ctx.seen, ctx.painted, carried, plain_values(plan.room), Wants(),
            filled_up(plan, adj_planes), None, soft=plan.rules.soft,
        )  # fmt: skip
        return None, plan.room.tensor(found.place), plan.room.tensor(found.own)


class Mask(torch.autograd.Function):
    """(plan, points (points, 3), covered (frames, height, width) bool) -> the soft mask (frames, height, width)."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, points: Tensor, covered: Tensor) -> Tensor:
        flags = plan.room.flags(*plan.padded, fill=False)
        flags[:, : plan.height, : plan.width] = plain(covered)
        ctx.seen = see(plan, given_points(plain(points), plan.room), flags)
        ctx.plan = plan
        ctx.save_for_backward(points)
        return 1.0 - plan.room.tensor(ctx.seen.miss)[:, : plan.height, : plan.width]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_mask: Tensor) -> tuple[Any, ...]:
        plan: Plan = ctx.plan
        (points,) = ctx.saved_tensors
        room, none = plan.room, plan.room.ints(0)
        source = given_points(plain(points), room)
        carried = Features(room.floats(int(points.shape[0]), 0), room.floats(int(points.shape[0]), 0), plan.corners)
        pixels = ctx.seen.first, ctx.seen.chunk, none, room.floats(0), room.floats(0)
        painted = Painted(
            pixels, none, room.floats(3, 0), room.floats(0, 0), room.floats(0, 0), room.floats(0, 0), none
        )
        found = pull_back(
            plan, source, ctx.seen, painted, carried, plain_values(room), Wants(), filled_up(plan, adj_mask[..., None]),
            None, soft=True,
        )  # fmt: skip
        return None, room.tensor(found.place), None
