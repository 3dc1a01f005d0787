"""What the program is given when a tiny scene is drawn and pulled back, recorded instead of run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from diffloom.interfaces import AmbientLight, Camera, HarmonicLight, Material, PointLight, Surface, Texture

from .native import Scene, draw, whole_scene
from .renderer import SoftRasRenderer


@dataclass
class Recorder:
    """Stands in for the program: only notes what it is given. Totals stay 0, so whatever follows is small."""

    given: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def run(self, schedule: str, *args: Any, target: str) -> None:
        """Note the arguments of a schedule."""
        self.given[schedule] = args
        if schedule == "survey":
            # More fragments than count, so that the limits are looked for as well.
            args[-1][3].fill(9.0)


def recorded_arguments(dtype: Any) -> dict[str, tuple[Any, ...]]:
    """By schedule, in float32 or float64."""
    recorder = Recorder()
    kind = torch.float64 if np.dtype(dtype) == np.float64 else torch.float32
    settings = SoftRasRenderer(faces_per_pixel=1)
    vertices = torch.zeros((2, 3, 3), dtype=kind, requires_grad=True)
    eye = torch.tensor([[0.0, 0.0, 3.0], [0.0, 0.0, 3.0]], dtype=kind)
    camera = Camera.look_at(eye, size=(8, 8), dtype=kind)
    camera = replace(camera, eye=camera.eye.clone().requires_grad_())
    image = torch.zeros((2, 2, 3), dtype=kind, requires_grad=True)
    texture = Texture(image, torch.zeros((3, 2), dtype=kind, requires_grad=True))
    surface = Surface(vertices, torch.zeros((1, 3), dtype=torch.int64), texture=texture, material=Material("phong"))
    lights = AmbientLight(), PointLight(), HarmonicLight(torch.zeros(9, dtype=kind))
    scene = whole_scene(settings, vertices, surface.faces, camera)
    # Marked as cut: the recorder projects nothing, so depths would not be found in front of the near plane.
    hidden = np.zeros(2, np.bool_)
    scene = Scene(replace(scene.plan, cut=True, hidden=hidden, program=recorder, target="cuda"), vertices, None)
    for outputs in (("silhouette",), ("rgba", "depth"), ("face_index",)):
        made = draw(scene, surface, camera, lights, outputs, (0.0, 0.0, 0.0))
        total = sum(p.sum() for p in (made.rgba, made.silhouette, made.depth) if p is not None)
        if isinstance(total, torch.Tensor):
            total.backward()
    return recorder.given
