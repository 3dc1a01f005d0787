"""Two cameras: a throw towards the first one, which it hardly sees, and the second one does."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer
from diffloom_studio import write_frames

ball = get_model("fem")("ball", radius=0.3)
front = fitting.Orbit(distance=2.4, elevation=10, size=(48, 48))
views = {"front": front, "side": fitting.Orbit(distance=2.4, elevation=10, azimuth=90, size=(48, 48))}
params = ball.params(position=[0, 0.5, 0])
scene = fitting.Scene(ball, get_renderer("softras")(), views, params, dt=1e-3, steps=300,
                      appearance=fitting.Appearance(pattern="position"))  # fmt: skip
truth = {"velocity": [0.1, 0.5, 0.8]}
videos = fitting.synthesise_views(scene, truth, rate=20)
found = fitting.fit(scene, videos, {"velocity": [0.0, 0.0, 0.0]})
print(found)

rows = [videos.by_view()[label].frames[..., :3] for label in views]
large = torch.cat(rows).repeat_interleave(2, dim=1).repeat_interleave(2, dim=2)
write_frames(sys.argv[1] if len(sys.argv) > 1 else "two_cameras.png", large, rows=2)
