"""Find the height of waves, and the water's density, from a video of buoys that ride on them."""

import sys
from dataclasses import replace

import torch
from PIL import Image

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer

model = get_model("buoys")(count=6)
params = model.params(torch.float64)
view = fitting.Orbit(distance=0.9, elevation=12, azimuth=10, size=(40, 80), near=0.1, far=5.0)
renderer = get_renderer("softras")(background=(0.05, 0.1, 0.2))
appearance = fitting.Appearance(colour=(0.95, 0.6, 0.1), shading="lambert")
scene = fitting.Scene(model, renderer, view, params, dt=0.005, steps=240, appearance=appearance)
times = torch.arange(0, 241, 48, dtype=torch.float64) * scene.dt

truth, guess = {"wave_height": 0.05, "water_density": 1000.0}, {"wave_height": 0.02, "water_density": 700.0}
video = fitting.synthesise(scene, truth, times, levels=255)
result = fitting.fit(scene, video, guess, iterations=20)
print(result)
found = {name: float(result[name]) for name in truth}
print(f"found {found}, truth {truth}")

if len(sys.argv) > 1:  # an image: the video, the guess and the fit, one below the other
    large = replace(scene, camera=replace(view, size=(100, 200)))
    sought = [{name: torch.tensor(n).double() for name, n in values.items()} for values in (truth, guess, found)]
    rows = [large.render(values, times).image.bytes()[..., :3] for values in sought]
    Image.fromarray(torch.cat([torch.cat(list(row), dim=1) for row in rows]).numpy()).save(sys.argv[1])
