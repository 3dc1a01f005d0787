"""The Jacobian of the implicit equation, assembled exactly from the adjoints of the terms.

An element's force depends on its own nodes only. Giving every element private copies of its nodes lets one evaluation
of the adjoint yield one row of every element's Jacobian at once, so a dozen evaluations make the whole matrix.
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

    Terms over pairs found on the way and plain PyTorch terms are left out; ``complete`` says whether there are none.
    """

    def __init__(self, system: Compiled, tensors: Sequence[Tensor], has_torch_terms: bool, dt: float) -> None:
        self._law = system.law
        parts = system.split(tensors)
        local = tuple(n for n in system.nodes if not n.stages)
        self.complete = not has_torch_terms and len(local) == len(system.nodes)
        self._elements = [
            (term.nodes, _private(system, k, parts, dt)) for k, term in enumerate(system.elements) if term.count
        ]
        kept = [parts[1 + len(system.elements) + k] for k, n in enumerate(system.nodes) if not n.stages]
        flat = [t for group in (parts[0], *kept) for t in group]
        self._nodes = Evaluation(Compiled(system.law, (), local), (), flat, dt, True) if local else None

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
            a, b = self._probe_nodes(self._nodes, k, q, u)
            rows.append(np.arange(len(q)))
            columns.append(np.arange(len(q)))
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
        du, dq = self._law.du, self._law.dq
        by_q = np.zeros((count, corners, corners, du, dq))
        by_u = np.zeros((count, corners, corners, du, du))
        unit = torch.zeros_like(u).view(count, corners, du)
        for a in range(corners):
            for c in range(du):
                unit.zero_()
                unit[:, a, c] = 1.0
                adj_q, adj_u = evaluation.force_adjoint(k, q, u, unit.view(-1, du), keep=False)
                by_q[:, a, :, c, :] = adj_q.view(count, corners, dq).numpy()
                by_u[:, a, :, c, :] = adj_u.view(count, corners, du).numpy()
        return by_q.reshape(-1, du, dq), by_u.reshape(-1, du, du)

    def _probe_nodes(self, evaluation: Evaluation, k: int, q: Tensor, u: Tensor) -> tuple[Blocks, Blocks]:
        du, dq = self._law.du, self._law.dq
        by_q, by_u = np.zeros((len(q), du, dq)), np.zeros((len(q), du, du))
        for c in range(du):
            unit = torch.zeros_like(u)
            unit[:, c] = 1.0
            adj_q, adj_u = evaluation.force_adjoint(k, q, u, unit, keep=False)
            by_q[:, c, :], by_u[:, c, :] = adj_q.numpy(), adj_u.numpy()
        return by_q, by_u


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
    of_q, of_u = np.zeros((len(q), dq, du)), np.zeros((len(q), du, du))
    for c in range(dq + du):
        a, b = torch.zeros_like(q), torch.zeros_like(u)
        (a if c < dq else b)[:, c if c < dq else c - dq] = 1.0
        adj_f = evaluation.step_adjoint(k, q, u, f, a, b, keep=False)[2].numpy()
        if c < dq:
            of_q[:, c, :] = adj_f
        else:
            of_u[:, c - dq, :] = adj_f
    return of_q, of_u
