"""Bending beams: three solids, fixed at one end, bend under their weight; how far depends on their stiffness."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom_studio import draw_on_ground, write_video

beam = get_model("fem")("box", size=[1.2, 0.15, 0.15], cells=[16, 2, 2], fixed=["left"], ground=False)
view = fitting.Orbit(distance=1.9, elevation=12, azimuth=15, target=(0.0, -0.2, 0), size=(240, 320), fov=42)
look = fitting.Appearance(pattern="stripes", shading="phong")
params = beam.params(density=200.0, damping=3.0)
scene = fitting.Scene(beam, get_renderer("coverage")(), view, params, dt=5e-4, steps=2400, appearance=look)
times = torch.linspace(0.0, 1.2, 20)
rows = [
    draw_on_ground(scene, times, {"shear_modulus": mu, "lame_modulus": 2 * mu}, ground=-0.85) for mu in (2e5, 6e4, 3e4)
]
write_video((sys.argv + ["fem_beam.webp"])[1], torch.cat(rows), rate=16)
