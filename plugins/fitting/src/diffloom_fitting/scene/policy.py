"""A controller: a network that decides what a control does, told the time or what it sees."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from diffloom.interfaces import Control, InputError, Model, Params, State
from diffloom.validation import suggest_name

if TYPE_CHECKING:
    from diffloom_fitting.scene.scene import Scene

POLICY_PREFIX = "policy."


@dataclass(frozen=True)
class Sinusoids:
    """``phases`` sines of one ``frequency`` [Hz], evenly apart in phase: what a policy is told of the time."""

    phases: int = 8
    frequency: float = 1.0

    def __call__(self, times: Tensor) -> Tensor:
        """(steps, phases) of times (steps,) [s]."""
        shift = torch.arange(self.phases, dtype=times.dtype) * (2.0 * math.pi / self.phases)
        return torch.sin(2.0 * math.pi * self.frequency * times[:, None] + shift)


class Observation(ABC):
    """What a closed-loop policy sees. Implementations are frozen dataclasses."""

    @property
    def count(self) -> int:
        """How many observations the module is shown at once, side by side along axis 1, the newest last: one image
        does not tell how fast things move, two do."""
        return 1

    @abstractmethod
    def observed(self, scene: Scene, state: State, params: Params, values: Mapping[str, Tensor]) -> Tensor:
        """(1, ...): what is seen of ``state``, differentiable with respect to it, ``params`` and ``values``."""


@dataclass(frozen=True)
class Policy:
    """A torch module that drives one control of the model.

    drives: name of a parameter that may change per step. module: (rows, features) -> (rows, *shape of a row), any
    ``torch.nn.Module``; its weights become unknowns. Open loop, ``features`` turn the times (steps,) [s] into
    (steps, features). Closed loop, ``observe`` says what the module sees of the state, every ``every`` steps; what it
    answers holds until it sees again.
    """

    drives: str
    module: nn.Module
    features: Callable[[Tensor], Tensor] = Sinusoids()
    observe: Observation | None = None
    every: int = 1

    def weights(self, dtype: torch.dtype) -> dict[str, Tensor]:
        """The module's weights by the names they have as unknowns, such as "policy.0.weight"."""
        return {POLICY_PREFIX + name: value.detach().to(dtype) for name, value in self.module.named_parameters()}

    def control(self, values: Mapping[str, Tensor], dt: float, steps: int, dtype: torch.dtype) -> Control:
        """Open loop, the control for every step, differentiable with respect to the weights in ``values``."""
        times = torch.arange(steps, dtype=dtype) * dt
        return Control({self.drives: self.act(values, self.features(times))})

    def act(self, values: Mapping[str, Tensor], seen: Tensor) -> Tensor:
        """(rows, *shape of a row): what the module makes of what it is told, with the weights in ``values``."""
        weights = self.weights(seen.dtype) | {k: v for k, v in values.items() if k.startswith(POLICY_PREFIX)}
        named = {name.removeprefix(POLICY_PREFIX): value for name, value in weights.items()}
        made: Tensor = torch.func.functional_call(self.module, named, (seen,))
        return made

    def check(self, model: Model) -> Policy:
        """Itself, or InputError when the model has no such control."""
        find_driven_shape(model, self.drives)
        if self.every < 1:
            raise InputError(f"policy: got every={self.every}; expected 1 or more steps between two observations")
        return self


def find_driven_shape(model: Model, drives: str) -> tuple[int, ...]:
    """The shape of a row of the control that a policy drives; InputError when the model has none of that name."""
    controls = {spec.name: spec for spec in model.specs if spec.per_step}
    if drives not in controls:
        raise InputError(
            f"policy.drives: got {drives!r}{suggest_name(drives, controls) or ';'} this model's controls are: "
            f"{', '.join(controls) or 'none'}"
        )
    return controls[drives].full_shape(model.axes)


def update_memory(past: tuple[Tensor, ...], now: Tensor, count: int) -> tuple[Tensor, tuple[Tensor, ...]]:
    """What a module is shown with ``now`` the newest of ``count`` observations, and the past of the next one."""
    if count == 1:
        return now, ()
    kept = (*(past or (now,) * (count - 1)), now)
    return torch.cat(kept, dim=1), kept[1:]
