"""The Jacobian of the implicit equation, assembled exactly from the adjoints of the terms.

An element's force depends on its own nodes only. Giving every element private copies of its nodes lets one evaluation
of the adjoint yield one row of every element's Jacobian at once, so a dozen cotangents make the whole matrix. Nodes
that touch each other are coloured, so that cotangents of one colour reach no node twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.mechanics.binding import Compiled
from diffloom.mechanics.evaluation import Evaluation

Blocks = NDArray[np.float64]


class ForceJacobian:
    """Derivative of the force with respect to q and u as sparse block matrices, for the terms of known structure.

    Plain PyTorch terms, and terms over found pairs that do not name their ``neighbours``, are left out; ``complete``
    says whether there are none.
    """

    def __init__(self, system: Compiled, tensors: Sequence[Tensor], has_torch_terms: bool, dt: float) -> None:
        self._law = system.law
        parts = system.split(tensors)
        known = [k for k, n in enumerate(system.nodes) if n.neighbours is not None or not n.stages]
        self._known = tuple(system.nodes[k] for k in known)
        self.complete = not has_torch_terms and len(known) == len(system.nodes)
        self._elements = [
            (term.nodes, _private(system, k, parts, dt)) for k, term in enumerate(system.elements) if term.count
        ]
        flat = [t for group in (parts[0], *(parts[1 + len(system.elements) + k] for k in known)) for t in group]
        self._nodes = Evaluation(Compiled(system.law, (), self._known), (), flat, dt, True) if known else None

    def blocks(self, k: int, q: Tensor, u: Tensor) -> tuple[NDArray[np.int64], NDArray[np.int64], Blocks, Blocks]:
        """Row nodes, column nodes, and the blocks dF/dq (n, du, dq) and dF/du (n, du, du)."""
        rows: list[NDArray[Any]] = []
        columns: list[NDArray[Any]] = []
        by_q: list[Blocks] = []
        by_u: list[Blocks] = []
        for nodes, evaluation in self._elements:
            count, corners = nodes.shape
            index = torch.from_numpy(nodes.reshape(-1).astype(np.int64))
            a, b = self._probe_elements(evaluation, k, q[index], u[index], count, corners)
            rows.append(np.repeat(nodes, corners, axis=1).reshape(-1))
            columns.append(np.tile(nodes, (1, corners)).reshape(-1))
            by_q.append(a)
            by_u.append(b)
        if self._nodes is not None:
            i, j, a, b = self._probe_nodes(self._nodes, k, q, u)
            rows.append(i)
            columns.append(j)
            by_q.append(a)
            by_u.append(b)
        if not rows:
            none = np.zeros(0, np.int64)
            return none, none, np.zeros((0, self._law.du, self._law.dq)), np.zeros((0, self._law.du, self._law.du))
        return (
            np.concatenate(rows).astype(np.int64), np.concatenate(columns).astype(np.int64),
            np.concatenate(by_q), np.concatenate(by_u),
        )  # fmt: skip

    def _probe_elements(
        self, evaluation: Evaluation, k: int, q: Tensor, u: Tensor, count: int, corners: int
    ) -> tuple[Blocks, Blocks]:
        """Blocks (count * corners * corners, du, ...): force on corner a by the state of corner b."""
        du = self._law.du
        units = torch.zeros((corners, du, count, corners, du), dtype=u.dtype)
        for a in range(corners):
            for c in range(du):
                units[a, c, :, a, c] = 1.0
        found = evaluation.force_adjoint(k, q, u, units.view(corners * du, count * corners, du), keep=False)
        by_q, by_u = (
            f.view(corners, du, count, corners, -1).permute(2, 0, 3, 1, 4).reshape(count * corners**2, du, -1).numpy()
            for f in found
        )
        return by_q, by_u

    def _probe_nodes(
        self, evaluation: Evaluation, k: int, q: Tensor, u: Tensor
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Blocks, Blocks]:
        """Rows, columns and blocks of the node terms: each node by itself and by the neighbours it may touch."""
        du, count = self._law.du, len(q)
        pairs = [n.neighbours(q.numpy()) for n in self._known if n.neighbours is not None]
        ends = np.concatenate([np.zeros((0, 2), np.int64), *pairs])
        rows = np.concatenate([np.arange(count), ends[:, 0], ends[:, 1]])
        columns = np.concatenate([np.arange(count), ends[:, 1], ends[:, 0]])
        colour = colours(count, ends)
        shades = int(colour.max(initial=0)) + 1
        units = torch.zeros((shades, du, count, du), dtype=u.dtype)
        for c in range(du):
            units[colour, c, np.arange(count), c] = 1.0
        found = evaluation.force_adjoint(k, q, u, units.view(shades * du, count, du), keep=False)
        by_q, by_u = (f.view(shades, du, count, -1).numpy()[colour[rows], :, columns] for f in found)
        return rows, columns, by_q, by_u


def colours(count: int, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """A colour for each node such that two of one colour are no neighbours and have none in common."""
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


def _private(system: Compiled, number: int, parts: list[tuple[Any, ...]], dt: float) -> Evaluation:
    """The evaluation of one element term whose elements have nodes of their own."""
    term = system.elements[number]
    index = torch.from_numpy(term.nodes.reshape(-1).astype(np.int64))
    arrays = tuple((name, t.detach()[index]) for (name, _), t in zip(system.law.arrays, parts[0], strict=True))
    nodes = np.arange(term.nodes.size, dtype=np.int32).reshape(term.nodes.shape)
    params = tuple((name, t) for (name, _), t in zip(term.params, parts[1 + number], strict=True))
    private = Compiled(replace(system.law, arrays=arrays), (replace(term, nodes=nodes, params=params),), ())
    return Evaluation(private, (), private.tensors, dt, True)


def step_blocks(evaluation: Evaluation, k: int, q: Tensor, u: Tensor, f: Tensor) -> tuple[Blocks, Blocks]:
    """Derivative of one explicit step with respect to its force, per node: (nodes, dq, du) and (nodes, du, du)."""
    dq, du = q.shape[1], u.shape[1]
    a, b = q.new_zeros((dq + du, *q.shape)), u.new_zeros((dq + du, *u.shape))
    for c in range(dq):
        a[c, :, c] = 1.0
    for c in range(du):
        b[dq + c, :, c] = 1.0
    adj_f = evaluation.step_adjoint(k, q, u, f, a, b, keep=False)[2].numpy().transpose(1, 0, 2)
    return adj_f[:, :dq], adj_f[:, dq:]
