"""Cloth over a ball: a sheet falls onto a sphere, an obstacle that any model can be given."""

import sys

import torch
import trimesh

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer, simulate
from diffloom.interfaces import Surface, join_surfaces
from diffloom_mechanics import WithTerms, get_term
from diffloom_studio import draw_surface_on_ground, write_video

sheet = get_model("cloth")({"shape": "grid", "cells": [24, 24], "size": [1.0, 1.0], "position": [0.0, 0.62, 0.0]})
model = WithTerms(sheet, {"ball": get_term("sphere")(radius=0.3, position=(0.0, 0.3, 0.0))})
params = model.params(drag=0.5, bending_stiffness=1e-4)
path = simulate(model, params, dt=1e-4, steps=8000, save_every=200)
cloth, mesh = model.surface(path, params), trimesh.creation.icosphere(3, radius=0.285)
place = torch.tensor(mesh.vertices + [0.0, 0.3, 0.0], dtype=torch.float32).expand(len(path), -1, -1)
look = fitting.Appearance(pattern="stripes")
tone = torch.tensor([[0.85, 0.45, 0.2]]).expand(len(mesh.vertices), 3)
orange = Surface(place, torch.tensor(mesh.faces), colours=tone)
shown = join_surfaces([look.apply(cloth, cloth.vertices[0]), orange])
view = fitting.Orbit(distance=2.0, elevation=25, azimuth=20, target=(0, 0.3, 0), size=(240, 320), fov=42)
frames = draw_surface_on_ground(get_renderer("coverage")(), shown, view.camera(torch.float32))
write_video((sys.argv + ["cloth_on_ball.webp"])[1], frames, rate=20)
