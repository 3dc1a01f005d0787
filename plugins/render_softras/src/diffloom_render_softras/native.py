"""Native back end: from a surface, a camera and lights to images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

from diffloom.interfaces import Camera, Image, Light, Surface
from diffloom_raster import ImageLayout, NearCut, draw_in_front, find_faces, read_camera, read_scene

from .drawing import Softness, find_plan, prepare
from .shading import Blend, Silhouette, SoftStyle

if TYPE_CHECKING:
    from .renderer import SoftRasRenderer


def render(
    settings: SoftRasRenderer, surface: Surface, camera: Camera, lights: Sequence[Light], outputs: Sequence[str],
    frames: int,
) -> Image:  # fmt: skip
    """Draw ``frames`` images; the scene was checked before."""
    soft = read_softness(settings, camera)

    def draw(layout: ImageLayout, points: Tensor, split: NearCut | None) -> Image:
        """Return the outputs that are wanted, with as few passes as they need."""
        plan, view, faces = find_plan(layout, soft, camera.far), read_camera(camera), int(surface.faces.shape[0])
        rgba = silhouette = depth = index = None
        if "rgba" in outputs or "depth" in outputs:
            colour = "rgba" in outputs
            scene, tensors = read_scene(surface, camera, lights, layout, points, split, colour=colour)
            if scene.appearance.textured:  # as wide as colours, to share their code
                tensors = tensors._replace(values=pad(tensors.values, (0, 1)))
            planes, deep = Blend.apply(plan, SoftStyle(scene, colour, settings.background), *tensors)  # type: ignore[no-untyped-call]
            rgba = planes.permute(0, 2, 3, 1) if colour else None
            depth = deep if "depth" in outputs else None
            silhouette = planes[:, 3] if "silhouette" in outputs else None
        elif "silhouette" in outputs:
            silhouette = Silhouette.apply(plan, points, *view)  # type: ignore[no-untyped-call]
        if "face_index" in outputs:
            index = prepare(plan, points, view).face_index()
            start = 0 if split is None else split.frame_start[:-1].long().view(-1, 1, 1)
            index = find_faces(torch.where(index < 0, -1, index + start), faces, split)
        return Image(rgba, silhouette, depth, index)

    return draw_in_front(surface, camera, frames, settings.target, draw)


def read_softness(settings: SoftRasRenderer, camera: Camera) -> Softness:
    """Return the renderer's settings in pixels."""
    unit = 0.5 * min(camera.height, camera.width)
    sigma = settings.find_sigma(camera) * unit**2
    return Softness(
        1.0 / sigma, (settings.reach_in_sigma * sigma) ** 0.5, settings.gamma, settings.faces_per_pixel or 0,
        settings.cull_backfaces, settings.perspective_correct,
    )  # fmt: skip
