"""A bending beam: a deformable solid, fixed at one end, bends under its weight; how far depends on its stiffness."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer
from diffloom_studio import write_frames

beam = get_model("fem")("box", size=[1.2, 0.15, 0.15], cells=[16, 2, 2], fixed=["left"], ground=False)
view = fitting.Orbit(distance=1.5, elevation=10, azimuth=15, target=(-0.2, -0.35, 0), size=(150, 220))
look = fitting.Appearance(pattern="stripes", shading="lambert", ambient=0.5, diffuse=0.7)
params = beam.params(density=200.0, damping=20.0)
scene = fitting.Scene(
    beam, get_renderer("dibr")(background=(0.93, 0.95, 0.97)), view, params, dt=5e-4, steps=1200, appearance=look
)
frames = []
for stiffness in (2e5, 6e4, 3e4):
    values = {"shear_modulus": torch.tensor(stiffness), "lame_modulus": torch.tensor(2 * stiffness)}
    frames.append(scene.render(values, torch.tensor([0.6])).image.rgb)
write_frames(sys.argv[1] if len(sys.argv) > 1 else "fem_beam.png", torch.cat(frames))
