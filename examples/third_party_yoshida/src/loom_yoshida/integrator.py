"""Yoshida's composition of three leapfrog steps, also found by Forest and Ruth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from diffloom.interfaces import Dynamics, Gradient, Integrator, State, Trajectory
from diffloom_mechanics import ExecutionTarget, moves, refuse_unless_mechanics, run_explicit_rollout

# Three leapfrog steps of lengths w1, w0, w1 cancel leapfrog's error of third order: 2 w1 + w0 = 1, 2 w1^3 + w0^3 = 0.
W1 = 1.0 / (2.0 - 2.0 ** (1.0 / 3.0))
W0 = 1.0 - 2.0 * W1
# Half a kick ends one leapfrog step and half a kick starts the next, at the same place: both are one.
SCHEME = moves((0.5 * W1, W1), (0.5 * (W1 + W0), W0), (0.5 * (W0 + W1), W1), (0.5 * W1, 0.0))


@final
@dataclass(frozen=True)
class Yoshida(Integrator):
    """Scheme of fourth order, symplectic and reversible for forces that depend on places alone; of first order in
    forces that depend on velocities, such as damping. The middle step runs backwards in time.

    Four evaluations of the forces a step. target: "auto", "serial", "parallel" or "cuda".

    H. Yoshida, Construction of higher order symplectic integrators, Physics Letters A 150 (1990), 262-268.
    """

    order: ClassVar[int | None] = 4
    target: ExecutionTarget = "auto"

    def refuses(self, dynamics: Dynamics) -> str | None:
        return refuse_unless_mechanics("yoshida", dynamics)

    def rollout(
        self, dynamics: Dynamics, state: State, *, dt: float, steps: int, save: tuple[int, ...], gradient: Gradient
    ) -> Trajectory:
        return run_explicit_rollout(
            SCHEME, dynamics, state, dt=dt, steps=steps, save=save, gradient=gradient, target=self.target
        )
