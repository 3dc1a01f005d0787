"""A silicone beam: three markers that motion capture followed as the beam sank, and the simulated beam."""

import os
import sys
from pathlib import Path

import numpy as np
import torch
import trimesh

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer, simulate
from diffloom.interfaces import Surface, join_surfaces
from diffloom_studio import draw_surface_on_ground, write_video

place = Path(os.environ.get("DIFFLOOM_REAL_DATA", ".")) / "beam" / "beam_gravity_V2_a.csv"
if not place.exists():
    sys.exit(f"skipped: {place} is not there; set DIFFLOOM_REAL_DATA to the folder of diffPD_sim2real's data")
data = np.genfromtxt(place, delimiter=",", names=True)
tip = np.stack([np.stack([data[f"m{m}_{axis}"] for axis in "zxy"], axis=1) for m in range(3)], axis=1)  # x along, y up
let_go = int(np.argmax(np.abs(tip[:, 0] - tip[0, 0]).max(axis=1) > 5e-4)) - 1
moved = torch.tensor(tip[let_go : let_go + 61] - tip[let_go], dtype=torch.float64)
beam = get_model("fem")("beam", size=(0.1, 0.03, 0.03), cells=(20, 6, 6), fixed=["left"], ground=False)
# Bending depends on Young's modulus; a Poisson's ratio near the real 0.499 would lock linear elements.
params = beam.params(torch.float64, youngs_modulus=2.7e5, poisson_ratio=0.3, density=1070.0, damping=3.0)
path = simulate(beam, params, dt=4e-5, steps=250 * 60, save_every=250)
solid = beam.surface(path, params)
end = solid.vertices[0, :, 0].argmax()
fall = solid.vertices[:, end, 1] - solid.vertices[0, end, 1]
print(f"at rest the tip hangs {-1e3 * moved[-1, :, 1].mean():.1f} mm low; simulated {-1e3 * fall[-1]:.1f} mm")
ball = trimesh.creation.icosphere(2, radius=0.004)
shown = [fitting.Appearance(colour=(0.45, 0.6, 0.8)).apply(solid, solid.vertices[0])]
for k, place in enumerate(((0.1, 0.01, 0.0), (0.1, 0.0, 0.012), (0.1, -0.01, -0.01))):
    corners = moved[:, k, None] + torch.tensor(ball.vertices + place)
    orange = torch.tensor([[0.95, 0.5, 0.15]]).expand(len(ball.vertices), 3).double()
    shown.append(Surface(corners, torch.tensor(ball.faces), colours=orange))
view = fitting.Orbit(distance=0.24, elevation=14, azimuth=25, target=(0.055, -0.008, 0.0), size=(240, 320), near=0.01)
camera, renderer = view.camera(torch.float64), get_renderer("coverage")()
frames = draw_surface_on_ground(renderer, join_surfaces(shown), camera, ground=-0.06, tile=0.02)
write_video((sys.argv + ["real_beam.webp"])[1], frames, rate=15)
