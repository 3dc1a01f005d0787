"""Images of scenes: the autograd function around drawing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom_kernels import array_of
from diffloom_raster import Appearance
from diffloom_raster.light import table_cotangents
from diffloom_raster.project import camera_cotangents
from diffloom_raster.records import Cameras, Lights, Texels

from .adjoint import Extras, Found, backward
from .drawing import cropped, features_of, padded, rasterise, shade
from .plan import Plan
from .records import Features, Source, Surfacing


class Style(NamedTuple):
    """What is drawn, besides tensors that carry gradients.

    colour: whether colours are wanted; else only mask and depth are. shading: 0 unlit, 1 lambert, 2 phong. kinds: of
    the lights, see raster.records. material: (faces,) numbers of materials, empty where there is one. background: rgb.
    far: depth where nothing is shown [m], None if depth is not wanted. shown: whether triangles are wanted. valid:
    (triangles,) flags, or empty for all.
    """

    colour: bool
    shading: int
    appearance: Appearance
    kinds: Any
    material: Any
    background: tuple[float, float, float]
    far: float | None
    shown: bool
    valid: Any

    @property
    def textured(self) -> bool:
        """Whether values are u, v."""
        return self.appearance.textured and self.colour


#: Tensors of Draw.forward after the plan and the style, in order.
INPUTS = (
    "points", "rotation", "eye", "focal", "centre", "normals", "values", "image", "ambient", "table", "harmonics",
    "shininess",
)  # fmt: skip


class Draw(torch.autograd.Function):
    """(plan, style, *INPUTS) -> planes (frames, height, width, channels): rgb if wanted, then the mask if soft; depth
    (frames, height, width) and triangles (frames, height, width) int32, -1 for none, or None where not wanted."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, style: Style, *tensors: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        source, features, surfacing = _scene(plan, style, tensors)
        drawn = rasterise(plan, source)
        background = style.background if style.colour else ()
        moving_eye = style.shading == 2 and int(surfacing.eye.shape[0]) > 1
        by_frame = moving_eye or (style.textured and surfacing.texels.stride > 0)
        shaded, planes = shade(plan, source, drawn, features, surfacing, background, style.far, by_frame)
        ctx.plan, ctx.style, ctx.source, ctx.drawn, ctx.shaded = plan, style, source, drawn, shaded
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        depth = None if style.far is None else cropped(plan, planes.depth)[..., 0]
        index = None
        if style.shown:
            index = plan.layout.cropped(drawn.coverage.face_index)
            ctx.mark_non_differentiable(index)
        return cropped(plan, planes.colour), depth, index

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_planes: Tensor | None, adj_depth: Tensor | None, _: Any) -> tuple[Any, ...]:
        if adj_planes is None and adj_depth is None:
            return (None,) * (2 + len(INPUTS))
        plan, style = ctx.plan, ctx.style
        needed = dict(zip(INPUTS, ctx.needs_input_grad[2:], strict=True))
        # the scene shares the memory of these; asking for them makes sure that nobody changed it meanwhile
        given = dict(zip(INPUTS, ctx.saved_tensors, strict=True))
        found = backward(
            plan, ctx.source, ctx.drawn, ctx.shaded, style.appearance.corners, _extras(style, needed),
            padded(plan, adj_planes), padded(plan, None if adj_depth is None else adj_depth[..., None]),
            soft=plan.settings.soft and adj_planes is not None,
        )  # fmt: skip
        named = _by_name(plan, style, given, found)
        return None, None, *(named.get(name) if needed[name] else None for name in INPUTS)


def _scene(plan: Plan, style: Style, tensors: tuple[Tensor, ...]) -> tuple[Source, Features, Surfacing]:
    """The tensors as kernels take them."""
    given = {name: array_of(tensor) for name, tensor in zip(INPUTS, tensors, strict=True)}
    arena, world, made = plan.arena, given["points"].reshape(-1, 3), style.appearance
    cameras = Cameras(*(given[name] for name in INPUTS[1:5]))
    source = Source(1, cameras, world, arena.floats(*world.shape), style.valid)
    by_point = _joined(given["normals"].reshape(-1, 3), world) if style.shading else arena.floats(world.shape[0], 0)
    lights = Lights(given["ambient"], style.kinds, given["table"], given["harmonics"], given["shininess"])
    shades, texels = int(style.shading > 0 or style.textured), Texels(*made.mode, given["image"])
    surfacing = Surfacing(
        shades, style.shading, int(style.textured), texels, given["eye"], arena.ints(0), style.material, arena.ints(0),
        lights,
    )  # fmt: skip
    return source, features_of(by_point, given["values"], made.corners, made.stride), surfacing


def _joined(a: Any, b: Any) -> Any:
    """Columns of a and then of b."""
    return np.concatenate((a, b), axis=1) if isinstance(a, np.ndarray) else torch.cat((a, b), dim=1)


def _extras(style: Style, needed: dict[str, bool]) -> Extras:
    return Extras(
        camera=any(needed[name] for name in INPUTS[1:5]),
        eye=needed["eye"] and style.shading == 2,
        lights=style.shading > 0 and any(needed[name] for name in INPUTS[8:]),
        texture=needed["image"] and style.textured,
    )


def _by_name(plan: Plan, style: Style, given: dict[str, Tensor], found: Found) -> dict[str, Any]:
    """Cotangents of INPUTS, in their shapes."""
    tensor, made = plan.arena.tensor, found.cotangents
    world = made.world
    named: dict[str, Any] = {"values": tensor(made.own).reshape(given["values"].shape)}
    if style.shading:
        named["normals"] = tensor(made.by_point[:, :3].reshape(given["normals"].shape))
        world += made.by_point[:, 3:]
    named["points"] = tensor(world.reshape(given["points"].shape))
    if made.camera.shape[0] > 0:
        rows = tensor(made.camera)
        if found.eye is not None:
            rows[:, 9:12] += tensor(found.eye)
        named.update(zip(INPUTS[1:5], camera_cotangents(rows, given["rotation"], given["eye"]), strict=True))
    if found.image is not None:
        named["image"] = tensor(found.image)
    if found.lights is not None:
        named.update(table_cotangents(tensor(found.lights), given["table"]))
    return named
