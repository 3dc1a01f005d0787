"""The native back end: from a surface, a camera and lights to images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diffloom.interfaces import Camera, Image, Light, Surface
from diffloom_kernels import array_of
from diffloom_raster import (
    BehindNearError,
    Split,
    appearance,
    camera_points,
    camera_tensors,
    clip_near,
    cut_layout,
    light_tables,
    whole_layout,
)
from diffloom_raster.appearance import face_materials, frames_of_points, no_image, point_normals
from diffloom_raster.light import no_lights, strongest_shading
from diffloom_raster.soft_mask import ALL

from .image import Draw, Style
from .plan import Plan, Settings, plan_of

if TYPE_CHECKING:
    from .renderer import DibrRenderer


def render(
    renderer: DibrRenderer, surface: Surface, camera: Camera, lights: Sequence[Light], outputs: Sequence[str],
    frames: int,
) -> Image:  # fmt: skip
    """Draw ``frames`` images; everything was checked."""
    vertices = frames_of_points(surface, frames)
    settings = settings_for(renderer, camera, "rgba" in outputs or "silhouette" in outputs)
    try:
        layout = whole_layout(surface.faces, vertices, camera, renderer.target, settings.kaolin)
        return draw(plan_of(layout, settings), renderer, surface, vertices, None, camera, lights, outputs)
    except BehindNearError:
        split = clip_near(vertices, surface.faces, camera)
        assert split is not None
        points = split.extend(vertices)
        plan = plan_of.__wrapped__(cut_layout(split, points, camera, renderer.target), settings)
        return draw(plan, renderer, surface, points, split, camera, lights, outputs)


def settings_for(renderer: DibrRenderer, camera: Camera, soft: bool) -> Settings:
    """The settings in the units of the rasteriser: pixels, or Kaolin's plane."""
    kaolin = renderer.compat == "kaolin"
    unit = 1.0 if kaolin else 0.5 * min(camera.height, camera.width)
    return Settings(
        kaolin, soft, renderer.sigmainv / unit**2, renderer.reach * unit,
        ALL if renderer.knum is None else renderer.knum, renderer.culls and not kaolin,
    )  # fmt: skip


def _turned_to(vertices: Tensor, faces: Tensor, camera: Camera) -> Tensor:
    """Kaolin's culling: whether a face's normal has no negative z in the camera's axes, (frames * faces,)."""
    with torch.no_grad():
        a, b, c = camera_points(vertices, camera)[:, faces].unbind(2)
        z: Tensor = torch.linalg.cross(b - a, c - a)[..., 2]
        return (z >= 0.0).reshape(-1)


def draw(
    plan: Plan, renderer: DibrRenderer, surface: Surface, points: Tensor, split: Split | None, camera: Camera,
    lights: Sequence[Light], outputs: Sequence[str],
) -> Image:  # fmt: skip
    """The outputs asked for."""
    colour, far = "rgba" in outputs, camera.far if "depth" in outputs else None
    made = appearance(surface, split, plan.layout)
    shading = strongest_shading(surface.materials) if colour else 0
    tables, normals = no_lights(points.dtype, points.device), no_image(points.dtype, points.device)
    if shading:
        tables = light_tables(surface.materials, lights, points.dtype, points.device)
        normals = point_normals(surface, split, plan.layout)
    valid = plan.arena.flags(0)
    if plan.settings.kaolin and renderer.culls:
        valid = array_of(_turned_to(points, surface.faces, camera))
    kinds, index = array_of(tables.kinds), "face_index" in outputs
    numbers = array_of(face_materials(surface, split))
    style = Style(colour, shading, made, kinds, numbers, renderer.background, far, index, valid)
    planes, depth, shown = Draw.apply(  # type: ignore[no-untyped-call]
        plan, style, points, *camera_tensors(camera), normals, made.values if colour else made.values[:, :0],
        made.image, tables.ambient, tables.table, tables.harmonics, tables.shininess,
    )  # fmt: skip
    return Image(
        planes if "rgba" in outputs else None,
        planes[..., -1] if "silhouette" in outputs else None,
        depth if "depth" in outputs else None,
        _faces(shown, int(surface.faces.shape[0]), split) if index else None,
    )


def _faces(triangle: Tensor, faces: int, split: Split | None) -> Tensor:
    """Faces of the surface, int64, from numbers of triangles; -1 stays."""
    if split is None:
        return torch.where(triangle >= 0, triangle % faces, -1).long()
    if split.face.shape[0] == 0:
        return torch.full_like(triangle, -1, dtype=torch.int64)
    return torch.where(triangle >= 0, split.face[triangle.clamp_min(0).long()], -1).long()
