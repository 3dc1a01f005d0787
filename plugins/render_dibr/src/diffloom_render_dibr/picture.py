"""Pictures of scenes: the autograd function around drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom.shading.arrays import plain
from diffloom.shading.topology import Corners

from .adjoint import Cotangents, Wants, pull_back
from .drawing import Colouring, Features, Source, paint, see
from .kernels.colouring import AMBIENT, LIGHTS, SHININESS
from .plan import Plan
from .planes import cropped, filled_up


@dataclass(frozen=True)
class Look:
    """What is painted, besides tensors that carry gradients.

    colour: whether colours are wanted; else only mask and depth are. lit: 0 unlit, 1 lambert, 2 phong. textured: values
    are u, v. mode: (corners, bilinear). corners: rows of values at the corners of faces. kinds: of the lights, see
    diffloom.shading.tables. background: rgb. far: depth where nothing is seen [m], None if depth is not wanted.
    """

    colour: bool
    lit: int
    textured: bool
    mode: tuple[int, int]
    corners: Corners
    kinds: Any
    background: tuple[float, float, float]
    far: float | None


#: Tensors of Picture.forward after the plan and the look, in order.
INPUTS = (
    "points", "rotation", "eye", "focal", "centre", "normals", "values", "image", "ambient", "lights", "harmonics",
    "shininess",
)  # fmt: skip


class Picture(torch.autograd.Function):
    """(plan, look, *INPUTS) -> planes (frames, height, width, channels): rgb if wanted, then the mask if soft; depth
    (frames, height, width); triangles (frames, height, width) int32, -1 for none."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, look: Look, *tensors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        source, features, colouring = scene = _scene(plan, look, tensors)
        seen = see(plan, source)
        background = look.background if look.colour else ()
        painted = paint(plan, source, seen, features, colouring, background, look.far)
        ctx.plan, ctx.look, ctx.seen, ctx.painted, ctx.scene = plan, look, seen, painted, scene
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        index = plan.room.tensor(seen.face_index)[:, : plan.height, : plan.width]
        ctx.mark_non_differentiable(index)
        return cropped(plan, painted.planes), cropped(plan, painted.depths)[..., 0], index

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_planes: Tensor | None, adj_depth: Tensor | None, _: Any) -> tuple[Any, ...]:
        if adj_planes is None and adj_depth is None:
            return (None,) * (2 + len(INPUTS))
        plan, look = ctx.plan, ctx.look
        needed = dict(zip(INPUTS, ctx.needs_input_grad[2:], strict=True))
        # the scene shares the memory of these; asking for them makes sure that nobody changed it meanwhile
        given = dict(zip(INPUTS, ctx.saved_tensors, strict=True))
        source, features, colouring = ctx.scene
        found = pull_back(
            plan, source, ctx.seen, ctx.painted, features, colouring, _wants(look, needed),
            filled_up(plan, adj_planes), filled_up(plan, None if adj_depth is None else adj_depth[..., None]),
            soft=plan.rules.soft and adj_planes is not None,
        )  # fmt: skip
        named = _by_name(plan, look, given, found)
        return None, None, *(named.get(name) if needed[name] else None for name in INPUTS)


def _scene(plan: Plan, look: Look, tensors: tuple[Tensor, ...]) -> tuple[Source, Features, Colouring]:
    """The tensors as kernels take them."""
    given = {name: plain(tensor) for name, tensor in zip(INPUTS, tensors, strict=True)}
    world = given["points"].reshape(-1, 3)
    camera = given["rotation"], given["eye"], given["focal"], given["centre"]
    source = Source(camera, world, plan.room.floats(*world.shape), True)
    by_point = _joined(given["normals"].reshape(-1, 3), world) if look.lit else plan.room.floats(world.shape[0], 0)
    features = Features(by_point, given["values"], look.corners)
    eyes = plan.frames if look.lit == 2 and given["eye"].shape[0] > 1 else 0
    light = (
        given["eye"], plan.room.ints(0), given["ambient"], look.kinds, given["lights"], given["harmonics"],
        given["shininess"],
    )  # fmt: skip
    return source, features, Colouring(
        int(look.lit > 0 or look.textured), (look.lit, int(look.textured), *look.mode, given["image"]), light, eyes > 0
    )  # fmt: skip


def _joined(a: Any, b: Any) -> Any:
    """Columns of a and then of b."""
    return np.concatenate((a, b), axis=1) if isinstance(a, np.ndarray) else torch.cat((a, b), dim=1)


def _wants(look: Look, needed: dict[str, bool]) -> Wants:
    lights = any(needed[name] for name in ("ambient", "lights", "harmonics", "shininess"))
    return Wants(
        camera=any(needed[name] for name in ("rotation", "eye", "focal", "centre")),
        eye=needed["eye"] and look.lit == 2,
        lights=lights and look.lit > 0,
        texture=needed["image"] and look.textured,
    )


def _by_name(plan: Plan, look: Look, given: dict[str, Tensor], found: Cotangents) -> dict[str, Any]:
    """Cotangents of INPUTS, in their shapes."""
    tensor = plan.room.tensor
    points = tensor(found.world)
    named: dict[str, Any] = {"values": tensor(found.own)}
    if look.lit:
        by_point = tensor(found.by_point)
        named["normals"] = by_point[:, :3].reshape(given["normals"].shape)
        points = points + by_point[:, 3:]
    named["points"] = points.reshape(given["points"].shape)
    if found.camera.shape[0] > 0:
        named.update(_camera_parts(tensor(found.camera), given, None if found.eye is None else tensor(found.eye)))
    if found.image is not None:
        named["image"] = tensor(found.image)
    if found.lights is not None:
        sums, count = tensor(found.lights), int(given["lights"].shape[0])
        named["ambient"], named["shininess"] = sums[AMBIENT : AMBIENT + 3], sums[SHININESS : SHININESS + 1]
        named["lights"] = sums[LIGHTS : LIGHTS + 9 * count].reshape(count, 9)
        named["harmonics"] = sums[LIGHTS + 9 * count :].reshape(-1, 3)
    return named


def _camera_parts(rows: Tensor, given: dict[str, Tensor], eye: Tensor | None) -> dict[str, Tensor]:
    """Rows of sixteen, one a frame, as cotangents of rotation, eye, focal and centre; what frames share is summed."""
    parts = {
        "rotation": rows[:, :9].reshape(-1, 3, 3),
        "eye": rows[:, 9:12] if eye is None else rows[:, 9:12] + eye,
        "focal": rows[:, 12:14],
        "centre": rows[:, 14:16],
    }
    for name in ("rotation", "eye"):
        if given[name].shape[0] == 1:
            parts[name] = parts[name].sum(0, keepdim=True)
    return {name: part.sum(0) if name in ("focal", "centre") else part for name, part in parts.items()}
