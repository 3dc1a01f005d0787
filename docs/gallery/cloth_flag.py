"""A flag: cloth that is held along one side, with drag and lift in a wind."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom_studio import draw_on_ground, write_video

sheet = {"shape": "grid", "cells": [24, 16], "size": [0.9, 0.6], "plane": "xy", "position": [0.0, 0.9, 0.0]}
flag = get_model("cloth")(sheet, pins="left")
params = flag.params(density=0.15, drag=0.4, lift=0.6, wind=[5.0, 0.0, -1.5], bending_stiffness=2e-5)
view = fitting.Orbit(distance=2.0, elevation=10, target=(0.05, 0.75, 0), size=(240, 320), fov=42)
look = fitting.Appearance(pattern="stripes")
scene = fitting.Scene(flag, get_renderer("coverage")(), view, params, dt=2e-4, steps=9000, appearance=look)
frames = draw_on_ground(scene, torch.linspace(0.6, 1.8, 36))
write_video((sys.argv + ["cloth_flag.webp"])[1], frames, rate=24)
