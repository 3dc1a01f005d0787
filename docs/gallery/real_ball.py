"""A bouncing ball: its path in a phone's video, frame by frame (orange), and a simulation beside it (blue)."""

import os
import sys
from pathlib import Path

import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer, simulate
from diffloom.interfaces import Trajectory, join_surfaces
from diffloom_studio import draw_surface_on_ground, write_video
from diffloom_video import read_video

place = Path(os.environ.get("DIFFLOOM_REAL_DATA", ".")) / "ball_real.avi"
if not place.exists():
    sys.exit(f"skipped: {place} is not there; set DIFFLOOM_REAL_DATA to the folder with the video of the foam ball")
video = read_video(place, size=640, begin=2.79, duration=1.1, rate=29.97)
mask = (video.frames[..., 1] - video.frames[..., :3:2].amax(-1)).clamp_min(0.12) - 0.12  # matte of the green ball
middle = (mask * torch.arange(mask.shape[1])[:, None]).sum((1, 2)) / mask.sum((1, 2))  # [px]
across = 2.0 * ((mask > 0.02).sum((1, 2)).double().median() / torch.pi).sqrt()  # the ball is the ruler
height = (middle.max() - middle).double() * 0.0687 / across + 0.0344
model = get_model("rigid")([{"shape": "sphere", "radius": 0.0344, "mass": 0.0261, "subdivisions": 3}])
runs = []
for k in range(1, 16):
    values = {"contact_dissipation": 0.02 * k, "contact_stiffness": 2e3}
    params = model.params(torch.float64, position=[[0.0, float(height[0]), 0.0]], **values)
    path = simulate(model, params, dt=1 / 29.97 / 80, steps=80 * (len(video) - 1), save_every=80)
    runs.append((float((path.q[:, 0, 1] - height).abs().mean()), 0.02 * k, path, params))
apart, found, path, params = min(runs, key=lambda run: run[0])
print(f"dissipation {found:.2f} s/m; {1e3 * apart:.0f} mm apart on average")
seen, left = path.q.clone(), path.q.clone()
seen[:, 0, 1], seen[:, 0, 0], left[:, 0, 0] = height, -0.06, 0.06
shown = []
for q, tone in ((seen, (0.95, 0.5, 0.15)), (left, (0.3, 0.5, 0.9))):
    part = model.surface(Trajectory(q, path.u, path.times), params)
    shown.append(fitting.Appearance(colour=tone).apply(part, part.vertices[0]))
view = fitting.Orbit(distance=1.0, elevation=8, target=(0.0, 0.18, 0.0), size=(240, 320), fov=32)
frames = draw_surface_on_ground(get_renderer("coverage")(), join_surfaces(shown), view.camera(torch.float64), tile=0.1)
write_video((sys.argv + ["real_ball.webp"])[1], frames, rate=30)
