"""Explicit schemes over whole segments: compiled without Python between steps, or step by step with PyTorch terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from diffloom_kernels import BoundRecord
from diffloom_mechanics.binding import Binding, CompiledSystem, Gradients
from diffloom_mechanics.evaluation import SystemEvaluation
from diffloom_mechanics.pipelines import ROLLOUTS, cotangents, states
from diffloom_mechanics.records import FrameRecord, States, Steps
from diffloom_mechanics.schemes import Move, PointCotangents, Tableau, TableauPoints
from diffloom_mechanics.stepper import FrameCotangents, Segment, Stepper, Tensors

ExecutionTarget = Literal["auto", "serial", "parallel", "cuda"]
Scheme = tuple[Move, ...] | Tableau


class CompiledStepper(Stepper):
    """Stepper that runs a whole segment as one call of compiled code."""

    keeps_nothing = True
    updates_memory = True

    def __init__(
        self,
        system: CompiledSystem,
        scheme: Scheme,
        tensors: Sequence[Tensor],
        dt: float,
        needed: Sequence[bool] = (),
        target: ExecutionTarget = "auto",
    ) -> None:
        """Bind the system.

        Args:
            system: Node sets and compiled terms.
            scheme: Moves or a tableau.
            tensors: Values of the system's tensors.
            dt: Step length [s].
            needed: Flags of the gradients that are asked for; they decide if forces are recomputed backwards.
            target: "auto", "serial", "parallel" or "cuda".
        """
        self._system, self._dt, self._target = system, dt, target
        self._binding = Binding(system, tensors, needed or [False] * len(tensors))
        self._gradients: Gradients | None = None
        like = tensors[0]
        self._fixed = BoundRecord(scheme, like)
        if isinstance(scheme, Tableau):
            count = len(scheme.b)
            self._forward, self._backward = "tableau_rollout", "tableau_rollout_adjoint"
            self._passes = 2 * count
            points = TableauPoints(
                tuple(states(system, like) for _ in range(count - 1)), tuple(states(system, like) for _ in range(count))
            )
            self._between = BoundRecord(points)
            back = PointCotangents(
                cotangents(system, like, memory=False), tuple(states(system, like) for _ in range(count))
            )
            self._extra: tuple[Any, ...] = (BoundRecord(back),)
        else:
            waits = self._binding.force_matters or system.has_stages or system.remembering
            joined = len(scheme) == 1 and not waits
            self._forward = "split_rollout"
            self._backward = "joined_rollout_adjoint" if joined else "split_rollout_adjoint"
            self._passes = len(scheme)
            self._between = BoundRecord(tuple(states(system, like) for _ in scheme[:-1]))
            self._extra = ()

    def advance(self, segment: Segment) -> None:
        if segment.count:
            rows = States(segment.q, segment.u)
            self._run(self._forward, self._steps(segment), self._fixed, rows, self._between, self._binding.bound,
                      passes=segment.count * self._passes)  # fmt: skip

    def advance_adjoint(self, segment: Segment, frames: FrameCotangents, adj_q: Tensors, adj_u: Tensors) -> None:
        if not segment.count:
            return
        if self._gradients is None:
            self._gradients = self._binding.gradients()
        adj = cotangents(self._system, adj_q[0])
        for wide, given in zip((*adj.q, *adj.u), (*adj_q, *adj_u), strict=True):
            wide[:, : given.shape[1]] = given
        of_step = frames.of_step[segment.k0 : segment.k0 + segment.count + 1]
        rows = States(segment.q, segment.u)
        # A backward step is twice the work of a forward one, but a second thread speeds up less of it.
        self._run(
            self._backward, self._steps(segment), self._fixed, rows, self._between,
            FrameRecord(of_step, frames.q, frames.u), adj, *self._extra, self._binding.bound, self._gradients.bound,
            passes=segment.count * self._passes, effort=1.6,
        )  # fmt: skip
        for wide, given in zip((*adj.q, *adj.u), (*adj_q, *adj_u), strict=True):
            given.copy_(wide[:, : given.shape[1]])

    def _steps(self, segment: Segment) -> Steps:
        return Steps(segment.count, segment.k0, self._dt)

    def _run(self, pipeline: str, *args: Any, passes: int, effort: float = 1.0) -> None:
        """Run a pipeline with threads for the work of all passes."""
        ROLLOUTS.run(
            pipeline, *args, target=self._target, work=effort * self._system.work, passes=passes,
            label=self._system.label,
        )  # fmt: skip

    def gradients(self) -> list[Tensor | None]:
        if self._gradients is None:
            return [None] * len(self._system.tensors)
        return list(self._gradients.flat())


class SplitStepper(Stepper):
    """Stepper of splitting schemes with Python between the moves, for systems with PyTorch terms: the same numbers."""

    updates_memory = True

    def __init__(self, scheme: tuple[Move, ...], evaluation: SystemEvaluation) -> None:
        self._scheme, self._at = scheme, evaluation

    def _path(self, k: int, q: Tensors, u: Tensors) -> list[tuple[Tensors, Tensors, Tensors]]:
        """Return state and force at the start of each move, and the state after all moves."""
        path = []
        for move in self._scheme:
            f = self._at.force(k, q, u, move.at) if move.kicks else tuple(torch.zeros_like(v) for v in u)
            path.append((q, u, f))
            q, u = self._at.move(k, (move,), q, u, f)
        return [*path, (q, u, ())]

    def advance(self, segment: Segment) -> None:
        for j in range(segment.count):
            start = segment.state(j)
            q, u, _ = self._path(segment.k0 + j, *start)[-1]
            q = self._at.remember(segment.k0 + j, start[0], q, u)
            for row, value in zip((*segment.q, *segment.u), (*q, *u), strict=True):
                row[segment.row(j + 1)] = value

    def advance_adjoint(self, segment: Segment, frames: FrameCotangents, adj_q: Tensors, adj_u: Tensors) -> None:
        for j in range(segment.count - 1, -1, -1):
            k = segment.k0 + j
            start = segment.state(j)
            self._at.remember_adjoint(k, start[0], *segment.state(j + 1), adj_q, adj_u)
            path = self._path(k, *start)[:-1]
            for move, (q, u, f) in reversed(list(zip(self._scheme, path, strict=True))):
                a, b, adj_f = self._at.move_adjoint(k, (move,), (q, u), f, (adj_q, adj_u))
                for total, direct in zip((*adj_q, *adj_u), (*a, *b), strict=True):
                    total.copy_(direct)
                if move.kicks:
                    a, b = self._at.force_adjoint(k, q, u, adj_f, at=move.at)
                    for total, through in zip((*adj_q, *adj_u), (*a, *b), strict=True):
                        total.add_(through)
            frames.inject(k, adj_q, adj_u)

    def gradients(self) -> list[Tensor | None]:
        return self._at.gradients()


class TableauStepper(Stepper):
    """Stepper of Runge-Kutta schemes with Python between the stages, for systems with PyTorch terms: the same
    numbers.
    """

    updates_memory = True

    def __init__(self, scheme: Tableau, evaluation: SystemEvaluation) -> None:
        self._scheme, self._at = scheme, evaluation

    def _points(
        self, k: int, q: Tensors, u: Tensors
    ) -> tuple[list[tuple[Tensors, Tensors, Tensors]], Tensors, Tensors]:
        """Return point and force of each stage, and the end of the step before it is projected."""
        points: list[tuple[Tensors, Tensors, Tensors]] = []
        rates: list[tuple[Tensors, Tensors]] = []
        for weights, at in zip(self._scheme.a, self._scheme.c, strict=True):
            here_q, here_u = self._combine(q, u, weights, rates)
            f = self._at.force(k, here_q, here_u, at)
            points.append((here_q, here_u, f))
            rates.append(self._at.rates(here_q, here_u, f))
        return points, *self._combine(q, u, self._scheme.b, rates)

    def _combine(
        self, q: Tensors, u: Tensors, weights: tuple[float | None, ...], rates: list[tuple[Tensors, Tensors]]
    ) -> tuple[Tensors, Tensors]:
        """Return a state plus dt times the weighted rates."""
        for weight, (rate_q, rate_u) in zip(weights, rates, strict=False):
            if weight is not None:
                q = tuple(x + self._at.dt * weight * r for x, r in zip(q, rate_q, strict=True))
                u = tuple(v + self._at.dt * weight * r for v, r in zip(u, rate_u, strict=True))
        return q, u

    def advance(self, segment: Segment) -> None:
        for j in range(segment.count):
            start = segment.state(j)
            _, q, u = self._points(segment.k0 + j, *start)
            q = self._at.remember(segment.k0 + j, start[0], self._at.project(q), u)
            for row, value in zip((*segment.q, *segment.u), (*q, *u), strict=True):
                row[segment.row(j + 1)] = value

    def advance_adjoint(self, segment: Segment, frames: FrameCotangents, adj_q: Tensors, adj_u: Tensors) -> None:
        dt, places = self._at.dt, len(adj_q)
        for j in range(segment.count - 1, -1, -1):
            k = segment.k0 + j
            start = segment.state(j)
            self._at.remember_adjoint(k, start[0], *segment.state(j + 1), adj_q, adj_u)
            points, q_end, _ = self._points(k, *start)
            adj = (*adj_q, *adj_u)
            for total, value in zip(adj_q, self._at.project_adjoint(q_end, adj_q), strict=True):
                total.copy_(value)
            of_rates = [tuple(dt * (weight or 0.0) * a for a in adj) for weight in self._scheme.b]
            for s in range(len(points) - 1, -1, -1):
                q, u, f = points[s]
                a, b, adj_f = self._at.rates_adjoint(q, u, f, (of_rates[s][:places], of_rates[s][places:]))
                c, d = self._at.force_adjoint(k, q, u, adj_f, at=self._scheme.c[s])
                point = tuple(x + y for x, y in zip((*a, *b), (*c, *d), strict=True))
                for total, part in zip(adj, point, strict=True):
                    total += part
                for r, weight in enumerate(self._scheme.a[s]):
                    if weight is not None:
                        of_rates[r] = tuple(x + dt * weight * y for x, y in zip(of_rates[r], point, strict=True))
            frames.inject(k, adj_q, adj_u)

    def gradients(self) -> list[Tensor | None]:
        return self._at.gradients()
