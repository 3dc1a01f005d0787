# %% [markdown]
# # From an image to a push
#
# The same gradients that find a stiffness find a control: which steady push on the last ball brings the chain to where
# one image shows it?
# %%
import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer

places = [[0.0, 1.0, 0.0], [0.0, 0.75, 0.0], [0.0, 0.5, 0.0], [0.0, 0.25, 0.0]]
chain = get_model("springs")(places, [[0, 1], [1, 2], [2, 3]], fixed=[0], on_ground=False, radius=0.06)
view = fitting.Orbit(distance=2.2, elevation=5, target=(0.1, 0.55, 0.0), size=(48, 64))
params = chain.params(torch.float64, mass=0.05, stiffness=200.0, damping=0.3)
look = fitting.Appearance(pattern="position", shading="phong")
scene = fitting.Scene(chain, get_renderer("softras")(), view, params, dt=2e-3, steps=300, appearance=look)
# %% [markdown]
# A control has a value for each step; one row stands for all steps, with a force for each ball. The goal is an image
# that a push makes which the fit is not told.
# %%
push = torch.zeros(1, 4, 3, dtype=torch.float64)
push[0, 3] = torch.tensor([0.3, 0.1, 0.0])
goal = fitting.synthesise(scene, {"control.force": push}, torch.tensor([0.6], dtype=torch.float64))
goal
# %% [markdown]
# Every entry of the control is an unknown. Balls that a spring holds take a push too, so that several pushes may reach
# the same image: the verdict says so.
# %%
found = fitting.fit(scene, goal, {"control.force": torch.zeros(1, 4, 3, dtype=torch.float64)}, iterations=15)
print(f"loss {found.loss:.1e}; verdict {found.verdict.level}")
# %% [markdown]
# The motion that reaches the goal:
# %%
from dataclasses import replace

from diffloom_studio import draw_on_ground

large = replace(scene, camera=replace(view, size=(180, 240)))
times = torch.linspace(0.0, 0.6, 16, dtype=torch.float64)
fitting.Target(times, draw_on_ground(large, times, {"control.force": found["control.force"]}))
