"""Small scenes of one system side by side, one per SIMD lane: the layout of their numbers, and the stepper that runs
them.

A tensor (scenes, nodes, ...) becomes (blocks, nodes, ..., lanes). A last block that is not full repeats the last scene,
without gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numba import config
from torch import Tensor

from diffloom_kernels import BoundRecord, Const
from diffloom_kernels.simd import LANE_BYTES
from diffloom_mechanics.binding import CompiledSystem, build_kind
from diffloom_mechanics.explicit import ExecutionTarget, Scheme
from diffloom_mechanics.pipelines import ROLLOUTS
from diffloom_mechanics.records import (
    FrameRecord,
    Grads,
    NodesGrads,
    NodesRecord,
    NodeTermRecord,
    StateCotangents,
    States,
    Steps,
    SystemRecord,
)
from diffloom_mechanics.schemes import Tableau
from diffloom_mechanics.stepper import FrameCotangents, Segment, Stepper, Tensors
from diffloom_mechanics.terms import NodeTerm

#: Least number of scenes. Fewer are run as copies, because most lanes of their block would be empty.
LEAST_SCENES = 4
#: Most nodes of a scene: eight larger scenes at once would overflow the caches.
MOST_NODES = 16


def can_run_in_lanes(system: CompiledSystem, scheme: Scheme, scenes: int, like: Tensor) -> bool:
    """Return True if scenes of a system can run side by side.

    They can on the CPU, with a few nodes whose functions do not branch on data, and without elements.
    """
    if isinstance(scheme, Tableau) or system.scenes > 1 or scenes < LEAST_SCENES or like.device.type != "cpu":
        return False
    if system.elements or system.has_stages or system.remembering or config.DISABLE_JIT:
        return False
    small = sum(nodes.count for _, nodes in system.sets) <= MOST_NODES
    return small and all(nodes.lanes for _, nodes in system.sets) and all(term.lanes for term in system.nodes)


def count_lanes(dtype: torch.dtype) -> int:
    """Return the number of scenes per block."""
    return LANE_BYTES // dtype.itemsize


def interleave_scenes(value: Tensor, axis: int = 0) -> Tensor:
    """Return (scenes, ...) as (blocks, ..., lanes), with the first ``axis`` axes after scenes in front.
    Differentiable.
    """
    lanes = count_lanes(value.dtype)
    rest = -len(value) % lanes
    if rest:
        value = torch.cat([value, value[-1:].detach().expand(rest, *value.shape[1:])])
    blocks: Tensor = value.unflatten(0, (-1, lanes)).movedim(1, -1)
    return (blocks.movedim(0, axis) if axis else blocks).contiguous()


def separate_scenes(value: Tensor, scenes: int, axis: int = 0) -> Tensor:
    """Return (..., blocks, ..., lanes), blocks after ``axis`` axes, as (..., scenes, ...): the inverse of
    interleave_scenes.
    """
    return value.movedim(-1, axis + 1).flatten(axis, axis + 1).narrow(axis, 0, scenes)


@dataclass(frozen=True)
class InterleavedScenes:
    """Several scenes of a system, with the position of the axis of scenes in each tensor."""

    system: CompiledSystem
    scenes: int

    def tensors(self, rows: Sequence[Tensor]) -> list[Tensor]:
        """Return the system's tensors, scenes first, in the layout of the kernels."""
        return [self._lay_out(value, shared, axis) for value, (shared, axis) in zip(rows, self._kinds(), strict=True)]

    @staticmethod
    def _lay_out(value: Tensor, shared: bool, axis: int) -> Tensor:
        """Return one tensor in the layout of the kernels."""
        return value[0].detach().contiguous() if shared else interleave_scenes(value, axis)

    def _kinds(self) -> list[tuple[bool, int]]:
        """Return, for each tensor, if all scenes share it, and the number of axes before that of nodes."""
        kinds = [(name in nodes.shared, 0) for _, nodes in self.system.sets for name, _ in nodes.arrays]
        return kinds + [(False, int(name in term.per_step)) for term in self.system.nodes for name, _ in term.params]


