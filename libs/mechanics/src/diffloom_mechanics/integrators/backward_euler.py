"""Backward Euler: implicit in the forces, for stiff material and large steps."""

from __future__ import annotations

from dataclasses import dataclass

from diffloom.interfaces import Dynamics, Gradient, Integrator, State, Trajectory
from diffloom_mechanics.implicit import ImplicitScheme
from diffloom_mechanics.schemes import moves
from diffloom_mechanics.trajectories import implicit_rollout, refuses_all_but_mechanics

STEP = moves((1.0, 1.0))


@dataclass(frozen=True)
class BackwardEuler(Integrator):
    """u+ = u + dt M^-1 f(q+, u+, t+), q+ = q (+) dt u+, solved by Newton's method with an exact sparse Jacobian and a
    line search; the gradient takes one transposed solve a step, by the implicit function theorem.

    Of first order, stable at any dt, and damps motion the more the larger dt is. It computes in float64 inside,
    whatever the model's precision. tolerance: accepted velocity mismatch relative to the fastest node (or 1 m/s).
    iterations: Newton steps before it gives up with SimulationError.
    """

    tolerance: float = 1e-11
    iterations: int = 60

    def refuses(self, dynamics: Dynamics) -> str | None:
        return refuses_all_but_mechanics("backward_euler", dynamics)

    def rollout(
        self, dynamics: Dynamics, state: State, *, dt: float, steps: int, save: tuple[int, ...], gradient: Gradient
    ) -> Trajectory:
        scheme = ImplicitScheme("backward Euler", STEP, STEP, self.tolerance, self.iterations, dt)
        return implicit_rollout(scheme, dynamics, state, steps=steps, save=save, gradient=gradient)
