"""Rigid bodies: a ball is thrown at a tower of boxes."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer
from diffloom_studio import write_frames

box = {"shape": "box", "size": [0.4, 0.2, 0.3], "density": 300.0}
tones = [(0.9, 0.5, 0.3), (0.4, 0.7, 0.5), (0.4, 0.5, 0.9), (0.9, 0.8, 0.4)]
tower = [{**box, "position": [0.0, 0.1 + 0.2 * k, 0.0], "colour": tones[k]} for k in range(4)]
thrown = {
    "shape": "sphere",
    "scale": 0.15,
    "density": 2000.0,
    "position": [-1.2, 0.6, 0.05],
    "velocity": [5.0, 1.0, 0.0],
}
model = get_model("rigid")([*tower, thrown])
view = fitting.Orbit(distance=1.8, elevation=12, azimuth=20, target=(0.1, 0.4, 0), size=(170, 200))
look = fitting.Appearance(shading="lambert", ambient=0.5, diffuse=0.6)
renderer = get_renderer("dibr")(background=(0.9, 0.92, 0.95))
scene = fitting.Scene(model, renderer, view, model.params(), dt="auto", steps=9000, appearance=look)
end = min(0.9, scene.steps * scene.dt)
seen = scene.render({}, torch.linspace(0.0, end, 4))
write_frames(sys.argv[1] if len(sys.argv) > 1 else "rigid_tower.png", seen.image.rgb)
