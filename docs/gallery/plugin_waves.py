"""Buoys on waves: a plugin from outside, whose buoyancy is a compiled force with an adjoint of its own."""

import sys

import torch
from loom_buoyancy.model import BuoysModel  # pip install examples/third_party_buoyancy

import diffloom_fitting as fitting
from diffloom import get_renderer
from diffloom_studio import draw_on_ground, write_video

model = BuoysModel(count=8)
params = model.params(torch.float64, wave_height=0.08)
view = fitting.Orbit(distance=2.3, elevation=14, azimuth=20, size=(240, 320), fov=42)
look = fitting.Appearance(pattern="stripes")
scene = fitting.Scene(model, get_renderer("coverage")(), view, params, dt=0.005, steps=600, appearance=look)
frames = draw_on_ground(scene, torch.linspace(0.0, 3.0, 60), ground=-0.35)
write_video((sys.argv + ["plugin_waves.webp"])[1], frames, rate=20)
