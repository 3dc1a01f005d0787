"""Colours and depths: the autograd function around the blending kernels."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom_kernels import array_of, kept_numbers
from diffloom_raster import Appearance
from diffloom_raster.light import table_columns, table_cotangents
from diffloom_raster.light_kernels import EYE
from diffloom_raster.records import Lights, Texels
from diffloom_raster.texture import texture_copies

from .drawing import Drawing, prepare
from .plan import Plan
from .records import Images, ImagesAdjoint, Lighting, Shading, Surfacing, Wants


class Style(NamedTuple):
    """What is drawn, besides tensors that carry gradients.

    colour: whether colours are wanted at all. shading: 0 unlit, 1 lambert, 2 phong. kinds: (lights,). material:
    (faces,) numbers of materials, empty where there is one. background: rgb.
    """

    colour: bool
    appearance: Appearance
    shading: int
    kinds: Any
    material: Any
    background: tuple[float, float, float]

    @property
    def lit(self) -> bool:
        """Whether lights matter."""
        return self.shading > 0 and self.colour


#: Tensors of Blend.forward after the plan and the style, in order.
INPUTS = (
    "points", "rotation", "eye", "focal", "centre", "normals", "values", "image", "ambient", "table", "harmonics",
    "shininess",
)  # fmt: skip


class Blend(torch.autograd.Function):
    """(plan, style, *INPUTS) -> planes (frames, 4, height, width) of rgb and alpha, depth (frames, height, width)."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, style: Style, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        given = dict(zip(INPUTS, tensors, strict=True))
        drawing = prepare(plan, tensors[0], tensors[1:5])
        fragments, coverage = drawing.cover(depths=True)
        shading, images = _shading(style, drawing, given), _background_images(plan, style)
        wants = Wants(int(style.colour), drawing.limited, 0)
        plan.run("blend_pixels", drawing.pixels, wants, plan.setup, fragments, shading, coverage, images)
        ctx.drawing, ctx.style, ctx.made = drawing, style, (fragments, shading, coverage, images)
        planes, depth = plan.layout.cropped(images.planes), plan.layout.cropped(images.depth)
        # saved only so that nobody changes them meanwhile: the arrays share their memory
        ctx.save_for_backward(*tensors, planes, depth)
        return planes, depth

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_planes: Tensor, adj_depth: Tensor) -> tuple[Any, ...]:
        *tensors, _, _ = ctx.saved_tensors
        needed = dict(zip(INPUTS, ctx.needs_input_grad[2:], strict=True))
        adjoint = _Adjoint(ctx, dict(zip(INPUTS, tensors, strict=True)))
        found = adjoint.cotangents(needed, adj_planes, adj_depth)
        return None, None, *(found.get(name) if needed[name] else None for name in INPUTS)


def _shading(style: Style, drawing: Drawing, given: dict[str, Tensor]) -> Shading:
    """The tensors as kernels take them."""
    array = {name: array_of(given[name]) for name in INPUTS[5:]}
    made = style.appearance
    texels = Texels(*made.mode, array["image"])
    surfacing = Surfacing(int(made.textured), texels, made.corners.faces, made.stride, array["values"])
    lights = Lights(array["ambient"], style.kinds, array["table"], array["harmonics"], array["shininess"])
    points, eye = drawing.source.points, drawing.source.cameras.eye
    lighting = Lighting(style.shading, points, array["normals"].reshape(-1, 3), eye, style.material, lights)
    return Shading(surfacing, lighting, kept_numbers(drawing.plan.layout.arena, style.background))


def _background_images(plan: Plan, style: Style) -> Images:
    """Planes of background, depth of far, weight of one: what tiles without faces show."""
    arena, (frames, height, width) = plan.layout.arena, plan.layout.padded
    planes = arena.floats(frames, 4, height, width)
    for k, value in enumerate((*style.background, 0.0)):
        planes[:, k] = value
    return Images(
        planes, arena.floats(frames, height, width, fill=plan.far), arena.floats(frames, height, width, fill=1.0)
    )


