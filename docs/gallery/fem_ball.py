"""Deformable solids: three balls of different stiffness, dropped from the same height."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer
from diffloom_studio import write_frames

ball = get_model("fem")("ball", radius=0.3)
view = fitting.Orbit(distance=1.3, elevation=10, target=(0, 0.35, 0), size=(150, 150))
look = fitting.Appearance(pattern="position", shading="lambert", ambient=0.6, diffuse=0.7)
params = ball.params(position=[0, 0.5, 0], velocity=[0, -3, 0], density=100.0)
scene = fitting.Scene(
    ball,
    get_renderer("softras")(sigma=1e-5, background=(0.93, 0.95, 0.97)),
    view,
    params,
    dt=5e-4,
    steps=480,
    appearance=look,
)
times = torch.tensor([0.0, 0.09, 0.13, 0.24])
frames = [
    scene.render({"shear_modulus": torch.tensor(mu), "lame_modulus": torch.tensor(2 * mu)}, times).image.rgb
    for mu in (1e3, 4e3, 2e4)
]
write_frames(sys.argv[1] if len(sys.argv) > 1 else "fem_ball.png", torch.cat(frames), columns=4)
