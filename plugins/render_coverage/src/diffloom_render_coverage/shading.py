"""The autograd function around the kernels: from a scene to colour, coverage and depth."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom_kernels import as_array, cache_numbers
from diffloom_raster import SceneStyle, SceneTensors, count_light_columns, count_texture_copies, split_light_cotangents
from diffloom_raster.kernels import EYE

from .drawing import Drawing, Plan, prepare
from .records import Images, ImagesAdjoint, Lighting, Shading, Surfacing, Wants


class Style(NamedTuple):
    """Properties of a draw that carry no gradients. colour, deep: whether colours and depths are wanted. background:
    rgb."""

    scene: SceneStyle
    colour: bool
    deep: bool
    background: tuple[float, float, float]

    @property
    def lit(self) -> bool:
        """True if the draw depends on lights."""
        return self.scene.shading > 0 and self.colour

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
        shading, images = _shading(style, drawing, given), _background_images(plan, style)
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


def _shading(style: Style, drawing: Drawing, given: SceneTensors) -> Shading:
    """The tensors as kernels take them."""
    made, scene = style.scene.appearance, style.scene
    texels, values = given.texels(made), as_array(given.values)
    surfacing = Surfacing(int(made.textured), texels, made.corners.faces, made.stride, values)
    points, eye, normals = drawing.source.points, drawing.source.cameras.eye, as_array(given.normals).reshape(-1, 3)
    lighting = Lighting(scene.shading, points, normals, eye, scene.material, given.lights(scene.kinds))
    return Shading(surfacing, lighting, cache_numbers(drawing.plan.layout.arena, style.background))


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
        self.shading: Shading = ctx.shading
        self.images: Images = ctx.images
        self.plan: Plan = ctx.drawing.plan
        self.given = given
        self.slots = self.drawing.slots(4 if self.style.lit else 2)

    def cotangents(self, needed: SceneTensors, adj_planes: Tensor, adj_depth: Tensor) -> dict[str, Any]:
        """Cotangents by the names of SceneTensors, as far as needed."""
        plan, style, drawing, arena = self.plan, self.style, self.drawing, self.plan.layout.arena
        tabled = style.lit and any((*needed.lighting, needed.eye))
        entries = drawing.entries * plan.layout.stripes if tabled else 1
        table = arena.floats(entries, count_light_columns(self.shading.lighting.lights), fill=0.0)
        wants = style.wants(tabled)
        depths = plan.layout.pad_image(adj_depth) if style.deep else arena.floats(1, 1, 1)
        adj_images = ImagesAdjoint(plan.layout.pad_image(adj_planes), depths, table)
        adjoint, workers = drawing.adjoint(), plan.workers(drawing.items)
        plan.run(
            "draw_adjoint", workers, drawing.items, wants, plan.setup, drawing.scene, self.shading, self.images,
            adj_images, plan.pieces(workers), self.slots, adjoint,
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
            found["values"] = self._values()
        if style.colour and style.scene.appearance.textured and needed.image:
            found["image"] = self._image(adj_images.planes)
        if tabled:
            self._add_table(table, found)
        return found

    def _to_points(self, part: int) -> Tensor:
        """Sums of one part of the slots over points."""
        arena = self.plan.layout.arena
        sums = arena.floats(*self.drawing.source.points.shape)
        self.plan.run("to_points", part, self.plan.setup, self.drawing.scene.triangles, self.slots, sums)
        return arena.tensor(sums)

    def _values(self) -> Tensor:
        layout, made = self.plan.layout, self.style.scene.appearance
        corners, stride = made.corners, made.stride
        rows = layout.arena.floats(*self.given.values.shape)
        repeats = layout.triangles // max(1, int(corners.faces.shape[0]))
        self.plan.run("values_adjoint", repeats, stride, corners, self.drawing.scene.triangles, self.slots, rows)
        return layout.arena.tensor(rows)

    def _image(self, adj_planes: Any) -> Tensor:
        plan, image, drawing = self.plan, self.given.image, self.drawing
        copies = max(1, min(count_texture_copies(image), drawing.active))
        sums = plan.layout.arena.floats(copies, *image.shape, fill=0.0)
        plan.run(
            "texture_image_adjoint", copies, drawing.active, plan.setup, drawing.scene, self.shading, adj_planes,
            plan.pieces(copies), sums,
        )  # fmt: skip
        return plan.layout.arena.tensor(sums.sum(0))

    def _add_table(self, rows: Any, found: dict[str, Any]) -> None:
        """Sum the rows of the light table, those of the eye frame by frame; arrays, since the order of PyTorch's sums
        depends on its threads."""
        layout, eye = self.plan.layout, self.given.eye
        sums = layout.arena.tensor(rows.sum(0))
        found.update(split_light_cotangents(sums, self.given.table))
        if self.style.scene.shading < 2:
            return
        part = sums[None, EYE : EYE + 3]
        if eye.shape[0] > 1:
            start = layout.arena.tensor(self.drawing.scene.lists.start)[:: layout.tiles // layout.frames]
            bounds = [int(n) * layout.stripes for n in start]
            parts = [rows[a:b, EYE : EYE + 3].sum(0) for a, b in itertools.pairwise(bounds)]
            part = torch.stack([layout.arena.tensor(part) for part in parts])
        found["eye"] = part if "eye" not in found else found["eye"] + part
