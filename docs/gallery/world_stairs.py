"""Stairs: a soft ball comes down stairs that are boxes, each a term of the same model."""

import sys

import torch
import trimesh

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer, simulate
from diffloom.interfaces import Surface, join_surfaces
from diffloom_mechanics import WithTerms, get_term
from diffloom_studio import draw_surface_on_ground, write_video

sizes = [(0.5, 0.3 * (3 - k), 0.8) for k in range(3)]
places = [(-0.75 + 0.5 * k, 0.15 * (3 - k), 0.0) for k in range(3)]
stairs = {f"step{k}": get_term("box")(size=sizes[k], position=places[k]) for k in range(3)}
model = WithTerms(get_model("fem")("ball", radius=0.18), stairs)
params = model.params(position=[-0.9, 1.2, 0.0], velocity=[1.0, 0.0, 0.0], density=100.0, shear_modulus=1e4)
path = simulate(model, params, dt=5e-4, steps=3200, save_every=80)
ball = model.surface(path, params)
shown = [fitting.Appearance(pattern="position").apply(ball, ball.vertices[0])]
for size, place in zip(sizes, places, strict=True):
    box = trimesh.creation.box(size)
    corners = torch.tensor(box.vertices + place, dtype=torch.float32).expand(len(path), -1, -1)
    shown.append(Surface(corners, torch.tensor(box.faces), colours=torch.full((len(box.vertices), 3), 0.72)))
view = fitting.Orbit(distance=3.0, elevation=18, azimuth=15, target=(0.05, 0.5, 0), size=(240, 320), fov=42)
frames = draw_surface_on_ground(get_renderer("coverage")(), join_surfaces(shown), view.camera(torch.float32))
write_video((sys.argv + ["world_stairs.webp"])[1], frames, rate=24)
