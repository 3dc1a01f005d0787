"""Semi-implicit Euler compiled over whole segments: no Python between steps."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from diffloom.mechanics.binding import Binding, Compiled, Gradients
from diffloom.mechanics.programs import program_of
from diffloom.mechanics.stepper import FrameCotangents, Segment, Stepper


class FusedStepper(Stepper):
    """Runs the generated rollout of a compiled system."""

    keeps_nothing = True

    def __init__(
        self, system: Compiled, tensors: Sequence[Tensor], dt: float, needed: Sequence[bool] = (), target: str = "auto"
    ) -> None:
        """needed: for each tensor, whether its gradient is asked for; decides if forces are recomputed backwards."""
        self._system, self._dt, self._target = system, dt, target
        self._binding = Binding(system, tensors)
        self._program = program_of(system)
        self._gradients: Gradients | None = None
        wanted = {name for (name, _), need in zip(system.law.arrays, needed, strict=False) if need}
        by = system.law.force_needed_by
        with_force = by is None or bool(wanted & set(by))
        self._adjoint = "rollout_adjoint_with_force" if with_force else "rollout_adjoint"

    def advance(self, segment: Segment) -> None:
        if segment.count:
            rows = (segment.q, segment.u)
            self._program.run(
                "rollout", segment.count, segment.k0, self._dt, *rows, *self._binding.common,
                target=self._target, work=self._system.work, passes=segment.count,
            )  # fmt: skip

    def pull_back(self, segment: Segment, frames: FrameCotangents, adj_q: Tensor, adj_u: Tensor) -> None:
        if not segment.count:
            return
        if self._gradients is None:
            self._gradients = self._binding.gradients()
        pair_q, pair_u = self._pair(adj_q), self._pair(adj_u)
        of_step = frames.of_step[segment.k0 : segment.k0 + segment.count + 1]
        # Twice the work of a step forward, but less of it gains by a second thread.
        self._program.run(
            self._adjoint, segment.count, segment.k0, self._dt, segment.q, segment.u, of_step, frames.q, frames.u,
            pair_q, pair_u, torch.zeros_like(pair_u[0]), *self._binding.common, *self._gradients.args,
            target=self._target, work=1.6 * self._system.work, passes=segment.count,
        )  # fmt: skip
        adj_q.copy_(pair_q[segment.count % 2, :, : adj_q.shape[1]])
        adj_u.copy_(pair_u[segment.count % 2, :, : adj_u.shape[1]])

    def _pair(self, start: Tensor) -> Tensor:
        """Two cotangents, the first a copy of ``start``; rows of three are widened to four, a register each."""
        nodes, columns = start.shape
        pair = start.new_zeros((2, nodes, 4 if columns == 3 else columns))
        pair[0, :, :columns] = start
        return pair

    def gradients(self) -> list[Tensor | None]:
        if self._gradients is None:
            return [None] * len(self._system.tensors)
        return list(self._gradients.flat())
