"""Policies: networks that drive a control, from the time or from observations."""

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
    """Features of the time: sines with equal distances in phase.

    Args:
        phases: Number of sines.
        frequency: Their frequency [Hz].
    """

    phases: int = 8
    frequency: float = 1.0

    def __call__(self, times: Tensor) -> Tensor:
        """Return the sines (steps, phases) at times (steps,) [s]."""
        shift = torch.arange(self.phases, dtype=times.dtype) * (2.0 * math.pi / self.phases)
        return torch.sin(2.0 * math.pi * self.frequency * times[:, None] + shift)


class Observation(ABC):
    """Input of a closed-loop policy. Implementations are frozen dataclasses."""

    @property
    def count(self) -> int:
        """Number of observations that the module receives at once, along axis 1, the newest last; two images show
        velocity.
        """
        return 1

    @abstractmethod
    def observe(self, scene: Scene, state: State, params: Params, values: Mapping[str, Tensor]) -> Tensor:
        """Observe a state.

        Args:
            scene: The scene.
            state: The state.
            params: Parameters of the model.
            values: Unknowns by name.

        Returns:
            (1, ...), differentiable with respect to state, parameters and unknowns.
        """


@dataclass(frozen=True)
class Policy:
    """A torch module that drives one control of the model.

    Args:
        drives: Name of a parameter that may change per step.
        module: Any ``torch.nn.Module`` from (rows, features) to (rows, *shape of a row); its weights become unknowns.
        features: Open loop: function from times (steps,) [s] to features (steps, features).
        observe: Closed loop: observation of the state.
        every: Steps between two observations, during which the control is constant.
    """

    drives: str
    module: nn.Module
    features: Callable[[Tensor], Tensor] = Sinusoids()
    observe: Observation | None = None
    every: int = 1

    def weights(self, dtype: torch.dtype) -> dict[str, Tensor]:
        """Return the module's weights by their names as unknowns, such as "policy.0.weight".

        Args:
            dtype: Precision.

        Returns:
            Weights by name.
        """
        return {POLICY_PREFIX + name: value.detach().to(dtype) for name, value in self.module.named_parameters()}

    def control(self, values: Mapping[str, Tensor], dt: float, steps: int, dtype: torch.dtype) -> Control:
        """Compute the open-loop control of every step.

        Args:
            values: Weights by name.
            dt: Time step [s].
            steps: Number of steps.
            dtype: Precision.

        Returns:
            The control, differentiable with respect to the weights.
        """
        times = torch.arange(steps, dtype=dtype) * dt
        return Control({self.drives: self.act(values, self.features(times))})

    def act(self, values: Mapping[str, Tensor], seen: Tensor) -> Tensor:
        """Evaluate the module.

        Args:
            values: Weights by name.
            seen: (rows, ...), features or observations.

        Returns:
            (rows, *shape of a row).
        """
        weights = self.weights(seen.dtype) | {k: v for k, v in values.items() if k.startswith(POLICY_PREFIX)}
        named = {name.removeprefix(POLICY_PREFIX): value for name, value in weights.items()}
        made: Tensor = torch.func.functional_call(self.module, named, (seen,))
        return made

    def check(self, model: Model) -> Policy:
        """Raise InputError unless the model has the driven control.

        Args:
            model: The model.

        Returns:
            The policy.
        """
        find_driven_shape(model, self.drives)
        if self.every < 1:
            raise InputError(f"policy: got every={self.every}; expected 1 or more steps between two observations")
        return self


def find_driven_shape(model: Model, drives: str) -> tuple[int, ...]:
    """Return the shape of a row of the control that a policy drives.

    Args:
        model: The model.
        drives: Name of the control.

    Returns:
        The shape.

    Raises:
        InputError: The model has no control of this name.
    """
    controls = {spec.name: spec for spec in model.specs if spec.per_step}
    if drives not in controls:
        raise InputError(
            f"policy.drives: got {drives!r}{suggest_name(drives, controls) or ';'} this model's controls are: "
            f"{', '.join(controls) or 'none'}"
        )
    return controls[drives].full_shape(model.axes)


def shape_rows(model: Model, drives: str, rows: Tensor) -> Tensor:
    """Return the output of a module in the shape of the control that it drives.

    Args:
        model: The model.
        drives: Name of the control.
        rows: (rows, ...), flat or in the control's own shape.

    Returns:
        Rows that broadcast to the control's shape.

    Raises:
        InputError: The output has another number of entries.
    """
    shape = find_driven_shape(model, drives)
    if rows.dim() == 2 and len(shape) > 1 and rows.shape[1] == math.prod(shape):
        return rows.reshape(-1, *shape)
    own = tuple(rows.shape[1:])
    if len(own) > len(shape) or any(n not in (1, want) for n, want in zip(own[::-1], shape[::-1], strict=False)):
        raise InputError(
            f"policy: the module makes rows of shape {own}; expected {shape} for the control {drives!r}, or "
            f"{math.prod(shape)} numbers"
        )
    return rows


def update_memory(past: tuple[Tensor, ...], now: Tensor, count: int) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Add an observation to those that a module receives.

    Args:
        past: Earlier observations.
        now: The newest observation.
        count: Number of observations that the module receives.

    Returns:
        Input of the module, and the past of the next observation.
    """
    if count == 1:
        return now, ()
    kept = (*(past or (now,) * (count - 1)), now)
    return torch.cat(kept, dim=1), kept[1:]
