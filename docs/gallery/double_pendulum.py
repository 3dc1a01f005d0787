"""Articulated bodies: two double pendulums that start almost alike, and where chaos takes them."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer
from diffloom_studio import write_frames

common = {"builder": "double_pendulum", "lengths": [0.5, 0.4]}
model = get_model("articulated")([{**common, "angles": [2.2, 2.6]}, {**common, "angles": [2.21, 2.6]}])
view = fitting.Orbit(distance=1.9, elevation=0, size=(170, 170))
look = fitting.Appearance(pattern="position", shading="lambert", ambient=0.7, diffuse=0.5)
renderer = get_renderer("softras")(sigma=1e-5, background=(0.93, 0.95, 0.97))
scene = fitting.Scene(
    model, renderer, view, model.params(torch.float64), dt=2e-3, steps=2500, integrator="rk4", appearance=look
)
seen = scene.render({}, torch.tensor([0.0, 1.0, 2.5, 5.0]))
write_frames(sys.argv[1] if len(sys.argv) > 1 else "double_pendulum.png", seen.image.rgb)
