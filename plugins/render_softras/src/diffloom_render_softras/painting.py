"""Colours and depths: the autograd function around the blending kernels."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom.shading.arrays import plain
from diffloom.shading.topology import Corners

from .coverage import adjoint_room, cameras_adjoint, findings, limits, padded
from .drawing import Drawing, is_limited, prepare
from .kernels.light_table import LIGHTS
from .plan import Plan

#: Copies of a texture that its cotangent is summed in, and the memory they may take together [bytes].
COPIES, COPIES_MEMORY = 8, 256 * 2**20


@dataclass(frozen=True)
class Look:
    """What is painted, besides tensors that carry gradients.

    colour: whether colours are wanted at all. textured: values are u, v, 0. mode: (corners, bilinear). index: rows of
    values at the corners of faces. shading: 0 unlit, 1 lambert, 2 phong. kinds: (lights,). background: rgb.
    """

    colour: bool
    textured: bool
    mode: tuple[int, int]
    index: Corners
    shading: int
    kinds: Any
    background: tuple[float, float, float]


#: Tensors of Painting.forward after the plan and the look, in order.
INPUTS = (
    "points", "rotation", "eye", "focal", "centre", "normals", "values", "image", "ambient", "lights", "harmonics",
    "shininess",
)  # fmt: skip


class Painting(torch.autograd.Function):
    """(plan, look, *INPUTS) -> planes (frames, 4, height, width) of rgb and alpha, depth (frames, height, width)."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, look: Look, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        given = dict(zip(INPUTS, tensors, strict=True))
        camera = tuple(plain(given[name]) for name in INPUTS[1:5])
        drawing = prepare(plan, plain(given["points"]).reshape(-1, 3), camera)
        limit, spare = limits(drawing)
        found = findings(drawing, depths=True)
        surface = kernel_look(look, given), kernel_light(look, drawing, given)
        pictures = blank_pictures(plan, look)
        drawing.survey(True, found, limit, spare)
        drawing.run(
            "paint", drawing.pixels, (int(look.colour), is_limited(plan, found)), plan.mesh, drawing.shape,
            drawing.lists, plan.view, plan.blur, plan.fade, limit, *surface, look.background, found, pictures,
        )  # fmt: skip
        planes, depth = (plan.room.tensor(array) for array in pictures[:2])
        ctx.drawing, ctx.look, ctx.limit, ctx.found, ctx.weight = drawing, look, limit, found, pictures[2]
        ctx.save_for_backward(*tensors, planes, depth)
        return planes[..., : plan.height, : plan.width], depth[..., : plan.height, : plan.width]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_planes: Tensor, adj_depth: Tensor) -> tuple[Any, ...]:
        *tensors, planes, depth = ctx.saved_tensors
        adjoint = Adjoint(ctx, dict(zip(INPUTS, tensors, strict=True)), planes, depth, adj_planes, adj_depth)
        return None, None, *adjoint.cotangents(dict(zip(INPUTS, ctx.needs_input_grad[2:], strict=True)))


def kernel_look(look: Look, given: dict[str, Tensor]) -> tuple[Any, ...]:
    """The tuple that kernels call look."""
    return int(look.textured), *look.mode, look.index.index, plain(given["values"]), plain(given["image"])


def kernel_light(look: Look, drawing: Drawing, given: dict[str, Tensor]) -> tuple[Any, ...]:
    """The tuple that kernels call light."""
    tables = (plain(given[name]) for name in ("lights", "harmonics", "shininess"))
    normals = plain(given["normals"]).reshape(-1, 3)
    return look.shading, drawing.points, normals, drawing.camera[1], plain(given["ambient"]), look.kinds, *tables


def blank_pictures(plan: Plan, look: Look) -> tuple[Any, Any, Any]:
    """Planes of background, depth of far, weight of one: what tiles without faces show."""
    frames, height, width = plan.padded
    planes = plan.room.floats(frames, 4, height, width)
    for k, value in enumerate((*look.background, 0.0)):
        planes[:, k] = value
    return planes, plan.room.floats(*plan.padded, fill=plan.far), plan.room.floats(*plan.padded, fill=1.0)


