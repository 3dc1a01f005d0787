"""Masses and springs: a net, held at its corners, sags and swings."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer
from diffloom_studio import write_frames

count = 8
places = [[0.1 * i - 0.35, 0.6, 0.1 * k - 0.35] for k in range(count) for i in range(count)]
across = [[count * k + i, count * k + i + 1] for k in range(count) for i in range(count - 1)]
along = [[count * k + i, count * (k + 1) + i] for k in range(count - 1) for i in range(count)]
corners = [0, count - 1, count * (count - 1), count * count - 1]
net = get_model("springs")(places, across + along, fixed=corners, radius=0.022)

view = fitting.Orbit(distance=0.95, elevation=15, azimuth=25, target=(0, 0.5, 0), size=(180, 180))
look = fitting.Appearance(pattern="position", shading="lambert", ambient=0.5, diffuse=0.8)
renderer = get_renderer("softras")(sigma=1e-5, background=(0.93, 0.95, 0.97))
scene = fitting.Scene(net, renderer, view, net.params(stiffness=60.0, mass=0.01), dt=1e-3, steps=600, appearance=look)
seen = scene.render({}, torch.tensor([0.0, 0.15, 0.3, 0.6]))
write_frames(sys.argv[1] if len(sys.argv) > 1 else "springs_net.png", seen.image.rgb)
