"""A hammer on jelly: an articulated hammer with a spring in its joint falls on a soft block and bounces."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom_studio import draw_on_ground, write_video

handle = {"shape": "capsule", "radius": 0.025, "length": 0.7, "position": [0.35, 0, 0], "orientation": [1, 0, 0, -1]}
head = {"shape": "sphere", "radius": 0.12, "position": [0.75, 0.0, 0.0], "density": 4000.0}
link = {"name": "hammer", "axis": [0, 0, 1], "position": [-0.75, 0.36, 0.0], "start": 0.9, "shapes": [handle, head]}
hammer = get_model("articulated")([{"links": [link]}], touches=True)
block = get_model("fem")("box", size=(0.5, 0.3, 0.4), cells=(6, 4, 5))
bodies = [
    {"name": "hammer", "model": hammer, "colour": (0.35, 0.4, 0.5)},
    {"name": "jelly", "model": block, "colour": (0.85, 0.35, 0.45)},
]
touch = {"between": ["hammer", "jelly"], "thickness": 0.01, "triangles": True}
world = get_model("world")(bodies, contacts=[touch])
jelly = {"density": 400.0, "shear_modulus": 5e3, "lame_modulus": 1e4, "damping": 8.0, "position": [0.0, 0.15, 0.0]}
params = world.params(torch.float64, **{f"jelly.{name}": value for name, value in jelly.items()})
view = fitting.Orbit(distance=2.5, elevation=16, azimuth=15, target=(-0.15, 0.35, 0.0), size=(240, 320), fov=42)
scene = fitting.Scene(world, get_renderer("coverage")(), view, params, dt=1 / 6000, steps=8400)
write_video((sys.argv + ["world_hammer.webp"])[1], draw_on_ground(scene, torch.linspace(0.0, 1.4, 36)), rate=20)
