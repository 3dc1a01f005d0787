"""Find a diffusivity from 8-bit videos of a plate by both renderers, begun at a third of the truth."""

import sys
from dataclasses import replace

import torch
from PIL import Image

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer

plate = get_model("diffusion")()
view = fitting.Orbit(distance=1.6, elevation=20, azimuth=25, fov=45, size=(48, 48))
truth, guess = 0.004, 0.0013

found = []
for name in ("softras", "dibr"):
    renderer, params = get_renderer(name)(), plate.params(torch.float64)
    scene = fitting.Scene(plate, renderer, view, params, dt=0.1, steps=60, integrator="custom_step")
    video = fitting.synthesise(scene, {"diffusivity": truth}, rate=1, levels=255)
    result = fitting.fit(scene, video, {"diffusivity": guess})
    print(result)
    found.append(float(result["diffusivity"]))
print(f"found {found[0]:.7f} m^2/s with softras and {found[1]:.7f} with dibr, truth {truth} and {truth}")

if len(sys.argv) > 1:  # the video, the guess and the fit, one below the other
    large = replace(scene, camera=replace(view, size=(128, 128)))
    rows = []
    for value in (truth, guess, found[1]):
        values = {"diffusivity": torch.tensor(value, dtype=torch.float64)}
        rows.append(large.render(values, video.times).image.bytes()[..., :3])
    Image.fromarray(torch.cat([torch.cat(list(row), dim=1) for row in rows]).numpy()).save(sys.argv[1])
