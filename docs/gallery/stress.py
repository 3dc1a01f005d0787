"""Stress: a beam that is held at one end bends under its weight; von Mises's stress is largest where it is held."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom import simulate
from diffloom.interfaces import Surface
from diffloom.plugins import get_model, get_renderer
from diffloom_studio import write_frames
from diffloom_studio.playback import scale_colours

beam = get_model("fem")("beam", size=(1.0, 0.12, 0.12), cells=(14, 2, 2), fixed=["left"], ground=False)
params = beam.params(youngs_modulus=1.5e5, poisson_ratio=0.3, density=1000.0, damping=60.0)
path = simulate(beam, params, dt=5e-4, steps=360, save=(1, 120, 240, 360))
found = beam.stress(path, params)
most = float(found.values.max())
print(f"up to {most:.0f} {found.unit}")
renderer = get_renderer("dibr")(background=(0.93, 0.95, 0.97))
camera = fitting.Orbit(distance=0.85, elevation=8, azimuth=12, target=(0.5, -0.14, 0), size=(150, 260)).camera(
    torch.float32
)
surface, frames = beam.surface(path, params), []
for vertices, values in zip(surface.vertices, found.values, strict=True):
    colours = torch.tensor(scale_colours(values.double().numpy(), most)).float() / 255.0
    frames.append(renderer.render(Surface(vertices[None], surface.faces, colours=colours), camera).rgb)
write_frames(sys.argv[1] if len(sys.argv) > 1 else "stress.png", torch.cat(frames), columns=2)
