"""Semi-implicit Euler step by step, for systems with plain PyTorch terms."""

from __future__ import annotations

from torch import Tensor

from diffloom.mechanics.evaluation import Evaluation
from diffloom.mechanics.stepper import FrameCotangents, Segment, Stepper


class StepwiseStepper(Stepper):
    """The same scheme as the fused one, with Python between the steps."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._at = evaluation

    def advance(self, segment: Segment) -> None:
        for j in range(segment.count):
            a, b, k = segment.row(j), segment.row(j + 1), segment.k0 + j
            q, u = segment.q[a], segment.u[a]
            segment.q[b], segment.u[b] = self._at.step(k, q, u, self._at.force(k, q, u))

    def pull_back(self, segment: Segment, frames: FrameCotangents, adj_q: Tensor, adj_u: Tensor) -> None:
        for j in range(segment.count - 1, -1, -1):
            q, u, k = segment.q[j], segment.u[j], segment.k0 + j
            f = self._at.force(k, q, u)
            direct_q, direct_u, adj_f = self._at.step_adjoint(k, q, u, f, adj_q, adj_u)
            through_q, through_u = self._at.force_adjoint(k, q, u, adj_f)
            adj_q.copy_(direct_q + through_q)
            adj_u.copy_(direct_u + through_u)
            inject(frames, k, adj_q, adj_u)

    def gradients(self) -> list[Tensor | None]:
        return self._at.gradients()


def inject(frames: FrameCotangents, k: int, adj_q: Tensor, adj_u: Tensor) -> None:
    """Add the cotangent of the frame saved at step k, if there is one."""
    frame = int(frames.of_step[k])
    if frame >= 0:
        adj_q += frames.q[frame]
        adj_u += frames.u[frame]
