"""Jelly balls: three balls of different stiffness, dropped from the same height."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom_studio import draw_on_ground, write_video

ball = get_model("fem")("ball", radius=0.3)
view = fitting.Orbit(distance=1.7, elevation=14, target=(0, 0.36, 0), size=(240, 106))
look = fitting.Appearance(pattern="position", shading="phong")
params = ball.params(position=[0, 0.55, 0], velocity=[0, -3, 0], density=100.0)
scene = fitting.Scene(ball, get_renderer("coverage")(), view, params, dt=5e-4, steps=800, appearance=look)
times = torch.linspace(0.0, 0.4, 40)
rows = [draw_on_ground(scene, times, {"shear_modulus": mu, "lame_modulus": 2 * mu}) for mu in (1e3, 4e3, 2e4)]
write_video((sys.argv + ["fem_ball.webp"])[1], torch.cat(rows, dim=2), rate=20)
