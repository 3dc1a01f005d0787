"""Two cameras: a throw towards the first one, which hardly sees it, and the second one does."""

import sys
from dataclasses import replace

import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom_studio import draw_on_ground, write_video

ball = get_model("fem")("ball", radius=0.3)
front = fitting.Orbit(distance=2.4, elevation=10, size=(48, 48))
views = {"front": front, "side": replace(front, azimuth=90)}
look = fitting.Appearance(pattern="position")
params = ball.params(position=[0, 0.5, 0])
scene = fitting.Scene(ball, get_renderer("softras")(), views, params, dt=1e-3, steps=300, appearance=look)
videos = fitting.synthesise_views(scene, {"velocity": [0.1, 0.5, 0.8]}, rate=20)
found = fitting.fit(scene, videos, {"velocity": [0.0, 0.0, 0.0]})
print(found)

times, rows = torch.linspace(0.0, 0.3, 24), []
for camera in views.values():
    wide = replace(camera, target=(0.0, 0.4, 0.0), size=(240, 160))
    large = replace(scene, renderer=get_renderer("coverage")(), camera=wide)
    rows.append(draw_on_ground(large, times, {"velocity": found["velocity"]}))
write_video((sys.argv + ["two_cameras.webp"])[1], torch.cat(rows, dim=2), rate=20)
