"""Cloth over an obstacle: a sheet falls onto a sphere, which is a term that any model can be given."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer
from diffloom_mechanics import WithTerms, get_term
from diffloom_studio import write_frames

sheet = get_model("cloth")({"shape": "grid", "cells": [20, 20], "size": [1.0, 1.0], "position": [0.0, 0.55, 0.0]})
model = WithTerms(sheet, {"ball": get_term("sphere")(radius=0.3, position=(0.0, 0.2, 0.0))})
view = fitting.Orbit(distance=1.4, elevation=25, azimuth=20, target=(0, 0.3, 0), size=(180, 180))
look = fitting.Appearance(pattern="stripes", shading="lambert", ambient=0.5, diffuse=0.7)
renderer = get_renderer("dibr")(background=(0.93, 0.95, 0.97))
scene = fitting.Scene(model, renderer, view, model.params(), dt=5e-4, steps=900, appearance=look)
seen = scene.render({}, torch.tensor([0.0, 0.15, 0.3, 0.45]))
write_frames(sys.argv[1] if len(sys.argv) > 1 else "cloth_on_ball.png", seen.image.rgb)
