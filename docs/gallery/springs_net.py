"""A net: masses and springs, held at the corners, sag and swing."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom_studio import draw_on_ground, write_video

count = 8
places = [[0.1 * i - 0.35, 0.6, 0.1 * k - 0.35] for k in range(count) for i in range(count)]
across = [[count * k + i, count * k + i + 1] for k in range(count) for i in range(count - 1)]
along = [[count * k + i, count * (k + 1) + i] for k in range(count - 1) for i in range(count)]
corners = [0, count - 1, count * (count - 1), count * count - 1]
net = get_model("springs")(places, across + along, fixed=corners, radius=0.022)
view = fitting.Orbit(distance=1.5, elevation=18, azimuth=25, target=(0, 0.4, 0), size=(240, 320), fov=42)
look = fitting.Appearance(pattern="position", shading="phong")
params = net.params(stiffness=60.0, mass=0.01)
scene = fitting.Scene(net, get_renderer("coverage")(), view, params, dt=1e-3, steps=1200, appearance=look)
write_video((sys.argv + ["springs_net.webp"])[1], draw_on_ground(scene, torch.linspace(0.0, 1.2, 36)), rate=24)
