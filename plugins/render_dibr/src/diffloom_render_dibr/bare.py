"""Triangles given on the image: the autograd functions around drawing for those who project by themselves."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom_kernels import Arena, array_of
from diffloom_raster.records import Cameras, Corners, Lights, Texels

from .adjoint import Extras, backward
from .drawing import cropped, features_of, padded, rasterise, shade
from .plan import Plan
from .records import Pixels, Shaded, Source, Surfacing, Values


@functools.lru_cache(maxsize=8)
def separate_corners(triangles: int, device: str) -> Corners:
    """Triangles that share no points: 0 1 2, 3 4 5, ..."""
    count = array_of(torch.arange(3 * triangles + 1, dtype=torch.int32, device=device))
    return Corners(count[:-1].reshape(-1, 3), count, count[:-1])


def given_points(points: Tensor, valid: Any, arena: Arena) -> Source:
    """Points that are in place already."""
    none, two = arena.floats(0, 3), arena.floats(2)
    return Source(0, Cameras(arena.floats(0, 3, 3), none, two, two), none, array_of(points), valid)


def unshaded(arena: Arena) -> Surfacing:
    """Values stay what they are."""
    kinds = arena.ints(0)
    lights = Lights(arena.floats(1, 3), kinds, arena.floats(1, 0, 9), arena.floats(1, 0, 3), arena.floats(1, 1))
    texels = Texels(1, 1, 1, 0, arena.floats(1, 1, 3))
    return Surfacing(0, 0, 0, texels, arena.floats(1, 3), kinds, kinds, kinds, lights)


class Rasterise(torch.autograd.Function):
    """(plan, valid, points (points, 3), features (points, n)) -> planes (frames, height, width, n and mask if soft), 0
    where nothing is shown; triangles (frames, height, width) int32, -1 for none."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, valid: Any, points: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        source, arena = given_points(points, valid, plan.arena), plan.arena
        drawn = rasterise(plan, source)
        carried = features_of(arena.floats(int(points.shape[0]), 0), array_of(features), plan.layout.corners)
        shaded, planes = shade(plan, source, drawn, carried, unshaded(arena), (), None)
        ctx.plan, ctx.source, ctx.drawn, ctx.shaded = plan, source, drawn, shaded
        ctx.save_for_backward(points, features)
        index = plan.layout.cropped(drawn.coverage.face_index)
        ctx.mark_non_differentiable(index)
        return cropped(plan, planes.colour), index

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_planes: Tensor, _: Any) -> tuple[Any, ...]:
        plan: Plan = ctx.plan
        _, features = ctx.saved_tensors  # asking for them makes sure that nobody changed them meanwhile
        found = backward(
            plan, ctx.source, ctx.drawn, ctx.shaded, plan.layout.corners, Extras(), padded(plan, adj_planes), None,
            soft=plan.settings.soft,
        )  # fmt: skip
        made = found.cotangents
        own = plan.arena.tensor(made.own).reshape(features.shape)
        return None, None, plan.arena.tensor(made.screen), own


class SoftMask(torch.autograd.Function):
    """(plan, points (points, 3), covered (frames, height, width) bool) -> the soft mask (frames, height, width)."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, points: Tensor, covered: Tensor) -> Tensor:
        layout, arena = plan.layout, plan.arena
        flags = arena.flags(*layout.padded, fill=False)
        flags[:, : layout.height, : layout.width] = array_of(covered)
        ctx.plan, ctx.source = plan, given_points(points, arena.flags(0), arena)
        ctx.drawn = rasterise(plan, ctx.source, flags)
        ctx.save_for_backward(points)
        return 1.0 - layout.cropped(ctx.drawn.mask.miss)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_mask: Tensor) -> tuple[Any, ...]:
        plan, arena = ctx.plan, ctx.plan.arena
        (points,) = ctx.saved_tensors
        none, flat, rows = arena.ints(0), arena.floats(0), arena.floats(int(points.shape[0]), 0)
        pixels = Pixels(ctx.drawn.counts, none, flat, flat, none)
        values = Values(arena.floats(3, 0), arena.floats(0, 0), arena.floats(1, 0))
        shaded = Shaded(pixels, features_of(rows, rows, plan.layout.corners), values, unshaded(arena))
        found = backward(
            plan, ctx.source, ctx.drawn, shaded, plan.layout.corners, Extras(), padded(plan, adj_mask[..., None]), None,
            soft=True,
        )  # fmt: skip
        return None, arena.tensor(found.cotangents.screen), None
