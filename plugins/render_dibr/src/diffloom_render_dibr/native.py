"""Native back end: from a surface, a camera and lights to images, and the autograd function around drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import Camera, Image, Light, Surface
from diffloom.transforms import once_differentiable
from diffloom_kernels import as_array
from diffloom_raster import (
    NO_LIMIT,
    ImageLayout,
    NearCut,
    SceneStyle,
    SceneTensors,
    draw_in_front,
    find_faces,
    read_scene,
    split_camera_cotangents,
    split_light_cotangents,
    to_camera_axes,
)

from .drawing import (
    DibrPlan,
    DrawAdjoint,
    Extras,
    Settings,
    collect_features,
    crop,
    draw_adjoint,
    find_plan,
    pad,
    rasterise,
    shade,
)
from .records import DibrSource, DibrSurfacing, Features

if TYPE_CHECKING:
    from .renderer import DibrRenderer


def render(
    renderer: DibrRenderer, surface: Surface, camera: Camera, lights: Sequence[Light], outputs: Sequence[str],
    frames: int,
) -> Image:  # fmt: skip
    """Draw ``frames`` images; the scene was checked before."""
    colour, far = "rgba" in outputs, camera.far if "depth" in outputs else None
    settings = make_settings(renderer, camera, colour or "silhouette" in outputs)

    def draw(layout: ImageLayout, points: Tensor, split: NearCut | None) -> Image:
        """Return the outputs that are wanted."""
        plan, valid, shown = find_plan(layout, settings), layout.arena.flags(0), "face_index" in outputs
        scene, tensors = read_scene(surface, camera, lights, layout, points, split, colour=colour)
        if not colour:
            tensors = tensors._replace(values=tensors.values[:, :0])
        if settings.kaolin and renderer.culls:
            valid = as_array(_find_facing(points, surface.faces, camera))
        style = DibrStyle(scene, colour, renderer.background, far, shown, valid)
        planes, depth, index = DibrDraw.apply(plan, style, *tensors)  # type: ignore[no-untyped-call]
        return Image(
            planes if colour else None, planes[..., -1] if "silhouette" in outputs else None, depth,
            find_faces(index, int(surface.faces.shape[0]), split) if shown else None,
        )  # fmt: skip

    return draw_in_front(surface, camera, frames, renderer.target, draw, settings.kaolin)


def make_settings(renderer: DibrRenderer, camera: Camera, soft: bool) -> Settings:
    """Return the settings in the units of the rasteriser: pixels, or Kaolin's plane."""
    kaolin = renderer.compat == "kaolin"
    unit = 1.0 if kaolin else 0.5 * min(camera.height, camera.width)
    return Settings(
        kaolin, soft, renderer.sigmainv / unit**2, renderer.reach * unit,
        NO_LIMIT if renderer.knum is None else renderer.knum, renderer.culls and not kaolin,
    )  # fmt: skip


def _find_facing(vertices: Tensor, faces: Tensor, camera: Camera) -> Tensor:
    """Return True for faces whose normal has no negative z in the camera's axes, (frames * faces,): culling as in
    Kaolin.
    """
    with torch.no_grad():
        a, b, c = to_camera_axes(vertices, camera)[:, faces].unbind(2)
        z: Tensor = torch.linalg.cross(b - a, c - a)[..., 2]
        return (z >= 0.0).reshape(-1)


class DibrStyle(NamedTuple):
    """Properties of a draw that carry no gradients.

    colour: True if colours are wanted, else only mask and depth are. background: rgb. far: depth where nothing is shown
    [m], None if depth is not wanted. shown: True if triangles are wanted. valid: (triangles,) flags, or empty for all.
    """

    scene: SceneStyle
    colour: bool
    background: tuple[float, float, float]
    far: float | None
    shown: bool
    valid: Any

    @property
    def textured(self) -> bool:
        """True if values are u, v."""
        return self.scene.appearance.textured and self.colour