class _Adjoint:
    """One backward pass: runs the main adjoint, then what else was asked for."""

    def __init__(self, ctx: Any, given: dict[str, Tensor]) -> None:
        self.drawing: Drawing = ctx.drawing
        self.style: Style = ctx.style
        self.plan: Plan = ctx.drawing.plan
        self.made, self.given = ctx.made, given
        self.slots = self.drawing.slots(4 if self.style.lit else 2)

    def cotangents(self, needed: dict[str, bool], adj_planes: Tensor, adj_depth: Tensor) -> dict[str, Any]:
        """Cotangents of INPUTS, as far as needed."""
        plan, style, drawing, arena = self.plan, self.style, self.drawing, self.plan.layout.arena
        fragments, shading, coverage, images = self.made
        tabled = style.lit and any(needed[name] for name in (*INPUTS[8:], "eye"))
        rows = drawing.entries * plan.layout.stripes if tabled else 1
        table = arena.floats(rows, table_columns(shading.lighting.lights), fill=0.0)
        wants = Wants(int(style.colour), drawing.limited, int(tabled))
        images_adjoint = ImagesAdjoint(plan.layout.padded_image(adj_planes), plan.layout.padded_image(adj_depth), table)
        adjoint = drawing.adjoint()
        plan.run(
            "blend_backward", wants, plan.setup, drawing.source, fragments, shading, coverage, images, images_adjoint,
            self.slots, adjoint,
        )  # fmt: skip
        found: dict[str, Any] = {}
        if any(needed[name] for name in INPUTS[1:5]):
            camera = [self.given[name] for name in INPUTS[1:3]]
            found.update(zip(INPUTS[1:5], drawing.camera_adjoint(camera, adjoint), strict=True))
        points = arena.tensor(adjoint.world)
        if style.lit:
            found["normals"] = self._to_points(2).reshape(self.given["normals"].shape)
            points = points + self._to_points(3)
        found["points"] = points.reshape(self.given["points"].shape)
        if style.colour and needed["values"]:
            found["values"] = self._values()
        if style.colour and style.appearance.textured and needed["image"]:
            found["image"] = self._image(wants, images_adjoint.planes)
        if tabled:
            self._add_table(table, found)
        return found

    def _to_points(self, part: int) -> Tensor:
        """Sums of one part of the slots over points."""
        arena = self.plan.layout.arena
        sums = arena.floats(*self.drawing.source.points.shape)
        self.plan.run("to_points", part, self.plan.setup, self.drawing.triangles, self.slots, sums)
        return arena.tensor(sums)

    def _values(self) -> Tensor:
        layout, corners, stride = self.plan.layout, self.style.appearance.corners, self.style.appearance.stride
        rows = layout.arena.floats(*self.given["values"].shape)
        repeats = layout.triangles // max(1, int(corners.faces.shape[0]))
        self.plan.run("values_backward", repeats, stride, corners, self.drawing.triangles, self.slots, rows)
        return layout.arena.tensor(rows)

    def _image(self, wants: Wants, adj_planes: Any) -> Tensor:
        plan, image, stripes = self.plan, self.given["image"], self.plan.layout.stripes
        fragments, shading, coverage, images = self.made
        chunks = max(1, min(texture_copies(image, stripes), self.drawing.entries))
        sums = plan.layout.arena.floats(chunks * stripes, *image.shape, fill=0.0)
        plan.run("texture_backward", chunks, wants, plan.setup, fragments, shading, coverage, images, adj_planes, sums)
        return plan.layout.arena.tensor(sums.sum(0))

    def _add_table(self, rows: Any, found: dict[str, Any]) -> None:
        """Sum the rows of the light table, those of the eye frame by frame; arrays, since the order of PyTorch's sums
        depends on its threads."""
        layout, eye = self.plan.layout, self.given["eye"]
        sums = layout.arena.tensor(rows.sum(0))
        found.update(table_cotangents(sums, self.given["table"]))
        if self.style.shading < 2:
            return
        part = sums[None, EYE : EYE + 3]
        if eye.shape[0] > 1:
            start = layout.arena.tensor(self.drawing.lists.start)[:: layout.tiles // layout.frames]
            bounds = [int(n) * layout.stripes for n in start]
            parts = [rows[a:b, EYE : EYE + 3].sum(0) for a, b in itertools.pairwise(bounds)]
            part = torch.stack([layout.arena.tensor(part) for part in parts])
        found["eye"] = part if "eye" not in found else found["eye"] + part
