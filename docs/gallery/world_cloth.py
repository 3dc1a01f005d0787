"""A ball in a sheet: a rigid ball falls onto cloth that is held at its rim, and the cloth throws it up again."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom_studio import draw_on_ground, write_video

balls = [{"shape": "sphere", "radius": 0.12, "mass": 0.4, "position": [0.05, 0.95, -0.03]}]
sheet = {"shape": "grid", "cells": [12, 12], "size": [0.9, 0.9], "position": [0.0, 0.45, 0.0]}
held = get_model("cloth")(sheet, pins=["left", "right", "top", "bottom"])
bodies = [
    {"name": "ball", "model": get_model("rigid")(balls, ground=False), "colour": (0.85, 0.4, 0.2)},
    {"name": "sheet", "model": held, "colour": (0.35, 0.55, 0.85)},
]
soft = {"contact_stiffness": 400.0, "friction_stiffness": 0.5, "restitution": 0.8}
world = get_model("world")(bodies, contacts=[{"between": ["ball", "sheet"], **soft}])
cloth = {"density": 0.4, "shear_modulus": 300.0, "lame_modulus": 300.0, "damping": 0.5}
params = world.params(torch.float64, **{f"sheet.{name}": value for name, value in cloth.items()})
view = fitting.Orbit(distance=2.3, elevation=22, azimuth=20, target=(0.0, 0.45, 0.0), size=(240, 320), fov=42)
scene = fitting.Scene(world, get_renderer("coverage")(), view, params, dt=1 / 4800, steps=5300)
write_video((sys.argv + ["world_cloth.webp"])[1], draw_on_ground(scene, torch.linspace(0.0, 1.1, 44)), rate=22)
