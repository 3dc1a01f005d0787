"""Semi-implicit Euler: explicit in the forces, with the new velocity moving the nodes."""

from __future__ import annotations

from dataclasses import dataclass

from diffloom.interfaces import Dynamics, Gradient, Integrator, State, Trajectory
from diffloom_mechanics.explicit import Target
from diffloom_mechanics.schemes import moves
from diffloom_mechanics.trajectories import explicit_rollout, refuses_all_but_mechanics

SCHEME = moves((1.0, 1.0))


@dataclass(frozen=True)
class SemiImplicitEuler(Integrator):
    """u+ = u + dt M^-1 f(q, u, t), then q+ = q (+) dt u+: one kick, one drift.

    Symplectic and fast; of first order; stable while dt is small against the stiffest oscillation. Systems of compiled
    terms run compiled over the whole rollout. target: "auto", "serial", "parallel" or "cuda".
    """

    target: Target = "auto"

    def refuses(self, dynamics: Dynamics) -> str | None:
        return refuses_all_but_mechanics("semi_implicit", dynamics)

    def rollout(
        self, dynamics: Dynamics, state: State, *, dt: float, steps: int, save: tuple[int, ...], gradient: Gradient
    ) -> Trajectory:
        return explicit_rollout(
            SCHEME, dynamics, state, dt=dt, steps=steps, save=save, gradient=gradient, target=self.target
        )
