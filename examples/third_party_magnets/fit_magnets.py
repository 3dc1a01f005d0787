"""Find the strength of magnets from a video of five that push each other apart, starting from half the truth."""

import sys
from dataclasses import replace

import torch
from PIL import Image

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer

model = get_model("magnets")(count=5, radius=0.006)
params = model.params(torch.float64)
view = fitting.Orbit(distance=0.12, elevation=55, azimuth=20, size=(64, 64), near=0.01, far=1.0)
renderer = get_renderer("softras")(background=(0.05, 0.1, 0.2))
appearance = fitting.Appearance(colour=(0.9, 0.35, 0.2), shading="lambert")
scene = fitting.Scene(model, renderer, view, params, dt=0.01, steps=120, appearance=appearance)
times = torch.arange(0, 121, 24, dtype=torch.float64) * scene.dt

truth, guess = torch.tensor([[0.0, 0.06, 0.0], [0.0, 0.03, 0.0]], dtype=torch.float64)
video = fitting.synthesise(scene, {"moment": truth}, times, levels=255)
result = fitting.fit(scene, video, {"moment": guess}, iterations=15)
print(result)
found = result["moment"]
print(f"found {found.tolist()} A m^2, truth {truth.tolist()}")

if len(sys.argv) > 1:  # an image: the video, the guess and the fit, one below the other
    large = replace(scene, camera=replace(view, size=(160, 160)))
    rows = [large.render({"moment": moment}, times).image.bytes()[..., :3] for moment in (truth, guess, found)]
    Image.fromarray(torch.cat([torch.cat(list(row), dim=1) for row in rows]).numpy()).save(sys.argv[1])
