"""A small network for a policy that a file describes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from diffloom.interfaces import InputError, Model
from diffloom_fitting.scene.policy import Policy, Sinusoids


class Rows(nn.Module):
    """``scale`` tanh(x), each row in the shape of a control's row."""

    def __init__(self, shape: tuple[int, ...], scale: float) -> None:
        super().__init__()
        self.shape, self.scale = shape, scale

    def forward(self, x: Tensor) -> Tensor:
        """(steps, numbers) -> (steps, *shape)."""
        return self.scale * torch.tanh(x).reshape(len(x), *self.shape)


def network_policy(
    model: Model, drives: str, phases: int, frequency: float, hidden: Sequence[int], scale: float, seed: int
) -> Policy:
    """A policy whose network has layers of ``hidden`` widths with tanh between, and ends in ``scale`` tanh.

    drives: a control of ``model``. phases, frequency [Hz]: the sines it is told. seed: of its first weights.
    """
    controls = {spec.name: spec for spec in model.specs if spec.per_step}
    if drives not in controls:
        raise InputError(
            f"policy.drives: got {drives!r}; this model's controls are: {', '.join(sorted(controls)) or 'none'}"
        )
    shape = controls[drives].full_shape(model.axes)
    widths = [phases, *hidden, int(torch.Size(shape).numel())]
    layers: list[nn.Module] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), nn.Tanh()]
    return Policy(drives, nn.Sequential(*layers[:-1], Rows(shape, scale)), Sinusoids(phases, frequency))
