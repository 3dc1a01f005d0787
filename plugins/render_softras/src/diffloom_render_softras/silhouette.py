"""Silhouettes: the autograd function around the coverage kernels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .drawing import Drawing, prepare
from .plan import Plan


class Silhouette(torch.autograd.Function):
    """(plan, points, rotation, eye, focal, centre) -> alpha (frames, height, width)."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, points: Tensor, *camera: Tensor) -> Tensor:
        drawing = prepare(plan, points, camera)
        ctx.drawing, (ctx.fragments, coverage) = drawing, drawing.cover(depths=False)
        ctx.clear = coverage.clear
        ctx.save_for_backward(points, *camera)
        return 1.0 - plan.layout.cropped(coverage.clear)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_alpha: Tensor) -> tuple[Any, ...]:
        drawing: Drawing = ctx.drawing
        plan, layout = drawing.plan, drawing.plan.layout
        points, *camera = ctx.saved_tensors
        adjoint = drawing.adjoint()
        plan.run(
            "cover_backward", drawing.limited, plan.setup, drawing.source, ctx.fragments, ctx.clear,
            layout.padded_image(adj_alpha), drawing.slots(1), adjoint,
        )  # fmt: skip
        grads: list[Any] = [None] * 4
        if any(ctx.needs_input_grad[2:]):
            grads = drawing.camera_adjoint(camera[:2], adjoint)
        return None, layout.arena.tensor(adjoint.world).reshape(points.shape), *grads
