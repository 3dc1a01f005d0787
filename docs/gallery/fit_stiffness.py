"""Fitting: how stiff is the ball of this video? Target, first guess and fit, one row each."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer
from diffloom_studio import write_frames

ball, view = get_model("fem")("ball", radius=0.3), fitting.Orbit(distance=2, elevation=10, size=(48, 48))
scene = fitting.Scene(ball, get_renderer("softras")(), view, ball.params(position=[0, 0.5, 0]), dt=1e-3, steps=400)
video = fitting.synthesise(scene, {"shear_modulus": 4e3}, rate=20)
found = fitting.fit(scene, video, {"shear_modulus": 2e3})
print(found)

rows = [video.frames[..., :3]]
for value in (torch.tensor(2e3), found["shear_modulus"]):
    rows.append(scene.render({"shear_modulus": value}, video.times).image.rgb.detach())
large = torch.cat([row[3:] for row in rows]).repeat_interleave(2, dim=1).repeat_interleave(2, dim=2)
write_frames(sys.argv[1] if len(sys.argv) > 1 else "fit_stiffness.png", large, rows=3)
