"""Smoke: a plume rises between walls, and a gradient tells how its height depends on the buoyancy that drives it."""

import sys

import torch

from diffloom import simulate
from diffloom.plugins import get_model
from diffloom_studio import write_frames

CELLS, FRAMES = 48, (1, 20, 40, 60)
air = get_model("smoke")(rows=CELLS, columns=CELLS, spacing=1 / CELLS, boundary="walls", smoke="plume")
buoyancy = torch.tensor(0.8, requires_grad=True)
path = simulate(air, air.params(buoyancy=buoyancy), dt=0.05, steps=FRAMES[-1], save=FRAMES)
density = path.q[:, :, 0].reshape(len(FRAMES), CELLS, CELLS)  # rows from below
rows = (torch.arange(CELLS) + 0.5) / CELLS
height = (density[-1].sum(dim=1) * rows).sum() / density[-1].sum()
height.backward()
print(f"middle of the smoke at {float(height.detach()):.3f} m, {float(buoyancy.grad):+.3f} m for each unit of buoyancy")
smoke = (density.detach() / density.detach().max()).flip(1).repeat_interleave(4, dim=1).repeat_interleave(4, dim=2)
sky, ink = torch.tensor([0.93, 0.95, 0.97]), torch.tensor([0.12, 0.2, 0.35])
frames = sky + smoke.clamp(0.0, 1.0).sqrt()[..., None] * (ink - sky)
write_frames(sys.argv[1] if len(sys.argv) > 1 else "smoke_plume.png", frames)
