"""Draw the images of the rigid bodies' page: python docs/images/rigid_sheet.py"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import AmbientLight, Camera, Material, PointLight, Surface
from diffloom_physics_rigid.model import RigidModel
from diffloom_physics_rigid.shapes import SHAPES
from diffloom_render_dibr.renderer import DibrRenderer

FOLDER = Path(__file__).parent
LIGHTS = (AmbientLight(0.35), PointLight((3.0, 5.0, 4.0), 0.7, 0.25))
BACKGROUND = (0.96, 0.96, 0.97)


def facets(surface: Surface) -> Surface:
    """Return the surface with separate corners for every face, so that edges show."""
    faces = surface.faces.reshape(-1)
    colours = None if surface.colours is None else surface.colours[faces]
    own = torch.arange(len(faces)).reshape(-1, 3)
    return Surface(surface.vertices[:, faces], own, colours=colours, material=Material("lambert"))


def drawn(surface: Surface, view: Camera) -> Tensor:
    """Images (frames, height, width, 3)."""
    return DibrRenderer(background=BACKGROUND).render(facets(surface), view, LIGHTS).rgba[..., :3].clamp(0.0, 1.0)


def objects() -> None:
    """Every shape that has a name."""
    columns = 7
    figure, axes = plt.subplots(-(-len(SHAPES) // columns), columns, figsize=(12, 6))
    for axis in axes.flat:
        axis.axis("off")
    for number, (axis, name) in enumerate(zip(axes.flat, SHAPES, strict=False)):
        shape = SHAPES[name]()
        vertices = torch.tensor(shape.vertices - shape.solid.centre, dtype=torch.float32)
        reach = float(vertices.norm(dim=1).max())
        colour = torch.tensor(plt.get_cmap("Set2")(number % 8)[:3], dtype=torch.float32).expand(len(vertices), 3)
        view = Camera.look_at((1.6 * reach, 1.5 * reach, 2.4 * reach), fov=42.0, size=(160, 160))
        surface = Surface(vertices[None], torch.tensor(shape.faces, dtype=torch.int64), colours=colour)
        axis.imshow(drawn(surface, view)[0])
        axis.set_title(f"{name} ({len(vertices)})", fontsize=9)
    figure.tight_layout()
    figure.savefig(FOLDER / "rigid_objects.png", dpi=80)


def tower() -> RigidModel:
    """A tower of bricks, and a dumbbell thrown at it."""
    brick = {"shape": "box", "size": [0.5, 0.25, 0.3], "density": 600.0}
    colours = plt.get_cmap("Set2")
    bricks = [{**brick, "position": [0.0, 0.125 + 0.25 * k, 0.0], "colour": colours(k % 8)[:3]} for k in range(5)]
    thrown = {"shape": "dumbbell", "scale": 0.7, "density": 4000.0, "position": [-1.6, 0.7, 0.1],
              "velocity": [4.5, 2.0, 0.0], "angular_velocity": [0.0, 3.0, 6.0], "colour": (0.25, 0.3, 0.4)}  # fmt: skip
    return RigidModel([*bricks, thrown])


def scene() -> None:
    """Six moments of the throw."""
    model = tower()
    params = model.params(torch.float64)
    every = 160
    dt = 0.16 / every
    while dt > model.suggested_dt(params):
        dt, every = 0.5 * dt, 2 * every
    path = simulate(model, params, dt=dt, steps=6 * every, save_every=every)
    surface = model.surface(path, params)
    floor = torch.tensor([[-4.0, 0.0, -4.0], [4.0, 0.0, -4.0], [4.0, 0.0, 4.0], [-4.0, 0.0, 4.0]], dtype=torch.float64)
    count = surface.vertices.shape[1]
    assert surface.colours is not None
    whole = Surface(
        torch.cat([surface.vertices, floor.expand(len(surface.vertices), 4, 3)], dim=1).float(),
        torch.cat([surface.faces, torch.tensor([[0, 2, 1], [0, 3, 2]]) + count]),
        colours=torch.cat([surface.colours, torch.full((4, 3), 0.82, dtype=torch.float64)]).float(),
    )
    view = Camera.look_at((1.4, 1.9, 4.4), (0.4, 0.5, 0.0), fov=42.0, size=(240, 280))
    images = drawn(whole, view)
    figure, axes = plt.subplots(2, 3, figsize=(10.5, 6.4))
    for axis, image, frame in zip(axes.flat, images, np.arange(len(images)), strict=False):
        axis.imshow(image)
        axis.set_title(f"{0.16 * frame:.2f} s", fontsize=9)
        axis.axis("off")
    figure.tight_layout()
    figure.savefig(FOLDER / "rigid_scene.png", dpi=80)


if __name__ == "__main__":
    objects()
    scene()
