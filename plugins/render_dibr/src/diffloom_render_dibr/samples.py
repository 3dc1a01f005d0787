"""What the program is given when a tiny scene is drawn forward and backward."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch

from diffloom.interfaces import AmbientLight, Camera, HarmonicLight, Material, PointLight, Surface, Texture
from diffloom_kernels import Noted, recording

from .programs import PROGRAMS
from .renderer import DibrRenderer


def _answer(pipeline: str, args: tuple[Any, ...]) -> None:
    if pipeline == "prepare":
        args[1].screen.fill(1.0)  # in front of the near plane


def recorded_arguments(dtype: Any, compat: Literal["kaolin"] | None = None) -> Noted:
    """By pipeline, in float32 or float64, by our rules or Kaolin's."""
    kind = torch.float64 if np.dtype(dtype) == np.float64 else torch.float32
    vertices = torch.zeros((1, 3, 3), dtype=kind, requires_grad=True)
    camera = Camera.look_at((0.0, 0.0, 3.0), size=(8, 8), dtype=kind)
    camera = replace(camera, eye=camera.eye.clone().requires_grad_())
    image = torch.zeros((2, 2, 3), dtype=kind, requires_grad=True)
    texture = Texture(image, torch.zeros((3, 2), dtype=kind, requires_grad=True))
    surface = Surface(vertices, torch.tensor([[0, 1, 2]]), texture=texture, material=Material("phong"))
    sky = torch.zeros(9, dtype=kind, requires_grad=True)
    renderer = DibrRenderer(compat=compat, target="cuda")
    with recording(PROGRAMS[compat is not None], _answer) as noted:
        lights = AmbientLight(), PointLight(), HarmonicLight(sky)
        made = renderer.render(surface, camera, lights, ("rgba", "depth"))
        assert made.rgba is not None
        assert made.depth is not None
        (made.rgba.sum() + made.depth.sum()).backward()
    return noted
