"""Autograd functions around the kernels: silhouettes, and colours with depths."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom_kernels import as_array, cache_numbers
from diffloom_raster import SceneStyle, SceneTensors, count_light_columns, count_texture_copies, split_light_cotangents
from diffloom_raster.kernels import EYE

from .drawing import SoftDrawing, SoftPlan, prepare
from .records import SoftImages, SoftImagesAdjoint, SoftLighting, SoftShading, SoftSurfacing, SoftWants


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

    @property
    def lit(self) -> bool:
        """True if lights matter."""
        return self.scene.shading > 0 and self.colour


class Blend(torch.autograd.Function):
    """Autograd function (plan, style, *SceneTensors) -> planes (frames, 4, height, width) of rgb and alpha, depth
    (frames, height, width).
    """

    @staticmethod
    def forward(ctx: Any, plan: SoftPlan, style: SoftStyle, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        given = SceneTensors(*tensors)
        drawing = prepare(plan, given.points, given.camera)
        fragments, coverage = drawing.cover(depths=True)
        shading, images = _make_shading(style, drawing, given), _make_background_images(plan, style)
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


def _make_shading(style: SoftStyle, drawing: SoftDrawing, given: SceneTensors) -> SoftShading:
    """Return the tensors as kernels take them."""
    made, scene = style.scene.appearance, style.scene
    texels, values = given.texels(made), as_array(given.values)
    surfacing = SoftSurfacing(int(made.textured), texels, made.corners.faces, made.stride, values)
    points, eye, normals = drawing.source.points, drawing.source.cameras.eye, as_array(given.normals).reshape(-1, 3)
    lighting = SoftLighting(scene.shading, points, normals, eye, scene.material, given.lights(scene.kinds))
    return SoftShading(surfacing, lighting, cache_numbers(drawing.plan.layout.arena, style.background))


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
        self.slots = self.drawing.slots(4 if self.style.lit else 2)

    def cotangents(self, needed: SceneTensors, adj_planes: Tensor, adj_depth: Tensor) -> dict[str, Any]:
        """Return cotangents by the names of SceneTensors, as far as needed."""
        plan, style, drawing, arena = self.plan, self.style, self.drawing, self.plan.layout.arena
        fragments, shading, coverage, images = self.made
        tabled = style.lit and any((*needed.lighting, needed.eye))
        entries = drawing.entries * plan.layout.stripes if tabled else 1
        table = arena.floats(entries, count_light_columns(shading.lighting.lights), fill=0.0)
        wants = SoftWants(int(style.colour), drawing.limited, int(tabled))
        images_adjoint = SoftImagesAdjoint(plan.layout.pad_image(adj_planes), plan.layout.pad_image(adj_depth), table)
        adjoint = drawing.adjoint()
        plan.run(
            "blend_pixels_adjoint", wants, plan.setup, drawing.source, fragments, shading, coverage, images,
            images_adjoint, self.slots, adjoint,
        )  # fmt: skip
        found: dict[str, Any] = {}
        if any(needed.camera):
            rows = drawing.camera_adjoint([self.given.rotation, self.given.eye], adjoint)
            found.update(zip(("rotation", "eye", "focal", "centre"), rows, strict=True))
        points = arena.tensor(adjoint.world)
        if style.lit:
            found["normals"] = self._to_points(2).reshape(self.given.normals.shape)
            points = points + self._to_points(3)
        found["points"] = points.reshape(self.given.points.shape)
        if style.colour and needed.values:
            found["values"] = self._gather_values()
        if style.colour and style.scene.appearance.textured and needed.image:
            found["image"] = self._gather_image(wants, images_adjoint.planes)
        if tabled:
            self._add_table(table, found)
        return found

    def _to_points(self, part: int) -> Tensor:
        """Return sums of one part of the slots over points."""
        arena = self.plan.layout.arena
        sums = arena.floats(*self.drawing.source.points.shape)
        self.plan.run("to_points", part, self.plan.setup, self.drawing.triangles, self.slots, sums)
        return arena.tensor(sums)

    def _gather_values(self) -> Tensor:
        """Return the cotangent of colours or texture coordinates."""
        layout, made = self.plan.layout, self.style.scene.appearance
        corners, stride = made.corners, made.stride
        rows = layout.arena.floats(*self.given.values.shape)
        repeats = layout.triangles // max(1, int(corners.faces.shape[0]))
        self.plan.run("values_adjoint", repeats, stride, corners, self.drawing.triangles, self.slots, rows)
        return layout.arena.tensor(rows)

    def _gather_image(self, wants: SoftWants, adj_planes: Any) -> Tensor:
        """Return the cotangent of the texture."""
        plan, image, stripes = self.plan, self.given.image, self.plan.layout.stripes
        fragments, shading, coverage, images = self.made
        chunks = max(1, min(count_texture_copies(image, stripes), self.drawing.entries))
        sums = plan.layout.arena.floats(chunks * stripes, *image.shape, fill=0.0)
        given = fragments, shading, coverage, images, adj_planes
        plan.run("texture_image_adjoint", chunks, wants, plan.setup, *given, sums)
        return plan.layout.arena.tensor(sums.sum(0))

    def _add_table(self, rows: Any, found: dict[str, Any]) -> None:
        """Add sums over the rows of the light table, those of the eye frame by frame.

        Sums are taken over arrays, because the order of PyTorch's sums depends on its threads.
        """
        layout, eye = self.plan.layout, self.given.eye
        sums = layout.arena.tensor(rows.sum(0))
        found.update(split_light_cotangents(sums, self.given.table))
        if self.style.scene.shading < 2:
            return
        part = sums[None, EYE : EYE + 3]
        if eye.shape[0] > 1:
            start = layout.arena.tensor(self.drawing.lists.start)[:: layout.tiles // layout.frames]
            bounds = [int(n) * layout.stripes for n in start]
            parts = [rows[a:b, EYE : EYE + 3].sum(0) for a, b in itertools.pairwise(bounds)]
            part = torch.stack([layout.arena.tensor(part) for part in parts])
        found["eye"] = part if "eye" not in found else found["eye"] + part
