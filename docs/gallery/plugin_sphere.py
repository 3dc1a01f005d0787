"""An obstacle from outside: two device functions, distance and adjoint, and any model may fall on the ball."""

import sys

import torch
import trimesh
from loom_sphere.ball import Ball  # pip install examples/third_party_sphere

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer, simulate
from diffloom.interfaces import Surface, join_surfaces
from diffloom_mechanics import WithTerms
from diffloom_studio import draw_surface_on_ground, write_video

block = get_model("fem")("box", size=(0.6, 0.2, 0.3), cells=(9, 3, 4))
model = WithTerms(block, {"ball": Ball(radius=0.2, centre=(0.0, 0.2, 0.0))})
values = {"position": (0.1, 0.7, 0.0), "shear_modulus": 2e4, "density": 300.0, "damping": 4.0}
params = model.params(**values, **{"ball.contact_stiffness": 500.0})
path = simulate(model, params, dt=4e-4, steps=3000, save_every=60)
soft, mesh = model.surface(path, params), trimesh.creation.icosphere(3, radius=0.2)
place = torch.tensor(mesh.vertices + [0.0, 0.2, 0.0], dtype=torch.float32).expand(len(path), -1, -1)
steel = Surface(place, torch.tensor(mesh.faces), colours=torch.full((len(mesh.vertices), 3), 0.62))
look = fitting.Appearance(pattern="stripes")
shown = join_surfaces([look.apply(soft, soft.vertices[0]), steel])
view = fitting.Orbit(distance=2.0, elevation=16, azimuth=20, target=(0, 0.35, 0), size=(240, 320), fov=42)
frames = draw_surface_on_ground(get_renderer("coverage")(), shown, view.camera(torch.float32))
write_video((sys.argv + ["plugin_sphere.webp"])[1], frames, rate=24)
