"""Find the stiffness of springs through haze that brightens all pixels, where pixel error goes astray."""

import sys
from dataclasses import replace

import torch
from PIL import Image

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer
from diffloom_fitting import get_loss

model = get_model("springs").chain(count=4, fixed=(0,), radius=0.12)
params = model.params(torch.float64)
view = fitting.Orbit(distance=2.0, elevation=5, target=(0.45, 0.75, 0.0), size=(40, 48))
appearance = fitting.Appearance(colour=(0.9, 0.5, 0.2), shading="lambert")
scene = fitting.Scene(model, get_renderer("softras")(), view, params, dt=1 / 240, steps=60, appearance=appearance)
times = torch.arange(0, 61, 12, dtype=torch.float64) * scene.dt

truth, guess = {"stiffness": 120.0}, {"stiffness": 80.0}
clear = fitting.synthesise(scene, truth, times, levels=255)
haze = torch.tensor([0.2, 0.2, 0.2, 0.0], dtype=torch.float64)
video = replace(clear, frames=clear.frames + haze)
astray = fitting.fit(scene, video, guess, loss=fitting.PixelError(coverage=False))
print(f"by pixels: {float(astray['stiffness']):.6f} N/m")
result = fitting.fit(scene, video, guess, loss=get_loss("edges")())
print(result)
print(f"found {float(result['stiffness']):.6f} N/m, truth {truth['stiffness']:.6f}")

if len(sys.argv) > 1:  # the video, the guess and the fit, one below the other
    found = {"stiffness": float(result["stiffness"])}
    sought = [{name: torch.tensor(n).double() for name, n in values.items()} for values in (guess, found)]
    rows = [video.frames[..., :3]] + [scene.render(values, times).image.rgba[..., :3] for values in sought]
    pixels = torch.cat([torch.cat(list(row.detach()), dim=1) for row in rows]).clamp(0.0, 1.0)
    Image.fromarray((255.0 * pixels).round().to(torch.uint8).numpy()).save(sys.argv[1])
