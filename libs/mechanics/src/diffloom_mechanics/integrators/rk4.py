"""The classical Runge-Kutta scheme of fourth order."""

from __future__ import annotations

from dataclasses import dataclass

from diffloom.interfaces import Dynamics, Gradient, Integrator, State, Trajectory
from diffloom_mechanics.explicit import Target
from diffloom_mechanics.schemes import tableau
from diffloom_mechanics.trajectories import explicit_rollout, refuses_all_but_mechanics

SCHEME = tableau([[0.5], [0.0, 0.5], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6])


@dataclass(frozen=True)
class RungeKutta4(Integrator):
    """Four evaluations of the forces a step, for smooth motion to high accuracy, damping included.

    Of fourth order, not symplectic; contact that sets in within a step lowers the order. target: as for semi_implicit.
    """

    target: Target = "auto"

    def refuses(self, dynamics: Dynamics) -> str | None:
        return refuses_all_but_mechanics("rk4", dynamics, rates=True)

    def rollout(
        self, dynamics: Dynamics, state: State, *, dt: float, steps: int, save: tuple[int, ...], gradient: Gradient
    ) -> Trajectory:
        return explicit_rollout(
            SCHEME, dynamics, state, dt=dt, steps=steps, save=save, gradient=gradient, target=self.target
        )
