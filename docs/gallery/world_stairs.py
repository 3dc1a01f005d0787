"""A world of obstacles: a soft ball comes down stairs that are boxes, each a term of the same model."""

import sys

import torch
import trimesh

import diffloom_fitting as fitting
from diffloom import simulate
from diffloom.interfaces import Surface, join_surfaces
from diffloom.plugins import get_model, get_renderer
from diffloom_mechanics import WithTerms, get_term
from diffloom_studio import write_frames

sizes = [(0.5, 0.3 * (3 - k), 0.8) for k in range(3)]
places = [(-0.75 + 0.5 * k, 0.15 * (3 - k), 0.0) for k in range(3)]
stairs = {f"step{k}": get_term("box")(size=sizes[k], position=places[k]) for k in range(3)}
model = WithTerms(get_model("fem")("ball", radius=0.18), stairs)
params = model.params(position=[-0.9, 1.2, 0.0], velocity=[1.0, 0.0, 0.0], density=100.0, shear_modulus=1e4)
path = simulate(model, params, dt=5e-4, steps=3200, save_every=400)

ball = model.surface(path, params)
tint = 0.2 + 0.8 * (ball.vertices[0] - ball.vertices[0].amin(0)) / 0.36
shown = [ball.replace_appearance(colours=tint)]
for size, place in zip(sizes, places, strict=True):
    box = trimesh.creation.box(size)
    corners = torch.tensor(box.vertices + place, dtype=torch.float32).expand(len(path), -1, -1)
    grey = torch.tensor([0.75, 0.75, 0.78]) * (0.8 + 0.2 * (corners[0, :, 1:2] > place[1]))
    shown.append(Surface(corners, torch.tensor(box.faces), colours=grey))
view = fitting.Orbit(distance=2.4, elevation=20, azimuth=15, target=(0.1, 0.55, 0), size=(150, 180))
renderer = get_renderer("softras")(sigma=1e-5, background=(0.93, 0.95, 0.97))
frames = renderer.render(join_surfaces(shown), view.camera(torch.float32)).rgb[::2]
write_frames(sys.argv[1] if len(sys.argv) > 1 else "world_stairs.png", frames)
