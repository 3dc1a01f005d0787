"""The arrays of a mechanical system as the generated schedules take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from diffloom.mechanics.gather import gather_of, pad_rows, padded
from diffloom.mechanics.law import NodeLaw
from diffloom.mechanics.terms import ElementTerm, NodeTerm


@dataclass(frozen=True)
class Compiled:
    """The compiled part of a system: a law and terms, with the order in which their tensors are passed around."""

    law: NodeLaw
    elements: tuple[ElementTerm, ...]
    nodes: tuple[NodeTerm, ...]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Every differentiable tensor: the law's arrays, then each term's params."""
        return tuple(t for group in self._groups() for _, t in group)

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each of ``tensors``."""
        owners: tuple[NodeLaw | ElementTerm | NodeTerm, ...] = (self.law, *self.elements, *self.nodes)
        return tuple(f"{o.name}.{n}" for o, group in zip(owners, self._groups(), strict=True) for n, _ in group)

    def _groups(self) -> list[tuple[tuple[str, Tensor], ...]]:
        return [self.law.arrays, *(t.params for t in self.elements), *(t.params for t in self.nodes)]

    def split(self, tensors: Sequence[Any]) -> list[tuple[Any, ...]]:
        """A flat sequence, ordered as ``tensors``, as one tuple per owner."""
        parts, start = [], 0
        for group in self._groups():
            parts.append(tuple(tensors[start : start + len(group)]))
            start += len(group)
        return parts

    @property
    def work(self) -> float:
        """Rough time of the largest forward pass on one core [ns], by which threads are chosen."""
        return 12.0 * max(sum(term.count for term in self.elements), self.law.count)


class Binding:
    """Arrays bound for one run: padded parameters, slots, workspaces. One rollout owns one binding."""

    def __init__(self, system: Compiled, tensors: Sequence[Tensor]) -> None:
        self.system = system
        like = tensors[0]
        self.dtype, self.device = like.dtype, like.device
        gather = gather_of(system.elements, system.law.count)
        width = system.law.slot
        rows = tuple(self._zeros(gather.rows + 1, width) for _ in range(3))
        parts = system.split([t.detach() for t in tensors])
        self.law = tuple(t.contiguous() for t in parts[0])
        common: list[Any] = [(self._index(gather.starts), self._index(gather.slots)), rows, self.law]
        for k, (term, params) in enumerate(zip(system.elements, parts[1:], strict=False)):
            offset = gather.offsets[k]
            common.append((self._index(gather.nodes[k]), *self._element(term, params)))
            size = padded(term.count) * term.nodes.shape[1]
            shape = (padded(term.count), term.nodes.shape[1], width)
            common.append(tuple(r[offset : offset + size].view(shape) for r in rows))
        counts: list[tuple[int, ...]] = []
        for node, params in zip(system.nodes, parts[1 + len(system.elements) :], strict=True):
            if node.constants or node.params:
                common.append((*map(self._constant, node.constants), *(t.contiguous() for t in params)))
            if node.work:
                common.append(tuple(self._workspace(shape, kind) for shape, kind in node.work))
            if node.stages or node.adjoint_stages:
                counts.append(tuple(s.count for s in (*node.stages, *node.adjoint_stages)))
        self.common = (*common, *counts)

    def _zeros(self, *shape: int) -> Tensor:
        if self.device.type == "cpu":
            # Not torch.zeros: above some size it would start torch's threads, which then wait at the cost of ours.
            return torch.from_numpy(np.zeros(shape, np.float32 if self.dtype == torch.float32 else np.float64))
        return torch.zeros(shape, dtype=self.dtype, device=self.device)

    def _index(self, array: np.ndarray[Any, Any]) -> Tensor:
        return torch.from_numpy(array).to(self.device)

    def _constant(self, array: np.ndarray[Any, Any]) -> Tensor:
        tensor = torch.from_numpy(np.ascontiguousarray(array)).to(self.device)
        return tensor.to(self.dtype) if tensor.is_floating_point() else tensor

    def _workspace(self, shape: tuple[int, ...], kind: str) -> Tensor:
        return torch.zeros(shape, dtype=self.dtype if kind == "float" else torch.int32, device=self.device)

    def _element(self, term: ElementTerm, params: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        names = [name for name, _ in term.params]
        return (
            *(by_column(pad(self._constant(c), term.count)) for c in term.constants),
            *(self._param(term, name, t) for name, t in zip(names, params, strict=True)),
        )

    @staticmethod
    def _param(term: ElementTerm, name: str, value: Tensor) -> Tensor:
        if name in term.per_step and value.dim() == 2:
            return pad(value.t(), term.count).t().contiguous()
        return by_column(pad(value, term.count))

    def gradients(self) -> Gradients:
        """Zeroed cotangents of every tensor."""
        return Gradients(self)


class Gradients:
    """Cotangents of the tensors of a binding, in the layout the schedules take."""

    def __init__(self, binding: Binding) -> None:
        system, start = binding.system, 3
        self._system = system
        self.law = tuple(torch.zeros_like(t) for t in binding.law)
        groups: list[tuple[Tensor, ...]] = []
        for term in system.elements:
            arrays = binding.common[start][1 + len(term.constants) :]
            groups.append(tuple(zeros_of(t) for t in arrays))
            start += 2
        for node in system.nodes:
            if node.constants or node.params:
                groups.append(tuple(zeros_of(t) for t in binding.common[start][len(node.constants) :]))
                start += 1
            else:
                groups.append(())
            start += bool(node.work)
        self._groups = groups
        self.args = (self.law, *(g for g in groups if g))

    def flat(self) -> list[Tensor]:
        """The cotangents without padding, in the order of ``Compiled.tensors``."""
        result = list(self.law)
        for term, group in zip(self._system.elements, self._groups, strict=False):
            for (name, _), grad in zip(term.params, group, strict=True):
                stepped = name in term.per_step and grad.dim() == 2
                result.append(grad[:, : term.count] if stepped else grad[: term.count])
        for group in self._groups[len(self._system.elements) :]:
            result.extend(group)
        return result


def pad(value: Tensor, count: int) -> Tensor:
    """As pad_rows for a tensor."""
    if value.device.type == "cpu":
        return torch.from_numpy(pad_rows(value.numpy(), count))
    extra = padded(count) - count if count else 0
    return torch.cat([value, value[-1:].expand(extra, *value.shape[1:])])


def by_column(value: Tensor) -> Tensor:
    """(elements, c) stored column by column, so that lanes load neighbours."""
    return value if value.dim() < 2 else value.t().contiguous().t() if value.dim() == 2 else value


def zeros_of(value: Tensor) -> Tensor:
    """Zeros in the same layout."""
    return torch.zeros_like(value, memory_format=torch.preserve_format)
