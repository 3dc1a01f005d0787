"""The native back end: from a surface, a camera and lights to pictures."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from diffloom.interfaces import Camera, Image, Light, Surface
from diffloom.shading import Split, camera_points, clip_near, vertex_normals
from diffloom.shading.arrays import Room, plain
from diffloom.shading.tables import LightTables, light_tables
from diffloom.shading.topology import corners_of

from .drawing import BehindNearError
from .look import own_colour
from .picture import Look, Picture
from .plan import Plan, Rules

if TYPE_CHECKING:
    from .renderer import DibrRenderer

SHADINGS = {"unlit": 0, "lambert": 1, "phong": 2}

#: More faces than any mask counts.
ALL = 2**24

#: Plans by faces, kept as long as that tensor lives, and how many of them at most.
_plans: WeakTensorKeyDictionary = WeakTensorKeyDictionary()
MOST_PLANS = 16


def render(
    settings: DibrRenderer, surface: Surface, camera: Camera, lights: Sequence[Light], outputs: Sequence[str],
    frames: int,
) -> Image:  # fmt: skip
    """Draw ``frames`` pictures; everything was checked."""
    vertices = surface.vertices.expand(frames, -1, -1)
    soft = "rgba" in outputs or "silhouette" in outputs
    try:
        plan = whole_plan(settings, surface, vertices, camera, soft)
        return draw(plan, settings, surface, vertices, None, camera, lights, outputs)
    except BehindNearError:
        split = clip_near(vertices, surface.faces, camera)
        assert split is not None
        points = split.extend(vertices)
        plan = cut_plan(settings, split, points, camera, soft)
        return draw(plan, settings, surface, points, split, camera, lights, outputs)


def rules_for(settings: DibrRenderer, camera: Camera, soft: bool) -> Rules:
    """The settings in the units of the rasteriser: pixels, or Kaolin's plane."""
    kaolin = settings.compat == "kaolin"
    unit = 1.0 if kaolin else 0.5 * min(camera.height, camera.width)
    return Rules(
        kaolin, soft, settings.sigmainv / unit**2, settings.reach * unit,
        ALL if settings.knum is None else settings.knum, settings.culls and not kaolin,
    )  # fmt: skip


def whole_plan(settings: DibrRenderer, surface: Surface, vertices: Tensor, camera: Camera, soft: bool) -> Plan:
    """The same faces in all frames."""
    faces, (frames, count) = surface.faces, vertices.shape[:2]
    size = camera.height, camera.width, camera.near
    kept: dict[Any, Plan] = _plans.setdefault(faces, {})
    key = settings, soft, frames, count, vertices.dtype, vertices.device, size, faces._version
    plan = kept.get(key)
    if plan is None:
        if len(kept) >= MOST_PLANS:
            kept.clear()
        room = Room(vertices.device, vertices.dtype)
        start = torch.arange(frames + 1, dtype=torch.int32, device=vertices.device) * faces.shape[0]
        none = room.flags(0)
        plan = kept[key] = Plan(
            room, rules_for(settings, camera, soft), frames, count, corners_of(faces, count), False, plain(start),
            camera.height, camera.width, none, none, room.ints(0), camera.near, settings.target,
        )  # fmt: skip
    if plan.rules.kaolin and settings.culls:
        return replace(plan, shown=plain(_turned_to(vertices, faces, camera)))
    return plan


def cut_plan(settings: DibrRenderer, split: Split, points: Tensor, camera: Camera, soft: bool) -> Plan:
    """Faces cut at the near plane: triangles of all frames as one topology."""
    room = Room(points.device, points.dtype)
    frames, count = int(points.shape[0]), int(points.shape[1])
    # both halves of a cut face are marked, and follow each other
    mate = torch.full_like(split.face, -1)
    halves = split.hidden.nonzero()[:, 0].to(torch.int32)
    mate[halves[0::2].long()] = halves[1::2]
    mate[halves[1::2].long()] = halves[0::2]
    return Plan(
        room, rules_for(settings, camera, soft), frames, count, corners_of(split.corners.long(), frames * count), True,
        plain(split.frame_start), camera.height, camera.width, room.flags(0), room.flags(0), plain(mate), camera.near,
        settings.target,
    )  # fmt: skip


