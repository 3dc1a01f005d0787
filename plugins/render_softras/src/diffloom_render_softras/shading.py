"""Autograd functions around the kernels: silhouettes, and colours with depths."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from diffloom.transforms import once_differentiable
from diffloom_raster import SceneAdjoint, SceneStyle, SceneTensors, count_texture_copies, make_shading

from .drawing import SoftDrawing, SoftPlan, prepare
from .records import SoftImages, SoftImagesAdjoint, SoftWants


class Silhouette(torch.autograd.Function):
    """Autograd function (plan, points, rotation, eye, focal, centre) -> alpha (frames, height, width)."""

    @staticmethod
    def forward(ctx: Any, plan: SoftPlan, points: Tensor, *camera: Tensor) -> Tensor:
        drawing = prepare(plan, points, camera)
        ctx.drawing, (ctx.fragments, coverage) = drawing, drawing.cover(depths=False)
        ctx.clear = coverage.clear
        ctx.save_for_backward(points, *camera)
        return 1.0 - plan.layout.crop(coverage.clear)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_alpha: Tensor) -> tuple[Any, ...]:
        drawing: SoftDrawing = ctx.drawing
        plan, layout = drawing.plan, drawing.plan.layout
        points, *camera = ctx.saved_tensors
        adjoint = drawing.adjoint()
        plan.run(
            "cover_pixels_adjoint", drawing.limited, plan.setup, drawing.source, ctx.fragments, ctx.clear,
            layout.pad_image(adj_alpha), drawing.slots(1), adjoint,
        )  # fmt: skip
        grads: list[Any] = [None] * 4
        if any(ctx.needs_input_grad[2:]):
            grads = drawing.camera_adjoint(camera[:2], adjoint)
        return None, layout.arena.tensor(adjoint.world).reshape(points.shape), *grads


class SoftStyle(NamedTuple):
    """Properties of a draw that carry no gradients.

    colour: False where no colours are wanted. background: rgb.
    """

    scene: SceneStyle
    colour: bool
    background: tuple[float, float, float]


class Blend(torch.autograd.Function):
    """Autograd function (plan, style, *SceneTensors) -> planes (frames, 4, height, width) of rgb and alpha, depth
    (frames, height, width).
    """

    @staticmethod
    def forward(ctx: Any, plan: SoftPlan, style: SoftStyle, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        given = SceneTensors(*tensors)
        drawing = prepare(plan, given.points, given.camera)
        fragments, coverage = drawing.cover(depths=True)
        shading = make_shading(style.scene, given, drawing, style.background)
        images = _make_background_images(plan, style)
        wants = SoftWants(int(style.colour), drawing.limited, 0)
        plan.run("blend_pixels", drawing.pixels, wants, plan.setup, fragments, shading, coverage, images)
        ctx.drawing, ctx.style, ctx.made = drawing, style, (fragments, shading, coverage, images)
        planes, depth = plan.layout.crop(images.planes), plan.layout.crop(images.depth)
        # saved so that autograd refuses changes in place, because the arrays share their memory
        ctx.save_for_backward(*tensors, planes, depth)
        return planes, depth

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_planes: Tensor, adj_depth: Tensor) -> tuple[Any, ...]:
        *tensors, _, _ = ctx.saved_tensors
        needed = SceneTensors(*ctx.needs_input_grad[2:])
        found = _SoftAdjoint(ctx, SceneTensors(*tensors)).cotangents(needed, adj_planes, adj_depth)
        return None, None, *(found.get(name) if wanted else None for name, wanted in needed._asdict().items())


def _make_background_images(plan: SoftPlan, style: SoftStyle) -> SoftImages:
    """Return planes of background, depth of far, weight of one: the content of tiles without faces."""
    arena, (frames, height, width) = plan.layout.arena, plan.layout.padded
    planes = arena.floats(frames, 4, height, width)
    for k, value in enumerate((*style.background, 0.0)):
        planes[:, k] = value
    return SoftImages(
        planes, arena.floats(frames, height, width, fill=plan.far), arena.floats(frames, height, width, fill=1.0)
    )


class _SoftAdjoint:
    """Backward pass: runs the main adjoint, then the extra ones that are needed."""

    def __init__(self, ctx: Any, given: SceneTensors) -> None:
        self.drawing: SoftDrawing = ctx.drawing
        self.style: SoftStyle = ctx.style
        self.plan: SoftPlan = ctx.drawing.plan
        self.made, self.given = ctx.made, given

    def cotangents(self, needed: SceneTensors, adj_planes: Tensor, adj_depth: Tensor) -> dict[str, Any]:
        """Return cotangents by the names of SceneTensors, as far as needed."""
        plan, style, drawing, pad_image = self.plan, self.style, self.drawing, self.plan.layout.pad_image
        fragments, shading, coverage, images = self.made
        scene = SceneAdjoint(drawing, style.scene, self.given, needed)
        slots, adjoint = drawing.slots(4 if style.scene.lit else 2), drawing.adjoint()
        table = scene.allocate_table(shading.lighting.lights)
        wants = SoftWants(int(style.colour), drawing.limited, int(scene.tabled))
        images_adjoint = SoftImagesAdjoint(pad_image(adj_planes), pad_image(adj_depth), table)
        plan.run(
            "blend_pixels_adjoint", wants, plan.setup, drawing.source, fragments, shading, coverage, images,
            images_adjoint, slots, adjoint,
        )  # fmt: skip
        found = scene.collect(slots, adjoint, table, colour=style.colour)
        if style.colour and style.scene.appearance.textured and needed.image:
            found["image"] = self._gather_image(wants, images_adjoint.planes)
        return found

    def _gather_image(self, wants: SoftWants, adj_planes: Any) -> Tensor:
        """Return the cotangent of the texture."""
        plan, image, stripes = self.plan, self.given.image, self.plan.layout.stripes
        fragments, shading, coverage, images = self.made
        chunks = max(1, min(count_texture_copies(image, stripes), self.drawing.entries))
        sums = plan.layout.arena.floats(chunks * stripes, *image.shape, fill=0.0)
        given = fragments, shading, coverage, images, adj_planes
        plan.run("texture_image_adjoint", chunks, wants, plan.setup, *given, sums)
        return plan.layout.arena.tensor(sums.sum(0))
