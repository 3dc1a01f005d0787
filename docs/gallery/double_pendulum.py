"""Chaos: two double pendulums that start almost alike, and where chaos takes them."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom_studio import draw_on_ground, write_video

common = {"builder": "double_pendulum", "lengths": [0.5, 0.4], "rod": 0.03}
model = get_model("articulated")([{**common, "angles": [2.2, 2.6]}, {**common, "angles": [2.21, 2.6]}])
view = fitting.Orbit(distance=3.0, elevation=5, size=(240, 320), fov=42)
look = fitting.Appearance(pattern="position")
params = model.params(torch.float64)
scene = fitting.Scene(
    model, get_renderer("coverage")(), view, params, dt=2e-3, steps=2500, integrator="rk4", appearance=look
)
frames = draw_on_ground(scene, torch.linspace(0.0, 4.0, 80), ground=-1.0)
write_video((sys.argv + ["double_pendulum.webp"])[1], frames, rate=20)
