"""A force of your own: plain PyTorch, given to a model that does not know it. A whirl turns a net."""

import sys

import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom.fixed_order import broadcast
from diffloom.interfaces import ParamSpec
from diffloom_mechanics import ForceTerm, TorchTerm, WithTerms
from diffloom_studio import draw_on_ground, write_video


class Whirl(ForceTerm):
    """A force around the vertical, as strong as the distance from it."""

    @property
    def specs(self):
        return (ParamSpec("strength", 0.3, "N/m", "force per distance"),)

    @classmethod
    def refuses(cls, nodes):
        return None if nodes.name == "particles" else "the whirl turns particles"

    def term(self, name, params, context):
        def force(clock, q, u, strength):
            return strength[:, None] * torch.stack([q[:, 2], torch.zeros_like(q[:, 0]), -q[:, 0]], dim=1)

        return TorchTerm(name, force, (("strength", broadcast(params["strength"], (context.count,))),), context.on)


star = [[0, 0.5, 0], [0.4, 0.5, 0], [0, 0.5, 0.4], [-0.4, 0.5, 0], [0, 0.5, -0.4]]
net = get_model("springs")(star, [[0, k] for k in range(1, 5)] + [[1, 2], [2, 3], [3, 4], [4, 1]], radius=0.09)
model = WithTerms(net, {"whirl": Whirl()})
view = fitting.Orbit(distance=1.9, elevation=30, target=(0, 0.25, 0), size=(240, 320), fov=42)
shown = fitting.Appearance(pattern="position", shading="phong")
scene = fitting.Scene(model, get_renderer("coverage")(), view, model.params(), dt=2e-3, steps=450, appearance=shown)
write_video((sys.argv + ["own_term.webp"])[1], draw_on_ground(scene, torch.linspace(0.0, 0.9, 36)), rate=20)