class Adjoint:
    """One backward pass: runs the main adjoint, then what else was asked for."""

    def __init__(
        self, ctx: Any, given: dict[str, Tensor], planes: Tensor, depth: Tensor, adj_planes: Tensor, adj_depth: Tensor
    ) -> None:
        self.drawing: Drawing = ctx.drawing
        self.plan: Plan = ctx.drawing.plan
        self.look: Look = ctx.look
        self.limit, self.given = ctx.limit, given
        self.limited = is_limited(self.plan, ctx.found)
        self.surface = kernel_look(self.look, given), kernel_light(self.look, self.drawing, given)
        self.saved = (*ctx.found[:3], plain(planes), plain(depth), ctx.weight)
        self.adj_planes, self.adj_depth = padded(self.plan, adj_planes), padded(self.plan, adj_depth)
        lit = self.look.shading > 0 and self.look.colour
        self.room = adjoint_room(self.drawing, 4 if lit else 2)

    def cotangents(self, needed: dict[str, bool]) -> list[Any]:
        """Cotangents of INPUTS, None where not needed."""
        lit = self.look.shading > 0 and self.look.colour
        adj_points, adj_screen, adj_c, table = self._main(lit and self._wants_table(needed))
        found: dict[str, Any] = dict.fromkeys(INPUTS)
        if any(needed[name] for name in INPUTS[1:5]):
            camera = [self.given[name] for name in INPUTS[1:3]]
            found.update(zip(INPUTS[1:5], cameras_adjoint(self.drawing, camera, adj_screen, adj_c), strict=True))
        if lit:
            found["normals"] = self._to_points(2).reshape(self.given["normals"].shape)
            adj_points = adj_points + self._to_points(3)
        found["points"] = adj_points.reshape(self.given["points"].shape)
        if self.look.colour and needed["values"]:
            found["values"] = self._values()
        if self.look.colour and self.look.textured and needed["image"]:
            found["image"] = self._image()
        if table is not None:
            self._add_table(table, found)
        return [found[name] if needed[name] else None for name in INPUTS]

    @staticmethod
    def _wants_table(needed: dict[str, bool]) -> bool:
        return any(needed[name] for name in ("ambient", "lights", "harmonics", "shininess", "eye"))

    def _main(self, with_table: bool) -> tuple[Tensor, Any, Any, Any]:
        plan, drawing = self.plan, self.drawing
        slots, adj_corners, adj_screen, adj_points, adj_c, cells = self.room
        columns = LIGHTS + 9 * len(self.look.kinds) + self.given["harmonics"].numel()
        table = plan.room.floats(drawing.entries * plan.parts if with_table else 1, columns, fill=0.0)
        wants = int(self.look.colour), self.limited, int(plan.soft.perspective), int(with_table)
        drawing.run(
            "colour_adjoint", plan.parts, plan.count, plan.near, plan.middle, plan.grid, wants, drawing.camera,
            plan.mesh, self._around(plan.corners), drawing.points, drawing.shape, drawing.lists, cells, plan.view,
            plan.blur, plan.fade, self.limit, *self.surface, self.look.background, self.saved, self.adj_planes,
            self.adj_depth, slots, table, adj_corners, adj_screen, adj_points, adj_c,
        )  # fmt: skip
        return plan.room.tensor(adj_points), adj_screen, adj_c, table if with_table else None

    @staticmethod
    def _around(corners: Corners) -> tuple[Any, Any]:
        return corners.start, corners.corner

    def _to_points(self, part: int) -> Tensor:
        """Sums of one part of the slots over points."""
        plan, (slots, adj_corners, _, _, _, cells) = self.plan, self.room
        sums = plan.room.floats(plan.frames * plan.count, 3)
        around = self._around(plan.corners)
        self.drawing.run(
            "to_points", part, plan.parts, plan.mesh, around, self.drawing.shape, cells, slots, adj_corners, sums
        )
        return plan.room.tensor(sums)

    def _values(self) -> Tensor:
        plan, (slots, adj_corners, _, _, _, cells) = self.plan, self.room
        rows = plan.room.floats(self.given["values"].shape[0], 3)
        frames = plan.triangles // max(1, int(self.look.index.index.shape[0]))
        self.drawing.run(
            "values_adjoint", plan.parts, frames, self.look.index.index, self._around(self.look.index),
            self.drawing.shape, cells, slots, adj_corners, rows,
        )  # fmt: skip
        return plan.room.tensor(rows)

    def _image(self) -> Tensor:
        """Summed in a number of copies that depends on sizes only, so that threads do not change a bit."""
        plan, image = self.plan, self.given["image"]
        memory = image.numel() * image.element_size() * plan.parts
        copies = max(1, min(COPIES, COPIES_MEMORY // memory, self.drawing.entries))
        sums = plan.room.floats(copies * plan.parts, *image.shape, fill=0.0)
        self.drawing.run(
            "image_adjoint", copies, self.limited, plan.mesh, self.drawing.shape, self.drawing.lists, plan.view,
            plan.blur, plan.fade, self.limit, *self.surface, self.saved, self.adj_planes, sums,
        )  # fmt: skip
        return plan.room.tensor(sums).sum(0)

    def _add_table(self, table: Any, found: dict[str, Any]) -> None:
        """Sum the rows of the light table, those of the eye frame by frame."""
        plan, rows = self.plan, self.plan.room.tensor(table)
        sums = rows.sum(0)
        lights = len(self.look.kinds)
        found["ambient"], found["shininess"] = sums[:3], sums[3:4]
        found["lights"] = sums[LIGHTS : LIGHTS + 9 * lights].reshape(lights, 9)
        found["harmonics"] = sums[LIGHTS + 9 * lights :].reshape(-1, 3)
        if self.look.shading < 2:
            return
        eye = self.given["eye"]
        part = sums[None, 4:7]
        if eye.shape[0] > 1:
            tiles = plan.grid[0] * plan.grid[1]
            start = plan.room.tensor(self.drawing.lists[1])[::tiles].long() * plan.parts
            bounds = [int(n) for n in start]
            part = torch.stack([rows[a:b, 4:7].sum(0) for a, b in itertools.pairwise(bounds)])
        found["eye"] = part if found["eye"] is None else found["eye"] + part
