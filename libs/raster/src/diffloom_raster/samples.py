"""Arguments of the raster layer's pipelines, as when a triangle is drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from diffloom.interfaces import Camera, Texture
from diffloom_kernels import Noted, recording

from .interpolate import interpolate
from .normals import vertex_normals
from .programs import program
from .project import project
from .rasterise import rasterise
from .soft_mask import soft_mask
from .texture import sample_texture


def _answer(pipeline: str, args: tuple[Any, ...]) -> None:
    if pipeline == "rasterise_forward":
        args[7].face_index.fill(-1)


def recorded_arguments(dtype: Any) -> Noted:
    """By pipeline, in float32 or float64."""
    kind = torch.float64 if np.dtype(dtype) == np.float64 else torch.float32
    vertices = torch.zeros((1, 3, 3), dtype=kind, requires_grad=True)
    camera = Camera.look_at((0.0, 0.0, 3.0), size=(8, 8), dtype=kind)
    camera = replace(camera, eye=camera.eye.clone().requires_grad_())
    faces, image = torch.tensor([[0, 1, 2]]), torch.zeros((2, 2, 3), dtype=kind, requires_grad=True)
    with recording(program, _answer) as noted:
        screen = project(vertices, camera)
        raster = rasterise(screen, faces, (8, 8))
        values = interpolate(vertex_normals(vertices, faces), faces, raster)
        colours = sample_texture(Texture(image, values.detach().reshape(-1, 3)[:, :2]), values[..., :2])
        mask = soft_mask(screen, faces, raster.face_index, sharpness=1.0, reach=1.0)
        (colours.sum() + mask.sum() + raster.depth.sum()).backward()
    return noted
