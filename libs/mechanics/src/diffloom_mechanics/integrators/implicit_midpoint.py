"""The implicit midpoint rule: the force in the middle of a step, where it leads itself."""

from __future__ import annotations

from dataclasses import dataclass

from diffloom.interfaces import Dynamics, Gradient, Integrator, State, Trajectory
from diffloom_mechanics.implicit import ImplicitScheme
from diffloom_mechanics.schemes import moves
from diffloom_mechanics.trajectories import implicit_rollout, refuses_all_but_mechanics

TO_MIDDLE = moves((0.5, 0.5))
TO_END = moves((0.5, 1.0), (0.5, 0.0))


@dataclass(frozen=True)
class ImplicitMidpoint(Integrator):
    """u+ = u + dt M^-1 f(q~, u~), q+ = q (+) dt u~ with the state q~, u~ halfway, solved as in backward_euler.

    Of second order, stable at any dt for linear forces, and without damping of its own: oscillation too fast for dt
    goes on instead of dying out. tolerance, iterations: as for backward_euler.
    """

    tolerance: float = 1e-11
    iterations: int = 60

    def refuses(self, dynamics: Dynamics) -> str | None:
        return refuses_all_but_mechanics("implicit_midpoint", dynamics)

    def rollout(
        self, dynamics: Dynamics, state: State, *, dt: float, steps: int, save: tuple[int, ...], gradient: Gradient
    ) -> Trajectory:
        scheme = ImplicitScheme("implicit midpoint", TO_MIDDLE, TO_END, self.tolerance, self.iterations, dt)
        return implicit_rollout(scheme, dynamics, state, steps=steps, save=save, gradient=gradient)
