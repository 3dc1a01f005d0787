"""A first fit: how stiff is the ball of this video? The video, the guess after each iteration, and the fit."""

import sys
from dataclasses import replace

import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom_studio import draw_on_ground, write_video

ball, view = get_model("fem")("ball", radius=0.3), fitting.Orbit(distance=2, elevation=10, size=(48, 48))
scene = fitting.Scene(ball, get_renderer("softras")(), view, ball.params(position=[0, 0.5, 0]), dt=1e-3, steps=400)
video = fitting.synthesise(scene, {"shear_modulus": 4e3}, rate=20)
records = []
found = fitting.fit(scene, video, {"shear_modulus": 1e3}, observer=lambda _, record: records.append(record))
guesses = [float(record.values["shear_modulus"]) for record in records]
print(found)

times = torch.linspace(0.2, 0.4, 12)
wide = replace(view, distance=1.7, target=(0.0, 0.3, 0.0), size=(240, 112))
look = fitting.Appearance(pattern="position", shading="phong")
large = replace(scene, renderer=get_renderer("coverage")(), camera=wide, appearance=look)
truth, fit = (draw_on_ground(large, times, {"shear_modulus": v}) for v in (4e3, found["shear_modulus"]))
shown = [guesses[0], *guesses[1:6:2], guesses[-1]]
rows = [torch.cat([truth, draw_on_ground(large, times, {"shear_modulus": v}), fit], dim=2) for v in shown]
write_video((sys.argv + ["fit_stiffness.webp"])[1], torch.cat(rows), rate=15)
