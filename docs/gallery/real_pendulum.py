"""A motorised pendulum: a recorded swing-up (left), and the model driven by the torques that were measured (right)."""

import os
import sys
from pathlib import Path

import numpy as np
import torch

import diffloom_fitting as fitting
from diffloom import Control, get_model, get_renderer, simulate
from diffloom.interfaces import Trajectory
from diffloom_studio import draw_surface_on_ground, write_video

place = Path(os.environ.get("DIFFLOOM_REAL_DATA", ".")) / "dfki" / "simple_pendulum_measured.csv"
if not place.exists():
    sys.exit(f"skipped: {place} is not there; set DIFFLOOM_REAL_DATA to the folder of DFKI's recordings")
data = np.genfromtxt(place, delimiter=",", names=True)
rate, first, steps = 300, 350, 360  # samples per second, and the part that is simulated
rows = {name: torch.tensor(data[name][first : first + steps + 1]) for name in ("position", "velocity", "torque")}
rod = {"shape": "capsule", "radius": 0.012, "length": 0.5, "position": [0.0, -0.25, 0.0], "colour": (0.4, 0.45, 0.5)}
bob = {"shape": "cylinder", "radius": 0.06, "height": 0.05, "position": [0.0, -0.5, 0.0], "orientation": [1, 1, 0, 0]}
# Mass moment, inertia and friction are those of the authors' regression.
link = {"name": "rod", "axis": [0, 0, 1], "mass": 0.5, "centre_of_mass": [0, -0.2044, 0], "shapes": [rod, bob],
        "inertia": [0.04, 0.01, 0.0417, 0, 0, 0]}  # fmt: skip
arm = get_model("articulated")([{"links": [link]}])
values = {"damping": 0.047, "dry_friction": 0.28, "friction_speed": 0.01}
params = arm.params(torch.float64, joint_position=rows["position"][0], joint_velocity=rows["velocity"][0], **values)
drive = Control({"torque": (rows["torque"] + 0.076)[:-1, None].repeat_interleave(10, dim=0)})
path = simulate(arm, params, dt=1 / rate / 10, steps=10 * steps, save_every=10, control=drive, integrator="rk4")
swung = Trajectory(rows["position"].reshape(path.q.shape), torch.zeros_like(path.u), path.times)
print(f"{(path.q - swung.q).abs().mean():.2f} rad apart on average")
camera = fitting.Orbit(distance=2.1, elevation=6, target=(0.0, 0.0, 0.0), size=(240, 160)).camera(torch.float64)
look, renderer = fitting.Appearance(colour=(0.9, 0.5, 0.2)), get_renderer("coverage")()
surfaces = [arm.surface(seen, params) for seen in (swung, path)]
rows = [draw_surface_on_ground(renderer, look.apply(one, one.vertices[0]), camera, ground=-0.7) for one in surfaces]
write_video((sys.argv + ["real_pendulum.webp"])[1], torch.cat(rows, dim=2)[::10], rate=30)
