"""Dominoes: twelve boxes in a row, the first one pushed; friction and restitution are parameters to seek."""

import math
import sys

import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom_studio import draw_on_ground, write_video

bodies = []
for k in range(12):
    turn = 0.13 * k
    body = {"shape": "box", "size": [0.05, 0.3, 0.15], "density": 300.0}
    body["colour"] = (0.3 + 0.05 * k, 0.45, 0.9 - 0.05 * k)
    body["position"] = [1.1 * math.sin(turn) - 0.5, 0.15, 1.1 * math.cos(turn) - 0.95]
    body["orientation"] = [math.cos(turn / 2), 0.0, math.sin(turn / 2), 0.0]
    bodies.append(body)
bodies[0]["angular_velocity"] = [0.0, 0.0, -2.5]
model = get_model("rigid")(bodies)
view = fitting.Orbit(distance=2.2, elevation=24, azimuth=12, target=(0.0, 0.12, -0.2), size=(240, 320), fov=42)
scene = fitting.Scene(model, get_renderer("coverage")(), view, model.params(friction=0.4), dt="auto", steps=9000)
end = min(1.6, scene.steps * scene.dt)
frames = draw_on_ground(scene, torch.linspace(0.0, end, 36))
write_video((sys.argv + ["rigid_dominoes.webp"])[1], frames, rate=24)
