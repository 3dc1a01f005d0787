"""A demolition ball: an articulated pendulum swings into a wall of rigid bricks; links touch what other models move."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom_studio import draw_on_ground, write_video

rod = {"shape": "capsule", "radius": 0.015, "length": 0.8, "position": [0.0, -0.4, 0.0]}
bob = {"shape": "sphere", "radius": 0.13, "position": [0.0, -0.85, 0.0], "density": 2000.0}
link = {"name": "swing", "axis": [0, 0, 1], "position": [0.0, 1.05, 0.0], "start": -1.3, "shapes": [rod, bob]}
brick = {"shape": "box", "size": [0.16, 0.12, 0.24], "density": 300.0}
tones = [(0.80, 0.42, 0.30), (0.72, 0.36, 0.27), (0.86, 0.50, 0.36)]
wall = []
for row in range(3):
    for column in range(2 + row % 2):
        place = [0.12, 0.06 + 0.12 * row, 0.25 * (column - 0.5 - 0.5 * (row % 2))]
        wall.append({**brick, "position": place, "colour": tones[(row + column) % 3]})
swing = get_model("articulated")([{"links": [link]}], touches=True)
bodies = [
    {"name": "swing", "model": swing, "colour": (0.3, 0.33, 0.4)},
    {"name": "wall", "model": get_model("rigid")(wall)},
]
world = get_model("world")(bodies)
params = world.params(torch.float64, **{"wall.friction": 0.5})
view = fitting.Orbit(distance=3.0, elevation=14, azimuth=-22, target=(0.1, 0.45, 0.0), size=(240, 320), fov=42)
scene = fitting.Scene(world, get_renderer("coverage")(), view, params, dt=1 / 6000, steps=7200)
write_video((sys.argv + ["world_pendulum.webp"])[1], draw_on_ground(scene, torch.linspace(0.0, 1.2, 36)), rate=20)
