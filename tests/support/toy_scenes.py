"""A scene of the toys, the truth of its videos, and noise in them."""

from dataclasses import replace

import fitting_toys as toys
import torch

from diffloom_fitting import Appearance, Orbit, Scene


def toy_scene(dtype=torch.float64, count=1, steps=10, **values):
    model = toys.ToyModel(count)
    return Scene(
        model, toys.ToyRenderer(sigma=2.0), Orbit(5.0, 10.0, size=(16, 16)), model.params(dtype, **values), 0.04,
        steps, toys.ToySteps(), appearance=Appearance((0.9, 0.6, 0.3)),
    )  # fmt: skip


TRUTH = {"gravity": 6.0, "drag": 0.8}
START = {"gravity": 8.0, "drag": 0.5}


def noisy(target, level=0.01, seed=0):
    noise = torch.randn(target.frames.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return replace(target, frames=target.frames + level * noise)
