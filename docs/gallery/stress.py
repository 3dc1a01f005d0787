"""Stress: a beam that is held at one end swings down; von Mises's stress is largest where it is held."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer, simulate
from diffloom.interfaces import Surface
from diffloom_studio import draw_surface_on_ground, write_video
from diffloom_studio.playback import scale_colours

beam = get_model("fem")("beam", size=(1.0, 0.12, 0.12), cells=(14, 2, 2), fixed=["left"], ground=False)
params = beam.params(youngs_modulus=1.5e5, poisson_ratio=0.3, density=1000.0, damping=20.0)
path = simulate(beam, params, dt=5e-4, steps=1440, save_every=36)
found = beam.stress(path, params)
most = 0.6 * float(found.values.max())
print(f"yellow: {most:.0f} {found.unit} and above")
view = fitting.Orbit(distance=1.35, elevation=12, azimuth=12, target=(0.45, -0.2, 0), size=(240, 320))
surface, frames = beam.surface(path, params), []
for vertices, values in zip(surface.vertices, found.values, strict=True):
    colours = torch.tensor(scale_colours(values.double().numpy(), most)).float() / 255.0
    shown = Surface(vertices[None], surface.faces, colours=colours)
    frames.append(draw_surface_on_ground(get_renderer("coverage")(), shown, view.camera(torch.float32), ground=-0.8))
write_video((sys.argv + ["stress.webp"])[1], torch.cat(frames), rate=20)
