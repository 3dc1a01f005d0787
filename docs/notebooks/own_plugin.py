# %% [markdown]
# # A force of your own
#
# A gust of wind that no model of diffloom knows becomes a term in plain PyTorch. Its strength is found from a video.
# [Ten minutes to a plugin](../guide/tutorial.md) makes an installed package of such a term.
# %%
import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom.fixed_order import broadcast
from diffloom.interfaces import ParamSpec
from diffloom_mechanics import ForceTerm, TorchTerm, WithTerms


class Gust(ForceTerm):
    """A force along x that grows with the height."""

    @property
    def specs(self):
        return (ParamSpec("strength", 0.1, "N/m", "force per height"),)

    @classmethod
    def refuses(cls, nodes):
        return None if nodes.name == "particles" else "the gust blows at particles"

    def term(self, name, params, context):
        def force(clock, q, u, strength):
            return strength[:, None] * q[:, 1:2] * torch.tensor([1.0, 0.0, 0.0], dtype=q.dtype)

        return TorchTerm(name, force, (("strength", broadcast(params["strength"], (context.count,))),), context.on)


# %% [markdown]
# Three balls hang on springs. A model takes the term by a name of your choice, and the term's parameters with it.
# %%
places = [[0.0, 1.0, 0.0], [0.0, 0.75, 0.0], [0.0, 0.5, 0.0], [0.0, 0.25, 0.0]]
chain = get_model("springs")(places, [[0, 1], [1, 2], [2, 3]], fixed=[0], on_ground=False, radius=0.06)
model = WithTerms(chain, {"gust": Gust()})
view = fitting.Orbit(distance=2.2, elevation=5, target=(0.1, 0.55, 0.0), size=(48, 64))
params = model.params(torch.float64, mass=0.05, stiffness=200.0, damping=0.3)
look = fitting.Appearance(pattern="position", shading="phong")
scene = fitting.Scene(model, get_renderer("softras")(), view, params, dt=2e-3, steps=300, appearance=look)
video = fitting.synthesise(scene, {"gust.strength": 0.4}, rate=10)
# %% [markdown]
# The gradient passes through the new force as through any other, so the fit needs nothing else:
# %%
found = fitting.fit(scene, video, {"gust.strength": 0.1}, iterations=10)
print(f"{float(found['gust.strength']):.4f} N/m, truth 0.4; verdict {found.verdict.level}")
# %% [markdown]
# The motion that it found, on a ground with light and shadow; a target at the end of a cell is displayed:
# %%
from dataclasses import replace

from diffloom_studio import draw_on_ground

large = replace(scene, camera=replace(view, size=(180, 240)))
times = torch.linspace(0.0, 0.6, 16, dtype=torch.float64)
fitting.Target(times, draw_on_ground(large, times, {"gust.strength": found["gust.strength"]}))
