"""Jacobian of the implicit equation, assembled exactly from the adjoints of the terms.

An element's force depends on its own nodes only. With private copies of the nodes for every element, one evaluation of
the adjoint yields one row of every element's Jacobian, so a dozen cotangents make the whole matrix. Nodes that touch
each other are coloured, so that cotangents of one colour reach no node twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom_mechanics.binding import CompiledSystem, isolate_elements
from diffloom_mechanics.evaluation import SystemEvaluation
from diffloom_mechanics.schemes import Move
from diffloom_mechanics.stepper import Tensors
from diffloom_mechanics.terms import ElementTerm, NodeTerm

Values = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True)
class Blocks:
    """Derivatives of forces on nodes ``rows`` of set ``of`` by the state of nodes ``columns`` of set ``by``.

    by_q: (n, du, dq). by_u: (n, du, du).
    """

    of: int
    by: int
    rows: Index
    columns: Index
    by_q: Values
    by_u: Values


class ForceJacobian:
    """Derivative of the force by q and u as sparse blocks, for the terms of known structure.

    Plain PyTorch terms, and terms over pairs found at run time that do not name their ``neighbours``, are left out;
    ``complete`` is True if there are none.
    """

    def __init__(self, system: CompiledSystem, tensors: Sequence[Tensor], has_torch_terms: bool, dt: float) -> None:
        self._system = system
        known = [
            k for k, n in enumerate(system.nodes) if n.reads is None and (n.neighbours is not None or not n.stages)
        ]
        self._known: tuple[NodeTerm, ...] = tuple(system.nodes[k] for k in known)
        self.complete = not has_torch_terms and len(known) == len(system.nodes)
        self._elements: list[tuple[ElementTerm, SystemEvaluation]] = []
        for number, term in enumerate(system.elements):
            if term.count:
                private = isolate_elements(system, number, tensors)
                self._elements.append((term, SystemEvaluation(private, (), private.tensors, dt, True)))
        parts = system.split(tensors)
        sets = parts[: len(system.sets)]
        own = [parts[len(system.sets) + len(system.elements) + k] for k in known]
        flat = [t for group in (*sets, *own) for t in group]
        self._nodes = (
            SystemEvaluation(CompiledSystem(system.sets, (), self._known), (), flat, dt, True) if known else None
        )

    def blocks(self, k: int, q: Tensors, u: Tensors, at: float) -> Iterator[Blocks]:
        """Yield all blocks at a state; places may repeat."""
        for term, evaluation in self._elements:
            yield from self._of_elements(term, evaluation, k, q, u, at)
        if self._nodes is not None:
            for n in range(len(self._system.sets)):
                terms = [t for t in self._known if self._system.index(t.on) == n]
                if terms:
                    yield self._of_nodes(n, terms, k, q, u, at)

    def _of_elements(
        self, term: ElementTerm, evaluation: SystemEvaluation, k: int, q: Tensors, u: Tensors, at: float
    ) -> Iterator[Blocks]:
        """Yield the derivatives of the force on each corner by the state of each corner."""
        count = term.count
        sets = [self._system.index(name) for name in term.corners]
        corners = list(term.corners.values())
        index = [torch.from_numpy(nodes.reshape(-1).astype(np.int64)) for nodes in corners]
        place = [len(self._system.sets) + k for k, t in enumerate(self._system.remembering) if t is term]
        here_q = (*(q[n][i] for n, i in zip(sets, index, strict=True)), *(q[n] for n in place))
        here_u = tuple(u[n][i] for n, i in zip(sets, index, strict=True))
        for e, (n, nodes) in enumerate(zip(sets, corners, strict=True)):
            du, width = u[n].shape[1], nodes.shape[1]
            units = [torch.zeros((width * du, *v.shape), dtype=v.dtype) for v in here_u]
            own = units[e].view(width, du, count, width, du)
            for a in range(width):
                for c in range(du):
                    own[a, c, :, a, c] = 1.0
            found_q, found_u = evaluation.force_adjoint(k, here_q, here_u, tuple(units), keep=False, at=at)
            for b, (other, others) in enumerate(zip(sets, corners, strict=True)):
                wide = others.shape[1]
                by_q, by_u = (
                    f.view(width, du, count, wide, -1)
                    .permute(2, 0, 3, 1, 4)
                    .reshape(count * width * wide, du, -1)
                    .numpy()
                    for f in (found_q[b], found_u[b])
                )
                rows = np.repeat(nodes, wide, axis=1).reshape(-1).astype(np.int64)
                columns = np.tile(others, (1, width)).reshape(-1).astype(np.int64)
                yield Blocks(n, other, rows, columns, by_q, by_u)

    def _of_nodes(self, n: int, terms: list[NodeTerm], k: int, q: Tensors, u: Tensors, at: float) -> Blocks:
        """Return the derivatives of the node terms of a set: each node by its own state and by those of its
        neighbours.
        """
        assert self._nodes is not None
        count, du = u[n].shape
        pairs = [t.neighbours(q[n].numpy()) for t in terms if t.neighbours is not None]
        ends = np.concatenate([np.zeros((0, 2), np.int64), *pairs])
        rows = np.concatenate([np.arange(count), ends[:, 0], ends[:, 1]])
        columns = np.concatenate([np.arange(count), ends[:, 1], ends[:, 0]])
        colour = colour_nodes(count, ends)
        shades = int(colour.max(initial=0)) + 1
        units = [torch.zeros((shades * du, *v.shape), dtype=v.dtype) for v in u]
        own = units[n].view(shades, du, count, du)
        for c in range(du):
            own[colour, c, np.arange(count), c] = 1.0
        known = [j for j, t in enumerate(self._system.remembering) if any(t is other for other in self._known)]
        q = (*q[: len(u)], *(q[len(u) + j] for j in known))
        found = self._nodes.force_adjoint(k, q, u, tuple(units), keep=False, at=at)
        by_q, by_u = (f[n].view(shades, du, count, -1).numpy()[colour[rows], :, columns] for f in found)
        return Blocks(n, n, rows, columns, by_q, by_u)


def colour_nodes(count: int, pairs: Index) -> Index:
    """Return a colour for each node. Two nodes of one colour are no neighbours and have none in common."""
    found = np.zeros(count, np.int64)
    if not len(pairs):
        return found
    near: list[set[int]] = [{i} for i in range(count)]
    for i, j in pairs.tolist():
        near[i].add(j)
        near[j].add(i)
    for i in range(count):
        taken = {int(found[m]) for j in near[i] for m in near[j] if m < i}
        found[i] = next(c for c in range(count) if c not in taken)
    return found


def move_blocks(
    evaluation: SystemEvaluation, k: int, moves: tuple[Move, ...], q: Tensors, u: Tensors, f: Tensors
) -> list[tuple[Values, Values]]:
    """Return the derivatives of the state after some moves by the force, per node: (nodes, dq, du), (nodes, du, du)."""
    q = q[: len(u)]
    most = max(x.shape[1] + v.shape[1] for x, v in zip(q, u, strict=True))
    a = tuple(x.new_zeros((most, *x.shape)) for x in q)
    b = tuple(v.new_zeros((most, *v.shape)) for v in u)
    for n, (x, v) in enumerate(zip(q, u, strict=True)):
        for c in range(x.shape[1]):
            a[n][c, :, c] = 1.0
        for c in range(v.shape[1]):
            b[n][x.shape[1] + c, :, c] = 1.0
    adj_f = evaluation.move_adjoint(k, moves, (q, u), f, (a, b), keep=False)[2]
    found = []
    for x, v, adj in zip(q, u, adj_f, strict=True):
        rows = adj.numpy().transpose(1, 0, 2)
        found.append((rows[:, : x.shape[1]], rows[:, x.shape[1] : x.shape[1] + v.shape[1]]))
    return found
