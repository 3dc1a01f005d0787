"""Dynamics of a model, gradient policies of a rollout, and the interface of an integrator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from diffloom.errors import InputError
from diffloom.interfaces.state import State, Trajectory


class Dynamics(ABC):
    """System ready to be advanced, with its parameters bound.

    ``diffloom_mechanics.Mechanics`` (masses and force terms, compiled or plain PyTorch) is the usual kind;
    ``CustomStep`` is for systems with a step of their own.
    """

    @property
    @abstractmethod
    def kind(self) -> str:
        """Word by which integrators recognise the kind, such as "mechanics" or "custom_step"."""


@dataclass(frozen=True)
class CustomStep(Dynamics):
    """Differentiable map from one state to the next, in plain PyTorch or with adjoints of its own.

    Args:
        step: ``step(k, dt, state)`` returns the next state; k counts steps from 0, dt is in seconds, and parameters and
            controls are bound.
        inputs: Bound tensors that may need a gradient.
    """

    step: Callable[[int, float, State], State]
    inputs: tuple[Tensor, ...] = ()

    @property
    def kind(self) -> str:
        """ "custom_step"."""
        return "custom_step"


@dataclass(frozen=True)
class StoreAll:
    """Gradient policy: keep every state. Fastest backward pass; memory grows with the number of steps."""


@dataclass(frozen=True)
class Checkpointed:
    """Gradient policy: keep one state per segment, and recompute the remaining states in the backward pass.

    Gradients are bit for bit those of StoreAll. With neither argument segments have about the square root of the number
    of steps, which needs the least memory.

    Args:
        segment: Steps per segment.
        memory: Limit of the memory of stored states [bytes], instead of ``segment``.
    """

    segment: int | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        if self.segment is not None and self.memory is not None:
            raise InputError("Checkpointed: got both segment and memory; give one of them")
        if self.segment is not None and self.segment < 1:
            raise InputError(f"Checkpointed: got segment={self.segment}; expected 1 or more steps")
        if self.memory is not None and self.memory < 1:
            raise InputError(f"Checkpointed: got memory={self.memory}; expected a number of bytes")


@dataclass(frozen=True)
class NoGradient:
    """Gradient policy: forward pass only; nothing is kept but the saved frames."""


Gradient = StoreAll | Checkpointed | NoGradient


class Integrator(ABC):
    """Time integrator, which advances the dynamics it supports over a whole rollout, with gradients.

    Implementations are frozen dataclasses whose fields are the settings (tolerances and the like).

    Attributes:
        order: Order of accuracy for smooth forces that depend on places alone, which the conformance suite measures;
            None if it depends on the model.
        expected_failures: Reasons by the name of each check of the conformance suite that cannot pass.
    """

    order: ClassVar[int | None] = None
    expected_failures: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def refuses(self, dynamics: Dynamics) -> str | None:
        """Return why this integrator cannot advance ``dynamics``; None if it can.

        Args:
            dynamics: System of a model.

        Returns:
            Reason, or None.
        """

    @abstractmethod
    def rollout(
        self, dynamics: Dynamics, state: State, *, dt: float, steps: int, save: tuple[int, ...], gradient: Gradient
    ) -> Trajectory:
        """Advance ``state`` by equal steps.

        Args:
            dynamics: System to advance.
            state: Start state.
            dt: Length of a step [s].
            steps: Number of steps.
            save: Increasing step counts to save, from 0 (the start) to ``steps``.
            gradient: Policy for gradients with respect to the state and all values bound in ``dynamics``.

        Returns:
            Trajectory of exactly the saved states.
        """
