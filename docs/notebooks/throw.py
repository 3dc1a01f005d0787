# %% [markdown]
# # From an image to a throw
#
# The gradients that find a stiffness find an action too: how must a ball be thrown so that, 0.3 s later, it is where
# one image shows it? [Control](../control.md) has policies, which choose an action in every step.
# %%
import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer

ball = get_model("fem")("ball", radius=0.3)
view = fitting.Orbit(distance=2.6, elevation=10, target=(0.0, 0.4, 0.0), size=(48, 64))
params = ball.params(position=[-0.4, 0.5, 0.0], shear_modulus=4e3)
look = fitting.Appearance(pattern="position", shading="phong")
scene = fitting.Scene(ball, get_renderer("softras")(), view, params, dt=1e-3, steps=400, appearance=look)
# %% [markdown]
# The goal is one image; the fit is not told which throw made it.
# %%
goal = fitting.synthesise(scene, {"velocity": [2.2, 1.2, 0.0]}, torch.tensor([0.3]))
goal
# %%
found = fitting.fit(scene, goal, {"velocity": [1.4, 0.6, 0.0]})
print(found["velocity"].tolist(), f"loss {found.loss:.1e}")
# %% [markdown]
# It is the throw that made the image. As a measurement it would not count: the verdict is red, because one frame shows
# no motion. For an action it counts that the goal is reached:
# %%
print(found.verdict)
# %% [markdown]
# The throw:
# %%
from dataclasses import replace

from diffloom_studio import draw_on_ground

large = replace(scene, camera=replace(view, size=(180, 240)))
times = torch.linspace(0.0, 0.4, 16)
fitting.Target(times.double(), draw_on_ground(large, times, {"velocity": found["velocity"]}))
