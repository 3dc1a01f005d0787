"""Find the length of a pendulum from a video of one swing, with either renderer: fit_length.py IMAGE [RENDERER]."""

import sys
from dataclasses import replace

import torch
from PIL import Image

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer

model = get_model("pendulum")(bob=0.18)
params = model.params(torch.float64, angle=0.8, rate=0.0)
view = fitting.Orbit(distance=1.3, elevation=0, target=(0.0, -0.5, 0.0), size=(48, 64), near=0.1, far=5.0)
renderer = get_renderer(sys.argv[2] if len(sys.argv) > 2 else "softras")(background=(0.05, 0.1, 0.2))
appearance = fitting.Appearance(colour=(0.95, 0.75, 0.3), shading="lambert")
scene = fitting.Scene(model, renderer, view, params, dt=0.01, steps=90, appearance=appearance, integrator="leapfrog")
times = torch.arange(0, 91, 15, dtype=torch.float64) * scene.dt

truth, guess = {"length": 0.9}, {"length": 0.75}
video = fitting.synthesise(scene, truth, times, levels=255)
result = fitting.fit(scene, video, guess, iterations=25)
print(result)
found = {"length": float(result["length"])}
print(f"found {found} m, truth {truth}")

if len(sys.argv) > 1:  # the video, the guess and the fit, one below the other
    large = replace(scene, camera=replace(view, size=(96, 128)))
    sought = [{name: torch.tensor(n).double() for name, n in values.items()} for values in (truth, guess, found)]
    rows = [large.render(values, times).image.bytes()[..., :3] for values in sought]
    Image.fromarray(torch.cat([torch.cat(list(row), dim=1) for row in rows]).numpy()).save(sys.argv[1])