class DibrDraw(torch.autograd.Function):
    """Autograd function (plan, style, *SceneTensors) -> planes, depth, triangles.

    planes: (frames, height, width, channels) rgb if wanted, then the mask if soft. depth: (frames, height, width), and
    triangles: (frames, height, width) int32, -1 for none; both None where not wanted.
    """

    @staticmethod
    def forward(
        ctx: Any, plan: DibrPlan, style: DibrStyle, *tensors: Tensor
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        source, features, surfacing = _read_tensors(plan, style, SceneTensors(*tensors))
        drawn = rasterise(plan, source)
        background = style.background if style.colour else ()
        moving_eye = style.scene.shading == 2 and int(surfacing.eye.shape[0]) > 1
        by_frame = moving_eye or (style.textured and surfacing.texels.stride > 0)
        shaded, planes = shade(plan, source, drawn, features, surfacing, background, style.far, by_frame)
        ctx.plan, ctx.style, ctx.source, ctx.drawn, ctx.shaded = plan, style, source, drawn, shaded
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        depth = None if style.far is None else crop(plan, planes.depth)[..., 0]
        index = None
        if style.shown:
            index = plan.layout.crop(drawn.coverage.face_index)
            ctx.mark_non_differentiable(index)
        return crop(plan, planes.colour), depth, index

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_planes: Tensor | None, adj_depth: Tensor | None, _: Any) -> tuple[Any, ...]:
        if adj_planes is None and adj_depth is None:
            return (None,) * (2 + len(SceneTensors._fields))
        plan, style = ctx.plan, ctx.style
        needed = SceneTensors(*ctx.needs_input_grad[2:])
        # reading them checks that their memory, which the scene shares, was not changed meanwhile
        given = SceneTensors(*ctx.saved_tensors)
        found = draw_adjoint(
            plan, ctx.source, ctx.drawn, ctx.shaded, style.scene.appearance.corners, _list_extras(style, needed),
            pad(plan, adj_planes), pad(plan, None if adj_depth is None else adj_depth[..., None]),
            soft=plan.settings.soft and adj_planes is not None,
        )  # fmt: skip
        named = _name_cotangents(plan, style, given, found)
        return None, None, *(named.get(name) if wanted else None for name, wanted in needed._asdict().items())


def _read_tensors(plan: DibrPlan, style: DibrStyle, given: SceneTensors) -> tuple[DibrSource, Features, DibrSurfacing]:
    """The tensors as kernels take them."""
    arena, scene, made = plan.arena, style.scene, style.scene.appearance
    world, cameras, none = as_array(given.points).reshape(-1, 3), given.cameras(), arena.ints(0)
    source = DibrSource(1, cameras, world, arena.floats(*world.shape), style.valid)
    normals = as_array(given.normals).reshape(-1, 3)
    by_point = _join(normals, world) if scene.shading else arena.floats(world.shape[0], 0)
    surfacing = DibrSurfacing(
        int(scene.shading > 0 or style.textured), scene.shading, int(style.textured), given.texels(made), cameras.eye,
        none, scene.material, none, given.lights(scene.kinds),
    )  # fmt: skip
    return source, collect_features(by_point, as_array(given.values), made.corners, made.stride), surfacing


def _join(a: Any, b: Any) -> Any:
    """Return the columns of a and then of b."""
    return np.concatenate((a, b), axis=1) if isinstance(a, np.ndarray) else torch.cat((a, b), dim=1)


def _list_extras(style: DibrStyle, needed: SceneTensors) -> Extras:
    """Return the extra cotangents that are needed."""
    return Extras(
        camera=any(needed.camera),
        eye=needed.eye and style.scene.shading == 2,
        lights=style.scene.shading > 0 and any(needed.lighting),
        texture=needed.image and style.textured,
    )


def _name_cotangents(plan: DibrPlan, style: DibrStyle, given: SceneTensors, found: DrawAdjoint) -> dict[str, Any]:
    """Return cotangents by the names of SceneTensors, in their shapes."""
    tensor, made = plan.arena.tensor, found.cotangents
    world = made.world
    named: dict[str, Any] = {"values": tensor(made.own).reshape(given.values.shape)}
    if style.scene.shading:
        named["normals"] = tensor(made.by_point[:, :3].reshape(given.normals.shape))
        world += made.by_point[:, 3:]
    named["points"] = tensor(world.reshape(given.points.shape))
    if made.camera.shape[0] > 0:
        rows = tensor(made.camera)
        if found.eye is not None:
            rows[:, 9:12] += tensor(found.eye)
        cotangents = split_camera_cotangents(rows, given.rotation, given.eye)
        named.update(zip(("rotation", "eye", "focal", "centre"), cotangents, strict=True))
    if found.image is not None:
        named["image"] = tensor(found.image)
    if found.lights is not None:
        named.update(split_light_cotangents(tensor(found.lights), given.table))
    return named
