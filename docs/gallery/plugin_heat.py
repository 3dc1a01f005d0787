"""Heat on a plate: a plugin from outside in which nothing moves; its state is a temperature, drawn as colours."""

import sys

import torch
from loom_diffusion.model import DiffusionModel  # pip install examples/third_party_diffusion

import diffloom_fitting as fitting
from diffloom import get_renderer, simulate
from diffloom_studio import write_video

plate = DiffusionModel()
params = plate.params(torch.float64)
path = simulate(plate, params, dt=plate.example_settings.dt, steps=360, save_every=9, integrator="custom_step")
surface = plate.surface(path, params)
low, high = surface.vertices[0].amin(0), surface.vertices[0].amax(0)
aim, wide = tuple(float(x) for x in 0.5 * (low + high)), float((high - low).max())
view = fitting.Orbit(distance=1.5 * wide, elevation=35, azimuth=25, target=aim, size=(240, 320), near=0.01 * wide)
renderer = get_renderer("coverage")(background=(0.93, 0.95, 0.97))
frames = renderer.render(surface, view.camera(torch.float64)).rgb
print(f"{len(frames)} frames of {surface.vertices.shape[1]} temperatures")
write_video((sys.argv + ["plugin_heat.webp"])[1], frames, rate=16)
