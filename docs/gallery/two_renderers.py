"""Any renderer draws any model: the soft rasterizer, soft and sharp, beside DIB-R."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom_studio import write_video

model = get_model("fem")("ball", radius=0.3)
view = fitting.Orbit(distance=1.5, elevation=15, target=(0, 0.3, 0), size=(240, 106))
look = fitting.Appearance(pattern="position", shading="lambert", ambient=0.6, diffuse=0.7)
params = model.params(position=[0, 0.45, 0], velocity=[0, -2.5, 0], density=100.0, shear_modulus=3e3)
softras, dibr = get_renderer("softras"), get_renderer("dibr")
pale, rows = {"background": (0.93, 0.95, 0.97)}, []
for renderer in (softras(sigma=3e-3, **pale), softras(sigma=1e-5, **pale), dibr(**pale)):
    scene = fitting.Scene(model, renderer, view, params, dt=5e-4, steps=600, appearance=look)
    rows.append(scene.render({}, torch.linspace(0.0, 0.3, 30)).image.rgb)
write_video((sys.argv + ["two_renderers.webp"])[1], torch.cat(rows, dim=2), rate=16)
