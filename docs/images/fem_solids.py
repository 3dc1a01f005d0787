"""Draw the image of the page on deformable solids: python docs/images/fem_solids.py"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import AmbientLight, Camera, Material, NoGradient, PointLight, Surface, Trajectory
from diffloom_physics_fem.model import FemModel
from diffloom_render_dibr.renderer import DibrRenderer

LIGHTS = (AmbientLight(0.35), PointLight((1.5, 3.0, 3.0), 0.75, 0.2))


def cantilever() -> tuple[FemModel, Trajectory]:
    """A soft beam, held at its left end, sags under its own weight."""
    model = FemModel("beam", size=(1.0, 0.12, 0.12), cells=(24, 3, 3), fixed=["left"], ground=False)
    params = model.params(youngs_modulus=4e5, poisson_ratio=0.3, density=1000.0, damping=400.0)
    return model, simulate(model, params, dt=1.5e-4, steps=8000, save=[0, 900, 8000], gradient=NoGradient())


def ball() -> tuple[FemModel, Trajectory]:
    """A soft ball is thrown on the ground and bounces."""
    model = FemModel("ball", radius=0.25, layers=6)
    params = model.params(
        shear_modulus=4e4, lame_modulus=8e4, density=1000.0, damping=20.0, position=(-0.75, 0.75, 0.0),
        velocity=(1.5, -2.5, 0.0), contact_stiffness=2e4, contact_dissipation=1.0, friction=0.4,
    )  # fmt: skip
    return model, simulate(model, params, dt=1e-4, steps=7000, save=[0, 1700, 3300, 6000], gradient=NoGradient())


def muscle() -> tuple[FemModel, Trajectory]:
    """A block whose lower half grows: it bends upwards at its ends."""
    lower = {"lower": {"box": [[-1.0, -1.0, -1.0], [1.0, 0.0, 1.0]]}}
    model = FemModel("box", size=(1.0, 0.16, 0.16), cells=(24, 4, 4), regions=lower, shared={"lower": ["activation"]})
    params = model.params(
        shear_modulus=2e4, lame_modulus=4e4, density=1000.0, damping=60.0, activation_lower=-0.6,
        position=(0.0, 0.3, 0.0), gravity=(0.0, 0.0, 0.0),
    )  # fmt: skip
    return model, simulate(model, params, dt=4e-4, steps=1500, save=[0, 150, 1500], gradient=NoGradient())


def image(model: FemModel, path: Trajectory, camera: Camera, colour: tuple[float, float, float]) -> Tensor:
    """All saved states in one image, the earlier the paler."""
    surface = model.surface(path, model.params())
    grid = checked(model, colour)
    renderer = DibrRenderer(background=(1.0, 1.0, 1.0))
    shown = torch.ones(camera.height, camera.width, 3)
    for k in range(len(surface.vertices)):
        here = Surface(surface.vertices[k : k + 1], surface.faces, colours=grid, colour_per="face",
                       material=Material("phong"))  # fmt: skip
        image = renderer.render(here, camera, LIGHTS, outputs=("rgba", "face_index"))
        strength = 0.25 + 0.75 * (k + 1) / len(surface.vertices)
        mixed = strength * image.rgba[0, ..., :3] + (1.0 - strength)
        shown = torch.where((image.face_index[0] >= 0)[..., None], mixed, shown)
    return shown.clamp(0.0, 1.0)


def checked(model: FemModel, colour: tuple[float, float, float]) -> Tensor:
    """A colour per face, in bands of the rest shape, that shows how it deforms."""
    middle = torch.from_numpy(model.mesh.vertices[model.shown.vertices][model.shown.faces].mean(axis=1)).float()
    band = (middle[:, 0] / 0.0834).floor().long() % 2
    return torch.tensor(colour) * torch.where(band > 0, 1.0, 0.72)[:, None]


def main() -> None:
    """Three motions side by side."""
    side = Camera.look_at((0.5, 0.1, 1.9), (0.5, -0.22, 0.0), fov=36.0, size=(300, 330))
    front = Camera.look_at((0.0, 0.75, 3.1), (0.0, 0.45, 0.0), fov=36.0, size=(300, 330))
    near = Camera.look_at((0.0, 0.5, 1.75), (0.0, 0.3, 0.0), fov=36.0, size=(300, 330))
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6))
    shots = (
        ("a beam under its own weight", cantilever(), side, (0.95, 0.55, 0.25)),
        ("a soft ball on the ground", ball(), front, (0.3, 0.6, 0.9)),
        ("activation: the lower half shrinks", muscle(), near, (0.85, 0.35, 0.4)),
    )
    for axis, (title, (model, path), camera, colour) in zip(axes, shots, strict=True):
        axis.imshow(image(model, path, camera, colour).numpy())
        axis.set_title(title, fontsize=10)
        axis.axis("off")
    figure.tight_layout()
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=80)


if __name__ == "__main__":
    main()