@functools.lru_cache(maxsize=8)
def _no_lights(dtype: torch.dtype, device: torch.device) -> LightTables:
    """What stands in for lights where nothing is lit."""
    zeros = functools.partial(torch.zeros, dtype=dtype, device=device)
    kinds = torch.zeros(0, dtype=torch.int32, device=device)
    return LightTables(kinds, zeros(3), zeros((0, 9)), zeros((0, 3)), zeros(1))


def _turned_to(vertices: Tensor, faces: Tensor, camera: Camera) -> Tensor:
    """Kaolin's culling: whether a face's normal has no negative z in the camera's axes, (frames * faces,)."""
    with torch.no_grad():
        a, b, c = camera_points(vertices, camera)[:, faces].unbind(2)
        z: Tensor = torch.linalg.cross(b - a, c - a)[..., 2]
        return (z >= 0.0).reshape(-1)


def draw(
    plan: Plan, settings: DibrRenderer, surface: Surface, points: Tensor, split: Split | None, camera: Camera,
    lights: Sequence[Light], outputs: Sequence[str],
) -> Image:  # fmt: skip
    """The outputs asked for."""
    look, tensors = _look(settings, surface, points, split, camera, lights, outputs)
    planes, depth, index = Picture.apply(plan, look, points, *_camera_arrays(camera), *tensors)  # type: ignore[no-untyped-call]
    return Image(
        planes if "rgba" in outputs else None,
        planes[..., -1] if "silhouette" in outputs else None,
        depth if "depth" in outputs else None,
        _faces(index, int(surface.faces.shape[0]), split) if "face_index" in outputs else None,
    )


def _look(
    settings: DibrRenderer, surface: Surface, points: Tensor, split: Split | None, camera: Camera,
    lights: Sequence[Light], outputs: Sequence[str],
) -> tuple[Look, tuple[Tensor, ...]]:  # fmt: skip
    """What is painted, and the tensors of Picture after the camera's."""
    colour, far = "rgba" in outputs, camera.far if "depth" in outputs else None
    none = points.new_zeros((1, 1, 3))
    own = own_colour(surface, split)
    lit = SHADINGS[surface.material.shading] if colour else 0
    tables = _no_lights(points.dtype, points.device)
    normals = none
    if lit:
        tables = light_tables(surface.material, lights, points.dtype, points.device)
        normals = vertex_normals(surface.vertices, surface.faces)
        normals = normals.expand(points.shape[0], -1, -1) if split is None else split.extend(normals)
    values = own.values if colour else own.values[:, :0]
    look = Look(
        colour, lit, own.textured and colour, own.mode, own.corners, plain(tables.kinds), settings.background, far
    )
    return look, (
        normals, values, own.image, tables.ambient, tables.lights, tables.harmonics, tables.shininess
    )  # fmt: skip


def _camera_arrays(camera: Camera) -> tuple[Any, ...]:
    """Rotation and eye with a leading axis, focal and centre."""
    rotation, eye = camera.rotation, camera.eye
    return (
        rotation if rotation.dim() == 3 else rotation[None], eye if eye.dim() == 2 else eye[None],
        camera.focal, camera.centre,
    )  # fmt: skip


def _faces(triangle: Tensor, faces: int, split: Split | None) -> Tensor:
    """Faces of the surface, int64, from numbers of triangles; -1 stays."""
    if split is None:
        return torch.where(triangle >= 0, triangle % faces, -1).long()
    if split.face.shape[0] == 0:
        return torch.full_like(triangle, -1, dtype=torch.int64)
    return torch.where(triangle >= 0, split.face[triangle.clamp_min(0).long()], -1).long()