class LaneStepper(Stepper):
    """Stepper that runs a whole segment of many scenes side by side as one call of compiled code, by a splitting
    scheme.
    """

    keeps_nothing = True

    def __init__(
        self,
        many: InterleavedScenes,
        scheme: Scheme,
        tensors: Sequence[Tensor],
        dt: float,
        needed: Sequence[bool] = (),
        target: ExecutionTarget = "auto",
    ) -> None:
        self._many, self._dt, self._target = many, dt, target
        self._tensors = [t.detach() for t in tensors]
        like = self._tensors[0]
        self._lanes = count_lanes(like.dtype)
        self._blocks = -(-many.scenes // self._lanes)
        asked = many.system.split(needed or [False] * len(tensors))
        self._record = BoundRecord(self._system(asked))
        self._scheme = BoundRecord(scheme, like)
        self._between = BoundRecord(tuple(self._state(like) for _ in scheme[:-1]))
        self._grads: list[Tensor] | None = None
        self._adjoints: BoundRecord | None = None

    def _system(self, asked: list[tuple[bool, ...]]) -> SystemRecord:
        """Return the record of the system."""
        system, parts = self._many.system, self._many.system.split(self._tensors)
        first = len(system.sets)
        sets = []
        for n, (_, nodes) in enumerate(system.sets):
            terms = [
                self._term(term, parts[first + k]) for k, term in enumerate(system.nodes) if system.index(term.on) == n
            ]
            sets.append(
                NodesRecord(
                    Const(n), build_kind(nodes, asked[n]), nodes.count, parts[n], None, None, tuple(terms), None
                )
            )
        return SystemRecord(tuple(sets), (), ())

    def _term(self, term: NodeTerm, params: tuple[Tensor, ...]) -> NodeTermRecord:
        """Return the record of a node term."""
        system, like = self._many.system, self._tensors[0]
        constants = [torch.from_numpy(np.require(c, requirements=["C", "W"])) for c in term.constants]
        return NodeTermRecord(
            term.force,
            term.adjoint,
            (*(c.to(like.dtype) if c.is_floating_point() else c for c in constants), *params),
            tuple(like.new_zeros((self._blocks, *shape, self._lanes)) for shape, _ in term.work),
            None if term.only is None else torch.from_numpy(np.ascontiguousarray(term.only)),
            None if term.reads is None else Const(system.index(term.reads)),
            (),
            (),
            (),
        )

    def _state(self, like: Tensor) -> States:
        """Return memory for one state of all scenes."""

        def make(width: str) -> Tensors:
            sets = [nodes for _, nodes in self._many.system.sets]
            return tuple(like.new_zeros((self._blocks, s.count, getattr(s, width), self._lanes)) for s in sets)

        return States(make("dq"), make("du"))

    def advance(self, segment: Segment) -> None:
        if segment.count:
            self._run("lanes_rollout", segment, 1.0, self._between, self._record)

    def advance_adjoint(self, segment: Segment, frames: FrameCotangents, adj_q: Tensors, adj_u: Tensors) -> None:
        if not segment.count:
            return
        if self._adjoints is None:
            self._grads = [torch.zeros_like(t) for t in self._tensors]
            self._adjoints = BoundRecord(self._cotangents(self._grads))
        of_step = frames.of_step[segment.k0 : segment.k0 + segment.count + 1]
        adj = StateCotangents(adj_q, adj_u, tuple(torch.zeros_like(u) for u in adj_u))
        self._run(
            "lanes_rollout_adjoint", segment, 3.0, self._between, FrameRecord(of_step, frames.q, frames.u), adj,
            self._record, self._adjoints,
        )  # fmt: skip

    def _cotangents(self, grads: list[Tensor]) -> Grads:
        """Return the gradients as a record."""
        system, parts = self._many.system, self._many.system.split(grads)
        first = len(system.sets)
        return Grads(
            tuple(
                NodesGrads(
                    parts[n],
                    tuple(parts[first + k] for k, term in enumerate(system.nodes) if system.index(term.on) == n),
                )
                for n in range(first)
            ),
            (),
        )

    def _run(self, pipeline: str, segment: Segment, effort: float, *args: object) -> None:
        """Run a pipeline over all blocks."""
        steps, rows = Steps(segment.count, segment.k0, self._dt), States(segment.q, segment.u)
        # One pass holds all steps: threads distribute blocks, with one barrier at the end.
        work = effort * self._lanes * self._blocks * segment.count * self._many.system.work
        ROLLOUTS.run(
            pipeline, self._blocks, steps, self._scheme, rows, *args, target=self._target, work=work, passes=1,
            label=self._many.system.label,
        )  # fmt: skip

    def gradients(self) -> list[Tensor | None]:
        return [None] * len(self._tensors) if self._grads is None else list(self._grads)
