"""The native back end: from a surface, a camera and lights to pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from diffloom.interfaces import Camera, Image, Light, Surface
from diffloom.shading import Split, clip_near, vertex_normals
from diffloom.shading.arrays import Room, plain
from diffloom.shading.projection import camera_tensors
from diffloom.shading.tables import light_tables
from diffloom.shading.topology import corners_of

from .appearance import appearance
from .coverage import Coverage
from .drawing import BehindNearError, prepare
from .painting import Look, Painting
from .plan import Plan, Softness

if TYPE_CHECKING:
    from .renderer import SoftRasRenderer

SHADINGS = {"unlit": 0, "lambert": 1, "phong": 2}

#: Plans by faces, kept as long as that tensor lives, and how many of them at most.
_plans: WeakTensorKeyDictionary = WeakTensorKeyDictionary()
MOST_PLANS = 16


@dataclass(frozen=True)
class Scene:
    """What is drawn: points (frames, count, 3) with their plan, and the split that made them if faces were cut."""

    plan: Plan
    points: Tensor
    split: Split | None


def render(
    settings: SoftRasRenderer, surface: Surface, camera: Camera, lights: Sequence[Light], outputs: Sequence[str],
    frames: int,
) -> Image:  # fmt: skip
    """Draw ``frames`` pictures; everything was checked."""
    vertices = surface.vertices.expand(frames, -1, -1)
    scene = whole_scene(settings, vertices, surface.faces, camera)
    try:
        return draw(scene, surface, camera, lights, outputs, settings.background)
    except BehindNearError:
        split = clip_near(vertices, surface.faces, camera)
        assert split is not None
        scene = cut_scene(settings, vertices, split, camera)
        return draw(scene, surface, camera, lights, outputs, settings.background)


def softness(settings: SoftRasRenderer, camera: Camera) -> Softness:
    """The settings in pixels."""
    unit = 0.5 * min(camera.height, camera.width)
    sigma = settings.sigma_for(camera) * unit**2
    return Softness(
        1.0 / sigma, (settings.reach_in_sigma * sigma) ** 0.5, settings.gamma, settings.faces_per_pixel or 0,
        settings.cull_backfaces, settings.perspective_correct,
    )  # fmt: skip


def whole_scene(settings: SoftRasRenderer, points: Tensor, faces: Tensor, camera: Camera) -> Scene:
    """The usual case: every face as it is, the same faces in all frames."""
    frames, count = points.shape[0], points.shape[1]
    size = camera.height, camera.width, camera.near, camera.far
    key = settings, frames, count, points.dtype, points.device, size, faces._version
    plans: dict[Any, Plan] | None = _plans.get(faces)
    if plans is None:
        plans = _plans[faces] = {}
    plan = plans.get(key)
    if plan is None:
        if len(plans) >= MOST_PLANS:
            plans.clear()
        room = Room(points.device, points.dtype)
        start = torch.arange(frames + 1, dtype=torch.int32, device=points.device) * faces.shape[0]
        plan = plans[key] = Plan(
            room, frames, count, corners_of(faces, count), False, room.flags(0), plain(start), *size,
            softness(settings, camera), settings.target,
        )  # fmt: skip
    return Scene(plan, points, None)


def cut_scene(settings: SoftRasRenderer, vertices: Tensor, split: Split, camera: Camera) -> Scene:
    """Faces cut at the near plane: triangles of all frames as one topology."""
    room = Room(vertices.device, vertices.dtype)
    points = split.extend(vertices)
    frames, count = points.shape[0], points.shape[1]
    plan = Plan(
        room, frames, count, corners_of(split.corners.long(), frames * count), True, plain(split.hidden),
        plain(split.frame_start), camera.height, camera.width, camera.near, camera.far, softness(settings, camera),
        settings.target,
    )  # fmt: skip
    return Scene(plan, points, split)


def draw(
    scene: Scene, surface: Surface, camera: Camera, lights: Sequence[Light], outputs: Sequence[str],
    background: tuple[float, float, float],
) -> Image:  # fmt: skip
    """The outputs asked for, with as few passes as they need."""
    cameras = camera_tensors(camera)
    rgba = silhouette = depth = index = None
    if "rgba" in outputs or "depth" in outputs:
        planes, deep = paint(scene, surface, cameras, lights, "rgba" in outputs, background)
        rgba = planes.permute(0, 2, 3, 1) if "rgba" in outputs else None
        depth = deep if "depth" in outputs else None
        silhouette = planes[:, 3] if "silhouette" in outputs else None
    elif "silhouette" in outputs:
        silhouette = Coverage.apply(scene.plan, scene.points, *cameras)  # type: ignore[no-untyped-call]
    if "face_index" in outputs:
        index = face_index(scene, cameras)
    return Image(rgba, silhouette, depth, index)


def paint(
    scene: Scene, surface: Surface, cameras: tuple[Any, ...], lights: Sequence[Light], colour: bool,
    background: tuple[float, float, float],
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Planes of rgb and alpha, and depth."""
    points, material = scene.points, surface.material
    shading = SHADINGS[material.shading] if colour else 0
    look = appearance(surface, scene.split)
    kind, device = points.dtype, points.device
    tables = light_tables(material, lights if shading else (), kind, device)
    normals = torch.zeros((1, 1, 3), dtype=kind, device=device)
    if shading:
        normals = vertex_normals(surface.vertices, surface.faces)
        normals = normals.expand(points.shape[0], -1, -1) if scene.split is None else scene.split.extend(normals)
    told = Look(colour, look.textured, look.mode, look.index, shading, plain(tables.kinds), background)
    planes, depth = Painting.apply(  # type: ignore[no-untyped-call]
        scene.plan, told, points, *cameras, normals, look.values, look.image, tables.ambient, tables.lights,
        tables.harmonics, tables.shininess,
    )  # fmt: skip
    return planes, depth


def face_index(scene: Scene, cameras: tuple[Any, ...]) -> Tensor:
    """(frames, height, width) int64: the nearest face that covers a pixel's centre, -1 for none."""
    plan = scene.plan
    drawing = prepare(plan, plain(scene.points).reshape(-1, 3), tuple(plain(t) for t in cameras))
    picture = plan.room.floats(*plan.padded, fill=-1.0)
    drawing.run("fill", *drawing.filling())
    drawing.run("index", drawing.pixels, plan.mesh, drawing.shape, drawing.lists, plan.view, picture)
    index = plan.room.tensor(picture)[:, : plan.height, : plan.width].long()
    if scene.split is None:
        return index
    start = scene.split.frame_start[:-1].long().view(-1, 1, 1)
    face = torch.cat([scene.split.face.long(), scene.split.face.new_tensor([-1], dtype=torch.long)])
    return face[torch.where(index < 0, -1, index + start)]
