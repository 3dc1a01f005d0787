"""The interface of an integrator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from diffloom.interfaces.dynamics import Dynamics
from diffloom.interfaces.gradient import Gradient
from diffloom.interfaces.state import State, Trajectory


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
