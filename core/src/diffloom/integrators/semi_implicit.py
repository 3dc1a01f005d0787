"""Semi-implicit Euler: explicit in the forces, with the new velocity moving the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from diffloom.integrators.trajectories import roll
from diffloom.interfaces import Dynamics, Gradient, InputError, Integrator, State, Trajectory
from diffloom.mechanics.fused import FusedStepper
from diffloom.mechanics.stepper import Stepper
from diffloom.mechanics.stepwise import StepwiseStepper
from diffloom.mechanics.system import Mechanics


@dataclass(frozen=True)
class SemiImplicitEuler(Integrator):
    """u+ = u + dt M^-1 f(q, u, t), then q+ = q (+) dt u+, with the node law's own update of coordinates.

    Symplectic and fast; stable while dt is small against the stiffest oscillation. Systems of compiled terms run fused
    over the whole rollout. target: "auto", "serial", "parallel" or "cuda".
    """

    target: Literal["auto", "serial", "parallel", "cuda"] = "auto"

    def refuses(self, dynamics: Dynamics) -> str | None:
        if isinstance(dynamics, Mechanics):
            return None
        return f"semi_implicit advances mechanics (masses and forces); this model brings {dynamics.kind!r}"

    def rollout(
        self, dynamics: Dynamics, state: State, *, dt: float, steps: int, save: tuple[int, ...], gradient: Gradient
    ) -> Trajectory:
        if not isinstance(dynamics, Mechanics):
            raise InputError(str(self.refuses(dynamics)))
        system = dynamics

        def make(tensors: Sequence[Tensor], needed: Sequence[bool]) -> Stepper:
            if system.torch_terms:
                return StepwiseStepper(system.evaluation(tensors, dt))
            return FusedStepper(system.compiled, tensors, dt, needed, self.target)

        return roll(self, system, make, state, dt=dt, steps=steps, save=save, gradient=gradient)
