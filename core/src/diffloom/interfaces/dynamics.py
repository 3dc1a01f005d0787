"""What a model hands to an integrator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from diffloom.interfaces.state import State


class Dynamics(ABC):
    """A system ready to be advanced: parameters are bound. ``diffloom.dynamics.Mechanics`` (masses and force
    terms, compiled or plain PyTorch) is the usual kind; ``CustomStep`` is for systems with a step of their own."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """A word an integrator can match on, such as "mechanics" or "custom_step"."""


@dataclass(frozen=True)
class CustomStep(Dynamics):
    """A differentiable map from one state to the next, in plain PyTorch or with adjoints of its own.

    step(k, dt, state) -> state, where k counts steps from 0 and dt is in seconds; parameters and controls are bound
    into it. inputs: every tensor bound in that may need a gradient.
    """

    step: Callable[[int, float, State], State]
    inputs: tuple[Tensor, ...] = ()

    @property
    def kind(self) -> str:
        return "custom_step"
