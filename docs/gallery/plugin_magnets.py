"""Floating magnets: a plugin from outside. Magnets push each other apart and settle in a pattern."""

import sys

import torch
from loom_magnets.model import MagnetsModel  # pip install examples/third_party_magnets

import diffloom_fitting as fitting
from diffloom import get_renderer
from diffloom_studio import draw_on_ground, write_video

model = MagnetsModel(count=9, radius=0.006)
params = model.params(torch.float64)
view = fitting.Orbit(distance=0.24, elevation=40, azimuth=20, size=(240, 320), near=0.01, far=2.0, fov=42)
look = fitting.Appearance(colour=(0.9, 0.35, 0.2))
scene = fitting.Scene(model, get_renderer("coverage")(), view, params, dt=0.01, steps=240, appearance=look)
frames = draw_on_ground(scene, torch.linspace(0.0, 2.4, 48), ground=-0.004, tile=0.02)
write_video((sys.argv + ["plugin_magnets.webp"])[1], frames, rate=24)
