"""How high are the waves? Found, with the water's density, from a film of buoys that ride on them."""

import sys

import torch
from PIL import Image

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer

model = get_model("buoys")(count=6)
params = model.params(torch.float64)
view = fitting.Orbit(distance=1.6, elevation=12, azimuth=10, size=(48, 96), near=0.1, far=10.0)
renderer = get_renderer("softras")(background=(0.05, 0.1, 0.2))
scene = fitting.Scene(model, renderer, view, params, dt=0.005, steps=240)
times = torch.arange(0, 241, 40, dtype=torch.float64) * scene.dt

truth, guess = {"wave_height": 0.05, "water_density": 1000.0}, {"wave_height": 0.02, "water_density": 700.0}
film = fitting.synthesise(scene, truth, times, levels=255)
result = fitting.fit(scene, film, guess, iterations=20)
print(result)
found = {name: float(result[name]) for name in truth}
print(f"found {found}, truth {truth}")

if len(sys.argv) > 1:  # a picture: the film, the guess and the fit, one below the other
    rows = [
        scene.film({k: torch.tensor(v, dtype=torch.float64) for k, v in values.items()}, times).image.bytes()
        for values in (truth, guess, found)
    ]
    sheet = torch.cat([torch.cat(list(row[..., :3]), dim=1) for row in rows]).numpy()
    Image.fromarray(sheet).resize((2 * sheet.shape[1], 2 * sheet.shape[0]), Image.Resampling.NEAREST).save(sys.argv[1])
