"""Draw the image of the page on cloth: python docs/images/cloth_sheets.py"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import AmbientLight, Camera, Control, Material, NoGradient, PointLight, Surface
from diffloom_physics_cloth.meshes import grid
from diffloom_physics_cloth.model import ClothModel
from diffloom_render_dibr.renderer import DibrRenderer

LIGHTS = (AmbientLight(0.4), PointLight((1.5, 3.0, 4.0), 0.65, 0.1), PointLight((-1.5, -3.0, -4.0), 0.45, 0.0))


def flag() -> tuple[ClothModel, Tensor, Tensor]:
    """Held along one side, in a wind that comes from the left and a little from behind."""
    sheet = grid((30, 20), (0.9, 0.6), plane="xy")
    model = ClothModel(sheet, pins="left")
    params = model.params(density=0.15, drag=0.4, lift=0.6, wind=(5.0, 0.0, -1.5), bending_stiffness=2e-5)
    path = simulate(model, params, dt=1e-4, steps=16000, save=[16000], gradient=NoGradient())
    return model, path.q[0], checks(model, (10, 5))


def fold() -> tuple[ClothModel, Tensor, Tensor]:
    """Lowered on its edge to the ground, a long sheet folds on itself and stays in layers."""
    sheet = grid((12, 48), (0.3, 1.2), plane="xy", position=(0.0, 0.62, 0.0))
    bent = torch.from_numpy(sheet.vertices).float()
    bent[:, 2] += 0.02 * torch.sin(8.0 * bent[:, 1])
    model = ClothModel(sheet, ground=True, self_collision=0.012)
    params = model.params(start_shape=bent, density=0.3, drag=0.6, bending_stiffness=3e-4, bending_damping=1e-5)
    path = simulate(model, params, dt=5e-5, steps=24000, save=[24000], gradient=NoGradient())
    return model, path.q[0], checks(model, (3, 12))


def stride() -> tuple[ClothModel, Tensor, Tensor]:
    """The planar walker pushes off: the triangles of its legs grow and shrink in turn."""
    model = ClothModel("walker", planar=True, ground=True)
    steps, drive = 1500, torch.zeros(1500, model.axes["faces"])
    phase = 12.0 * torch.arange(steps)[:, None] / 1920
    for leg, shift in (("hind_leg", 0.0), ("front_leg", 1.6)):
        drive[:, model.sheet.select_faces("legs", leg)] = 0.5 * torch.sin(phase + shift)
    path = simulate(
        model, model.params(), dt=1 / 1920, steps=steps, save=[steps], gradient=NoGradient(),
        control=Control({"activation": drive}),
    )  # fmt: skip
    grown = drive[-1, :, None]
    colours = torch.tensor([0.85, 0.8, 0.7]) + grown * torch.tensor([0.2, -0.9, -1.0])
    return model, path.q[0], colours.clamp(0.0, 1.0)


def checks(model: ClothModel, across: tuple[int, int]) -> Tensor:
    """A chessboard of so many squares laid over the sheet by its texture coordinates: one colour per face."""
    assert model.sheet.uv is not None
    middle = torch.from_numpy(model.sheet.uv[model.sheet.faces].mean(axis=1))
    square = (middle * torch.tensor(across)).floor().long().sum(dim=1) % 2
    return torch.tensor([[0.93, 0.87, 0.72], [0.75, 0.22, 0.2]])[square]


def image(model: ClothModel, x: Tensor, camera: Camera, colours: Tensor) -> Tensor:
    """One state, coloured by face."""
    faces = torch.from_numpy(model.sheet.faces)
    drawn = Surface(x[None], faces, colours=colours, colour_per="face", material=Material("lambert"))
    return DibrRenderer(background=(1.0, 1.0, 1.0)).render(drawn, camera, LIGHTS).rgba[0, ..., :3].clamp(0.0, 1.0)


def main() -> None:
    """The three images side by side."""
    size = (360, 400)
    shots = (
        ("a flag in the wind", flag(), Camera.look_at((0.1, 0.1, 1.7), (0.0, -0.08, 0.0), fov=36.0, size=size)),
        ("contact with itself", fold(), Camera.look_at((0.55, 0.35, 0.75), (0.0, 0.08, 0.0), fov=36.0, size=size)),
        ("a walker of muscles", stride(), Camera.look_at((0.0, 0.9, 4.5), (0.0, 0.55, 0.0), fov=36.0, size=size)),
    )
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6))
    for axis, (title, (model, x, colours), camera) in zip(axes, shots, strict=True):
        axis.imshow(image(model, x, camera, colours).numpy())
        axis.set_title(title, fontsize=10)
        axis.axis("off")
    figure.tight_layout()
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=80)


if __name__ == "__main__":
    main()
