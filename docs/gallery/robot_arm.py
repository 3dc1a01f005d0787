"""A robot arm: four links in joint coordinates, swung by torques that change from step to step."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom import Control, get_model, get_renderer
from diffloom_studio import draw_on_ground, write_video

arm = get_model("articulated")([{"builder": "arm", "count": 4, "planar": False, "angle": 0.7, "radius": 0.05}])
params, steps = arm.params(torch.float64, damping=0.4), 800
beat = torch.sin(torch.linspace(0.0, 16.0, steps, dtype=torch.float64))[:, None]
drive = 5.0 * beat * torch.tensor([1.0, -0.8, 0.5, 0.4], dtype=torch.float64)
view = fitting.Orbit(distance=3.6, elevation=10, target=(0.0, -0.75, 0.0), size=(240, 320), fov=42)
look = fitting.Appearance(pattern="stripes")
scene = fitting.Scene(
    arm, get_renderer("coverage")(), view, params, dt=2.5e-3, steps=steps, integrator="rk4", appearance=look,
    control=Control({"torque": drive}),
)  # fmt: skip
frames = draw_on_ground(scene, torch.linspace(0.0, 2.0, 48), ground=-1.7)
write_video((sys.argv + ["robot_arm.webp"])[1], frames, rate=24)
