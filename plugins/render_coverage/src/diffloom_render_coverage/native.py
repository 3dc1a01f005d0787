"""Native back end: draws images of a surface with a camera and lights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

from diffloom.interfaces import Camera, Image, Light, Surface
from diffloom_raster import ImageLayout, NearCut, draw_in_front, find_faces, read_camera, read_scene

from .drawing import find_plan, prepare
from .shading import Draw, Style

if TYPE_CHECKING:
    from .renderer import CoverageRenderer


def render(
    settings: CoverageRenderer, surface: Surface, camera: Camera, lights: Sequence[Light], outputs: Sequence[str],
    frames: int,
) -> Image:  # fmt: skip
    """Draw ``frames`` images; everything was checked."""

    def draw(layout: ImageLayout, points: Tensor, split: NearCut | None) -> Image:
        """The outputs asked for."""
        plan = find_plan(layout, settings.cull_backfaces, camera.far)
        colour, deep = "rgba" in outputs, "depth" in outputs
        index = None
        if "face_index" in outputs:
            index = prepare(plan, points, read_camera(camera)).face_index()
            start = 0 if split is None else split.frame_start[:-1].long().view(-1, 1, 1)
            index = find_faces(torch.where(index < 0, -1, index + start), int(surface.faces.shape[0]), split)
            if tuple(outputs) == ("face_index",):
                return Image(face_index=index)
        scene, tensors = read_scene(surface, camera, lights, layout, points, split, colour=colour)
        if scene.appearance.textured:  # as wide as colours, to share their code
            tensors = tensors._replace(values=pad(tensors.values, (0, 1)))
        style = Style(scene, colour, deep, settings.background)
        planes, deepest = Draw.apply(plan, style, *tensors)  # type: ignore[no-untyped-call]
        rgba = planes.permute(0, 2, 3, 1) if colour else None
        silhouette = planes[:, 3] if "silhouette" in outputs else None
        depth = deepest if deep else None
        return Image(rgba, silhouette, depth, index)

    return draw_in_front(surface, camera, frames, settings.target, draw)
