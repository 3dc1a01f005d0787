"""A tossed elbow: two hinged links, tracked at 148 Hz (below), and the simulation from their first pose (above)."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer, simulate
from diffloom.interfaces import Trajectory
from diffloom_studio import draw_surface_on_ground, write_video

place = Path(os.environ.get("DIFFLOOM_REAL_DATA", ".")) / "elbow_tosses.npz"
if not place.exists():
    sys.exit(f"skipped: {place} is not there; set DIFFLOOM_REAL_DATA to the folder of dair_pll's elbow_tosses.npz")
rows, k = torch.tensor(np.load(place)["rows"], dtype=torch.float64), 121 * 5
rows = rows[k : k + 121]  # quaternion, position, hinge, turning in the body's axes, velocity, rate of the hinge
box = {"shape": "box", "size": [0.1, 0.05, 0.05], "rounding": 0.002}
solid = {"mass": 0.37, "inertia": [1.54e-4, 3.85e-4, 3.85e-4, 0, 0, 0]}
upper = {"name": "upper", "joint": "free", **solid, "shapes": [{**box, "colour": (0.9, 0.5, 0.2)}]}
blue = {**box, "position": [0.035, 0, 0], "colour": (0.3, 0.5, 0.85)}
fore = {"name": "fore", "parent": "upper", "axis": [0, 1, 0], "position": [-0.035, 0.06, 0], "shapes": [blue]}
fore |= {**solid, "centre_of_mass": [0.035, 0, 0]}
elbow = get_model("articulated")([{"links": [upper, fore]}], ground=True, contact={"law": "hunt_crossley", "toe": 5e-4})
up = {"gravity": [0.0, 0.0, -9.81], "ground_normal": [0.0, 0.0, 1.0]}
start = {"joint_orientation": rows[0, :4], "joint_position": rows[0, 4:8]}
start["joint_velocity"] = rows[0, [11, 12, 13, 8, 9, 10, 14]]
params = elbow.params(torch.float64, friction=0.3, contact_stiffness=5e4, contact_dissipation=1.0, **up, **start)
path = simulate(elbow, params, dt=1 / 148 / 24, steps=24 * 120, save_every=24)
measured = Trajectory(rows[:, :8].reshape(path.q.shape), torch.zeros_like(path.u), path.times)
turned, aim = torch.tensor([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=torch.float64), rows[:, 4:7].mean(0)
aim = (float(aim[1]), 0.1, float(aim[0]))
view, drawn = fitting.Orbit(distance=1.0, elevation=16, azimuth=50, size=(120, 320), fov=34, target=aim), []
for seen in (path, measured):
    surface = replace(elbow.surface(seen, params), vertices=elbow.surface(seen, params).vertices @ turned.T)
    drawn.append(draw_surface_on_ground(get_renderer("coverage")(), surface, view.camera(torch.float64), tile=0.1))
write_video((sys.argv + ["real_elbow.webp"])[1], torch.cat(drawn, dim=1)[::2], rate=37)
