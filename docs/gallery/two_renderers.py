"""Any renderer draws any model: the soft rasterizer, soft and sharp, beside DIB-R."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer
from diffloom_studio import write_frames

model = get_model("fem")("ball", radius=0.3)
view = fitting.Orbit(distance=0.9, elevation=15, target=(0, 0.3, 0), size=(180, 180))
look = fitting.Appearance(pattern="position", shading="lambert", ambient=0.6, diffuse=0.7)
softras, dibr = get_renderer("softras"), get_renderer("dibr")
pale = {"background": (0.93, 0.95, 0.97)}
frames = []
for renderer in (softras(sigma=3e-3, **pale), softras(sigma=1e-5, **pale), dibr(**pale)):
    scene = fitting.Scene(model, renderer, view, model.params(position=[0, 0.3, 0]), dt=1e-3, steps=1, appearance=look)
    frames.append(scene.render({}, torch.tensor([0.0])).image.rgb)
write_frames(sys.argv[1] if len(sys.argv) > 1 else "two_renderers.png", torch.cat(frames))
