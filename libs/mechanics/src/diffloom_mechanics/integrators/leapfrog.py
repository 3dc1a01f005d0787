"""Leapfrog, also called velocity Verlet: half a kick, a drift, half a kick."""

from __future__ import annotations

from dataclasses import dataclass

from diffloom.interfaces import Dynamics, Gradient, Integrator, State, Trajectory
from diffloom_mechanics.explicit import Target
from diffloom_mechanics.schemes import moves
from diffloom_mechanics.trajectories import explicit_rollout, refuses_all_but_mechanics

SCHEME = moves((0.5, 1.0), (0.5, 0.0))


@dataclass(frozen=True)
class Leapfrog(Integrator):
    """u' = u + dt/2 M^-1 f(q, u), q+ = q (+) dt u', u+ = u' + dt/2 M^-1 f(q+, u').

    Of second order, symplectic and reversible where forces do not depend on velocities; of first order in those that
    do, such as damping. Two evaluations of the forces a step. target: as for semi_implicit.
    """

    target: Target = "auto"

    def refuses(self, dynamics: Dynamics) -> str | None:
        return refuses_all_but_mechanics("leapfrog", dynamics)

    def rollout(
        self, dynamics: Dynamics, state: State, *, dt: float, steps: int, save: tuple[int, ...], gradient: Gradient
    ) -> Trajectory:
        return explicit_rollout(
            SCHEME, dynamics, state, dt=dt, steps=steps, save=save, gradient=gradient, target=self.target
        )
