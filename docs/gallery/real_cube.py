"""A tossed cube: a real toss, tracked at 148 Hz (below), and the simulation of it from its flight (above)."""

import os
import sys
from pathlib import Path

import numpy as np
import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer, simulate
from diffloom.interfaces import Trajectory
from diffloom_studio import draw_surface_on_ground, write_video

place = Path(os.environ.get("DIFFLOOM_REAL_DATA", ".")) / "cube_tosses.npz"
if not place.exists():
    sys.exit(f"skipped: {place} is not there; set DIFFLOOM_REAL_DATA to the folder of ContactNets' cube_tosses.npz")
data, toss = np.load(place), 12
first = int(data["lengths"][:toss].sum())
rows = torch.tensor(data["rows"][first : first + int(data["lengths"][toss])], dtype=torch.float64)
turned = torch.tensor([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=torch.float64)  # its z axis is up, ours is y
q = torch.cat([0.0524 * rows[:, :3] @ turned.T, rows[:, 3:4], rows[:, 4:7] @ turned.T], dim=1)
cube = get_model("rigid")([{"shape": "box", "size": 0.1048, "mass": 0.37, "colour": (0.9, 0.5, 0.25)}])
start = {"position": q[0, :3][None], "orientation": q[0, 3:][None], "velocity": 0.0524 * (turned @ rows[0, 7:10])[None]}
start["angular_velocity"] = (turned @ rows[0, 10:])[None]
values = {"friction": 0.17, "contact_stiffness": 3e4, "contact_dissipation": 1.5}
params = cube.params(torch.float64, **start, **values)
path = simulate(cube, params, dt=1 / 148 / 40, steps=40 * (len(q) - 1), save_every=40)
measured = Trajectory(q[:, None], torch.zeros_like(path.u), path.times)
aim, rows = q[:, :3].mean(0), []
for seen in (path, measured):
    camera = fitting.Orbit(distance=1.1, elevation=14, azimuth=60, target=tuple(aim.tolist()), size=(120, 320), fov=30)
    surface = cube.surface(seen, params)
    rows.append(draw_surface_on_ground(get_renderer("coverage")(), surface, camera.camera(torch.float64), tile=0.1))
write_video((sys.argv + ["real_cube.webp"])[1], torch.cat(rows, dim=1)[::2], rate=37)
