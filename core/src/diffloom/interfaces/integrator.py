"""What a model hands to an integrator, how a rollout is differentiated, and the interface of an integrator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from diffloom.errors import InputError
from diffloom.interfaces.state import State, Trajectory


class Dynamics(ABC):
    """A system ready to be advanced: parameters are bound. ``diffloom_mechanics.Mechanics`` (masses and force
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


@dataclass(frozen=True)
class StoreAll:
    """Keep every state: fastest backward; memory grows with the number of steps."""


@dataclass(frozen=True)
class Checkpointed:
    """Keep one state per segment and recompute the rest backwards.

    segment: steps per segment; or memory: bytes the stored states may take. With neither, segments of about the
    square root of the number of steps, which takes the least memory. Gradients are bit-for-bit those of StoreAll.
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
    """Forward only: nothing is kept but the frames asked for."""


Gradient = StoreAll | Checkpointed | NoGradient


class Integrator(ABC):
    """Advances any dynamics it supports, over a whole rollout, with gradients. Implementations are frozen
    dataclasses whose fields are the settings (tolerances and the like).

    expected_failures: checks of the conformance suite that cannot pass, each with its reason.
    """

    expected_failures: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def refuses(self, dynamics: Dynamics) -> str | None:
        """Why this integrator cannot advance ``dynamics``, or None when it can."""

    @abstractmethod
    def rollout(
        self, dynamics: Dynamics, state: State, *, dt: float, steps: int, save: tuple[int, ...], gradient: Gradient
    ) -> Trajectory:
        """``steps`` steps of ``dt`` [s] from ``state``.

        save: increasing step counts to keep, of 0 (the start) to ``steps``; the trajectory holds exactly these.
        gradient: how the result is differentiated with respect to the state and everything bound in ``dynamics``.
        """
