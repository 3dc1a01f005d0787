"""The native back end: from a surface, a camera and lights to images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from diffloom.interfaces import Camera, Image, Light, Surface
from diffloom_kernels import array_of
from diffloom_raster import (
    BehindNearError,
    Split,
    appearance,
    camera_tensors,
    clip_near,
    cut_layout,
    light_tables,
    whole_layout,
)
from diffloom_raster.appearance import face_materials, frames_of_points, no_image, point_normals
from diffloom_raster.light import no_lights, strongest_shading

from .drawing import prepare
from .plan import Plan, Softness, plan_of
from .shading import Blend, Style
from .silhouette import Silhouette

if TYPE_CHECKING:
    from .renderer import SoftRasRenderer


class Scene(NamedTuple):
    """What is drawn: points (frames, count, 3) with their plan, and the split that made them if faces were cut."""

    plan: Plan
    points: Tensor
    split: Split | None


def render(
    settings: SoftRasRenderer, surface: Surface, camera: Camera, lights: Sequence[Light], outputs: Sequence[str],
    frames: int,
) -> Image:  # fmt: skip
    """Draw ``frames`` images; everything was checked."""
    vertices, soft = frames_of_points(surface, frames), softness(settings, camera)
    try:
        plan = plan_of(whole_layout(surface.faces, vertices, camera, settings.target), soft, camera.far)
        return draw(Scene(plan, vertices, None), surface, camera, lights, outputs, settings.background)
    except BehindNearError:
        split = clip_near(vertices, surface.faces, camera)
        assert split is not None
        points = split.extend(vertices)
        plan = plan_of.__wrapped__(cut_layout(split, points, camera, settings.target), soft, camera.far)
        return draw(Scene(plan, points, split), surface, camera, lights, outputs, settings.background)


def softness(settings: SoftRasRenderer, camera: Camera) -> Softness:
    """The settings in pixels."""
    unit = 0.5 * min(camera.height, camera.width)
    sigma = settings.sigma_for(camera) * unit**2
    return Softness(
        1.0 / sigma, (settings.reach_in_sigma * sigma) ** 0.5, settings.gamma, settings.faces_per_pixel or 0,
        settings.cull_backfaces, settings.perspective_correct,
    )  # fmt: skip


def draw(
    scene: Scene, surface: Surface, camera: Camera, lights: Sequence[Light], outputs: Sequence[str],
    background: tuple[float, float, float],
) -> Image:  # fmt: skip
    """The outputs asked for, with as few passes as they need."""
    rgba = silhouette = depth = index = None
    if "rgba" in outputs or "depth" in outputs:
        planes, deep = shade(scene, surface, camera, lights if "rgba" in outputs else None, background)
        rgba = planes.permute(0, 2, 3, 1) if "rgba" in outputs else None
        depth = deep if "depth" in outputs else None
        silhouette = planes[:, 3] if "silhouette" in outputs else None
    elif "silhouette" in outputs:
        silhouette = Silhouette.apply(scene.plan, scene.points, *camera_tensors(camera))  # type: ignore[no-untyped-call]
    if "face_index" in outputs:
        index = face_index(scene, camera)
    return Image(rgba, silhouette, depth, index)


def shade(
    scene: Scene, surface: Surface, camera: Camera, lights: Sequence[Light] | None,
    background: tuple[float, float, float],
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Planes of rgb and alpha, and depth; lights: None where no colours are wanted."""
    points, materials = scene.points, surface.materials
    shading = 0 if lights is None else strongest_shading(materials)
    layout, kind, device = scene.plan.layout, points.dtype, points.device
    made = appearance(surface, scene.split, layout)
    values = pad(made.values, (0, 1)) if made.textured else made.values  # as wide as colours, to share their code
    tables, normals = no_lights(kind, device), no_image(kind, device)
    if shading:
        tables = light_tables(materials, lights or (), kind, device)
        normals = point_normals(surface, scene.split, layout)
    numbers = array_of(face_materials(surface, scene.split))
    style = Style(lights is not None, made, shading, array_of(tables.kinds), numbers, background)
    planes, depth = Blend.apply(  # type: ignore[no-untyped-call]
        scene.plan, style, points, *camera_tensors(camera), normals, values, made.image, tables.ambient,
        tables.table, tables.harmonics, tables.shininess,
    )  # fmt: skip
    return planes, depth


def face_index(scene: Scene, camera: Camera) -> Tensor:
    """(frames, height, width) int64: the nearest face that covers a pixel's centre, -1 for none."""
    index = prepare(scene.plan, scene.points, camera_tensors(camera)).face_index()
    if scene.split is None:
        return index
    start = scene.split.frame_start[:-1].long().view(-1, 1, 1)
    face = torch.cat([scene.split.face.long(), scene.split.face.new_tensor([-1], dtype=torch.long)])
    return face[torch.where(index < 0, -1, index + start)]
