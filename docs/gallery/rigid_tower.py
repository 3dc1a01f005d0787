"""A tower: a ball is thrown at a tower of boxes."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom_studio import draw_on_ground, write_video

box = {"shape": "box", "size": [0.4, 0.2, 0.3], "density": 300.0}
tones = [(0.9, 0.5, 0.3), (0.4, 0.7, 0.5), (0.4, 0.5, 0.9), (0.9, 0.8, 0.4)]
tower = [{**box, "position": [0.0, 0.1 + 0.2 * k, 0.0], "colour": tones[k]} for k in range(4)]
thrown = {"position": [-1.2, 0.6, 0.05], "velocity": [5.0, 1.0, 0.0], "colour": (0.25, 0.28, 0.35)}
model = get_model("rigid")([*tower, {"shape": "sphere", "scale": 0.15, "density": 2000.0, **thrown}])
view = fitting.Orbit(distance=2.6, elevation=14, azimuth=20, target=(0.1, 0.42, 0), size=(240, 320), fov=42)
scene = fitting.Scene(model, get_renderer("coverage")(), view, model.params(), dt="auto", steps=9000)
end = min(1.1, scene.steps * scene.dt)
frames = draw_on_ground(scene, torch.linspace(0.0, end, 44))
write_video((sys.argv + ["rigid_tower.webp"])[1], frames, rate=24)
