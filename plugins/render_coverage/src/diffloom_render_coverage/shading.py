"""The autograd function around the kernels: from a scene to colour, coverage and depth."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from diffloom.transforms import once_differentiable
from diffloom_raster import SceneAdjoint, SceneStyle, SceneTensors, count_texture_copies, make_shading
from diffloom_raster.surface_records import SurfaceShading

from .drawing import Drawing, Plan, prepare
from .records import Images, ImagesAdjoint, Wants


class Style(NamedTuple):
    """Properties of a draw that carry no gradients. colour, deep: whether colours and depths are wanted. background:
    rgb."""

    scene: SceneStyle
    colour: bool
    deep: bool
    background: tuple[float, float, float]

    def wants(self, table: bool) -> Wants:
        """The outputs as kernels take them."""
        return Wants(int(self.colour), int(self.deep), int(self.colour or self.deep), int(table))


class Draw(torch.autograd.Function):
    """(plan, style, *SceneTensors) -> planes (frames, 4, height, width) of rgb and alpha, depth (frames, height,
    width)."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, style: Style, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        given = SceneTensors(*tensors)
        drawing = prepare(plan, given.points, given.camera)
        shading, images = make_shading(style.scene, given, drawing, style.background), _background_images(plan, style)
        drawing.draw(style.wants(False), shading, images)
        ctx.drawing, ctx.style, ctx.shading, ctx.images = drawing, style, shading, images
        planes, depth = plan.layout.crop(images.planes), plan.layout.crop(images.depth)
        # saved so that autograd detects a change in place: the arrays share their memory
        ctx.save_for_backward(*tensors, planes, depth)
        return planes, depth

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_planes: Tensor, adj_depth: Tensor) -> tuple[Any, ...]:
        *tensors, _, _ = ctx.saved_tensors
        needed = SceneTensors(*ctx.needs_input_grad[2:])
        found = _Adjoint(ctx, SceneTensors(*tensors)).cotangents(needed, adj_planes, adj_depth)
        return None, None, *(found.get(name) if wanted else None for name, wanted in needed._asdict().items())


def _background_images(plan: Plan, style: Style) -> Images:
    """Planes of background and depths of far: what tiles without faces show."""
    arena, (frames, height, width) = plan.layout.arena, plan.layout.padded
    planes = arena.floats(frames, 4, height, width)
    for k, value in enumerate((*style.background, 0.0)):
        planes[:, k] = value
    size = (frames, height, width) if style.deep else (frames, 1, 1)
    return Images(planes, arena.floats(*size, fill=plan.far))


class _Adjoint:
    """One backward pass: runs the main adjoint, then what else was asked for."""

    def __init__(self, ctx: Any, given: SceneTensors) -> None:
        self.drawing: Drawing = ctx.drawing
        self.style: Style = ctx.style
        self.shading: SurfaceShading = ctx.shading
        self.images: Images = ctx.images
        self.plan: Plan = ctx.drawing.plan
        self.given = given

    def cotangents(self, needed: SceneTensors, adj_planes: Tensor, adj_depth: Tensor) -> dict[str, Any]:
        """Cotangents by the names of SceneTensors, as far as needed."""
        plan, style, drawing = self.plan, self.style, self.drawing
        scene = SceneAdjoint(drawing, style.scene, self.given, needed)
        slots, adjoint = drawing.slots(4 if style.scene.lit else 2), drawing.adjoint()
        table = scene.allocate_table(self.shading.lighting.lights)
        depths = plan.layout.pad_image(adj_depth) if style.deep else plan.layout.arena.floats(1, 1, 1)
        adj_images = ImagesAdjoint(plan.layout.pad_image(adj_planes), depths, table)
        workers = plan.workers(drawing.items)
        plan.run(
            "draw_adjoint", workers, drawing.items, style.wants(scene.tabled), plan.setup, drawing.scene, self.shading,
            self.images, adj_images, plan.pieces(workers), slots, adjoint,
        )  # fmt: skip
        found = scene.collect(slots, adjoint, table, colour=style.colour)
        if style.colour and style.scene.appearance.textured and needed.image:
            found["image"] = self._image(adj_images.planes)
        return found

    def _image(self, adj_planes: Any) -> Tensor:
        plan, image, drawing = self.plan, self.given.image, self.drawing
        copies = max(1, min(count_texture_copies(image), drawing.active))
        sums = plan.layout.arena.floats(copies, *image.shape, fill=0.0)
        plan.run(
            "texture_image_adjoint", copies, drawing.active, plan.setup, drawing.scene, self.shading, adj_planes,
            plan.pieces(copies), sums,
        )  # fmt: skip
        return plan.layout.arena.tensor(sums.sum(0))
