"""What the program is given when a tiny scene is drawn forward and backward."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from diffloom.interfaces import AmbientLight, Camera, HarmonicLight, Material, PointLight, Surface, Texture
from diffloom_kernels import Noted, recording

from .programs import program
from .renderer import SoftRasRenderer


def _answer(pipeline: str, args: tuple[Any, ...]) -> None:
    if pipeline == "prepare":
        args[2].fill(1.0)  # in front of the near plane
    elif pipeline == "cover_first":
        args[-1].hits.fill(9.0)  # more fragments than count, so that the limits are looked for as well


def recorded_arguments(dtype: Any) -> Noted:
    """By pipeline, in float32 or float64."""
    kind = torch.float64 if np.dtype(dtype) == np.float64 else torch.float32
    vertices = torch.zeros((2, 3, 3), dtype=kind, requires_grad=True)
    eye = torch.tensor([[0.0, 0.0, 3.0], [0.0, 0.0, 3.0]], dtype=kind)
    camera = Camera.look_at(eye, size=(8, 8), dtype=kind)
    camera = replace(camera, eye=camera.eye.clone().requires_grad_())
    image = torch.zeros((2, 2, 3), dtype=kind, requires_grad=True)
    texture = Texture(image, torch.zeros((3, 2), dtype=kind, requires_grad=True))
    surface = Surface(vertices, torch.tensor([[0, 1, 2]]), texture=texture, material=Material("phong"))
    lights = AmbientLight(), PointLight(), HarmonicLight(torch.zeros(9, dtype=kind))
    renderer = SoftRasRenderer(faces_per_pixel=1, target="cuda")
    with recording(program, _answer) as noted:
        for outputs in (("silhouette",), ("rgba", "depth"), ("face_index",)):
            made = renderer.render(surface, camera, lights, outputs)
            shown = [p.sum() for p in (made.rgba, made.silhouette, made.depth) if p is not None]
            if shown:
                torch.stack(shown).sum().backward()
    return noted
