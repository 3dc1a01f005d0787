"""How strong are these magnets? Found from a film of five that push each other apart, starting from half the truth."""

import sys

import torch
from PIL import Image

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer

model = get_model("magnets")(count=5)
params = model.params(torch.float64)
view = fitting.Orbit(distance=0.3, elevation=60, azimuth=20, size=(64, 64), near=0.01, far=2.0)
renderer = get_renderer("softras")(background=(0.05, 0.1, 0.2))
scene = fitting.Scene(model, renderer, view, params, dt=0.01, steps=120)
times = torch.arange(0, 121, 20, dtype=torch.float64) * scene.dt

truth, guess = [0.0, 0.06, 0.0], [0.0, 0.03, 0.0]
film = fitting.synthesise(scene, {"moment": truth}, times, levels=255)
result = fitting.fit(scene, film, {"moment": guess}, iterations=15)
print(result)
found = result["moment"]
print(f"moment {found.tolist()} A m^2, truth {truth}")

if len(sys.argv) > 1:  # a picture: the film, the guess and the fit, one below the other
    rows = [
        scene.film({"moment": torch.tensor(v, dtype=torch.float64)}, times).image.bytes()[..., :3]
        for v in (truth, guess, found.tolist())
    ]
    sheet = torch.cat([torch.cat(list(row), dim=1) for row in rows]).numpy()
    Image.fromarray(sheet).resize((2 * sheet.shape[1], 2 * sheet.shape[0]), Image.Resampling.NEAREST).save(sys.argv[1])
