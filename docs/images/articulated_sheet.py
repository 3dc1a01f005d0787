"""Draw the image of the articulated bodies' page: python docs/images/articulated_sheet.py"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import AmbientLight, Camera, Material, PointLight, Surface
from diffloom_physics_articulated.model import ArticulatedModel
from diffloom_render_dibr.renderer import DibrRenderer

FOLDER = Path(__file__).parent
LIGHTS = (AmbientLight(0.4), PointLight((2.0, 3.0, 4.0), 0.7, 0.2))
SCENES = (  # tree, duration [s], and where the camera looks
    ({"builder": "double_pendulum", "lengths": [0.6, 0.4], "angles": [1.7, 0.5], "rod": 0.03}, 0.8, (0.0, -0.25, 0.0)),
    ({"builder": "chain", "count": 8, "angle": 0.35, "radius": 0.04}, 0.6, (0.35, -0.5, 0.0)),
    ({"builder": "cartpole", "angle": 0.3, "radius": 0.05}, 0.7, (-0.2, 0.2, 0.0)),
    ({"builder": "arm", "count": 4, "planar": False, "angle": 0.7, "radius": 0.06}, 0.5, (0.0, -0.75, 0.0)),
)


def drawn(surface: Surface, view: Camera) -> Tensor:
    """Images (frames, height, width, 3)."""
    made = Surface(surface.vertices, surface.faces, colours=surface.colours, material=Material("lambert"))
    return DibrRenderer(background=(0.96, 0.96, 0.97)).render(made, view, LIGHTS).rgba[..., :3].clamp(0.0, 1.0)


def main() -> None:
    """A row for each scene, four moments of it side by side."""
    rows = []
    for tree, duration, target in SCENES:
        model = ArticulatedModel([tree])
        params = model.params()
        x, y, z = target
        view = Camera.look_at((x + 0.5, y + 0.4, z + 2.4), target=target, fov=45.0, size=(180, 220))
        steps = round(duration / 0.002)
        path = simulate(model, params, dt=0.002, steps=steps, save_every=steps // 3, integrator="rk4")
        rows.append(torch.cat(list(drawn(model.surface(path, params), view)[:4]), dim=1))
    sheet = torch.cat(rows).numpy()
    Image.fromarray((255.0 * sheet).round().astype(np.uint8)).save(FOLDER / "articulated_sheet.png")


if __name__ == "__main__":
    main()
