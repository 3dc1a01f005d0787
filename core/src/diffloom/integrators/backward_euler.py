"""Backward Euler: implicit in the forces, for stiff material and large steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from diffloom.integrators.implicit import ImplicitStepper, NewtonSettings
from diffloom.integrators.trajectories import roll
from diffloom.interfaces import Dynamics, Gradient, InputError, Integrator, State, Trajectory
from diffloom.mechanics.stepper import Stepper
from diffloom.mechanics.system import Mechanics


@dataclass(frozen=True)
class BackwardEuler(Integrator):
    """u+ = u + dt M^-1 f(q+, u+, t), q+ = q (+) dt u+, solved by Newton's method with an exact sparse Jacobian and a
    line search; the gradient takes one transposed solve a step, by the implicit function theorem.

    Stable at any dt, and damps motion the more the larger dt is. It computes in float64 inside, whatever the model's
    precision. tolerance: accepted velocity mismatch relative to the fastest node (or 1 m/s). iterations: Newton steps
    before it gives up with SimulationError.
    """

    tolerance: float = 1e-11
    iterations: int = 60

    def refuses(self, dynamics: Dynamics) -> str | None:
        if isinstance(dynamics, Mechanics):
            return None
        return f"backward_euler advances mechanics (masses and forces); this model brings {dynamics.kind!r}"

    def rollout(
        self, dynamics: Dynamics, state: State, *, dt: float, steps: int, save: tuple[int, ...], gradient: Gradient
    ) -> Trajectory:
        if not isinstance(dynamics, Mechanics):
            raise InputError(str(self.refuses(dynamics)))
        system, settings = dynamics, NewtonSettings(self.tolerance, self.iterations, dt)

        def make(tensors: Sequence[Tensor], needed: Sequence[bool]) -> Stepper:
            return ImplicitStepper(system, tensors, settings)

        return roll(self, system, make, state, dt=dt, steps=steps, save=save, gradient=gradient)
