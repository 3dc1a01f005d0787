"""A controller: a small network, given the time, decides what a control does at every step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from diffloom.interfaces import Control, InputError, Model

PREFIX = "policy."


@dataclass(frozen=True)
class Sinusoids:
    """``phases`` sines of one ``frequency`` [Hz], evenly apart in phase: what a policy is told of the time."""

    phases: int = 8
    frequency: float = 1.0

    def __call__(self, times: Tensor) -> Tensor:
        """(steps, phases) of times (steps,) [s]."""
        shift = torch.arange(self.phases, dtype=times.dtype) * (2.0 * math.pi / self.phases)
        return torch.sin(2.0 * math.pi * self.frequency * times[:, None] + shift)


@dataclass(frozen=True)
class Policy:
    """A torch module that turns features of the time into one control of the model.

    drives: name of a parameter that may change per step. module: (steps, features) -> (steps, *shape of a row), any
    ``torch.nn.Module``; its weights become unknowns. features: (steps,) times [s] -> (steps, features).
    """

    drives: str
    module: nn.Module
    features: Callable[[Tensor], Tensor] = Sinusoids()

    def weights(self, dtype: torch.dtype) -> dict[str, Tensor]:
        """The module's weights by the names they have as unknowns, such as "policy.0.weight"."""
        return {PREFIX + name: value.detach().to(dtype) for name, value in self.module.named_parameters()}

    def control(self, values: Mapping[str, Tensor], dt: float, steps: int, dtype: torch.dtype) -> Control:
        """The control for every step, differentiable with respect to the weights in ``values``."""
        weights = self.weights(dtype) | {k: v for k, v in values.items() if k.startswith(PREFIX)}
        times = torch.arange(steps, dtype=dtype) * dt
        named = {name.removeprefix(PREFIX): value for name, value in weights.items()}
        out = torch.func.functional_call(self.module, named, (self.features(times),))
        return Control({self.drives: out})

    def check(self, model: Model) -> Policy:
        """Itself, or InputError when the model has no such control."""
        controls = [spec.name for spec in model.specs if spec.per_step]
        if self.drives not in controls:
            raise InputError(
                f"policy drives {self.drives!r}; this model's controls are: {', '.join(controls) or 'none'}"
            )
        return self
