"""Smoke: a plume rises between walls, and a gradient tells how its height depends on the buoyancy that drives it."""

import sys

import torch

from diffloom import get_model, simulate
from diffloom_studio import write_video

CELLS, STEPS = 60, 60
air = get_model("smoke")(rows=CELLS, columns=CELLS, spacing=1 / CELLS, boundary="walls", smoke="plume")
buoyancy = torch.tensor(0.8, requires_grad=True)
path = simulate(air, air.params(buoyancy=buoyancy), dt=0.05, steps=STEPS, save_every=1)
density = path.q[:, :, 0].reshape(-1, CELLS, CELLS)  # rows from below
rows = (torch.arange(CELLS) + 0.5) / CELLS
height = (density[-1].sum(dim=1) * rows).sum() / density[-1].sum()
height.backward()
print(f"middle of the smoke at {float(height.detach()):.3f} m, {float(buoyancy.grad):+.3f} m for each unit of buoyancy")
smoke = torch.nn.functional.interpolate(density.detach()[:, None].flip(2), (240, 320), mode="bicubic")[:, 0]
dark, ember, pale = (torch.tensor(c) for c in ([0.07, 0.09, 0.16], [0.85, 0.35, 0.15], [1.0, 0.93, 0.8]))
part = (smoke / density.max().detach()).clamp(0.0, 1.0).sqrt()[..., None]
frames = torch.where(part < 0.6, dark + part / 0.6 * (ember - dark), ember + (part - 0.6) / 0.4 * (pale - ember))
write_video((sys.argv + ["smoke_plume.webp"])[1], frames, rate=20)
