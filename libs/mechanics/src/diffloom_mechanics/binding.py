"""Arrays of a mechanical system in the layout of its pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from diffloom_kernels import BoundRecord, Const
from diffloom_mechanics.gather import Gather, get_gather, pad_count, pad_rows
from diffloom_mechanics.node_sets import NamedTensor, NodeMotion, NodeSet
from diffloom_mechanics.records import (
    ElementEnd,
    ElementRecord,
    Grads,
    Incoming,
    MemoryRecord,
    NodeKind,
    NodesGrads,
    NodesRecord,
    NodeTermRecord,
    RememberedRows,
    SceneStageRecord,
    SceneTermRecord,
    SlotRows,
    StageRecord,
    SystemRecord,
)
from diffloom_mechanics.terms import ElementTerm, NodeTerm, count_memory


@dataclass(frozen=True)
class CompiledSystem:
    """Compiled part of a system: node sets and terms, with the order in which their tensors are passed.

    Args:
        sets: Node sets with their names.
        elements: Element terms.
        nodes: Node terms.
        scenes: Number of copies of one system it holds, one after the other (see ``scenes.py``).
    """

    sets: tuple[tuple[str, NodeSet], ...]
    elements: tuple[ElementTerm, ...]
    nodes: tuple[NodeTerm, ...]
    scenes: int = 1

    @cached_property
    def label(self) -> str:
        """Names of its parts, for messages and file names."""
        return "-".join(
            [*(s.name for _, s in self.sets), *(t.name for t in self.elements), *(t.name for t in self.nodes)]
        )

    @cached_property
    def free_label(self) -> str:
        """Names of its kinds of node alone."""
        return "-".join(nodes.name for _, nodes in self.sets)

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """Differentiable tensors: the node sets' arrays, then each term's params."""
        return tuple(t for group in self._groups for _, t in group)

    @cached_property
    def _groups(self) -> list[tuple[NamedTensor, ...]]:
        """Names and tensors of each owner."""
        terms: tuple[ElementTerm | NodeTerm, ...] = (*self.elements, *self.nodes)
        return [*(nodes.arrays for _, nodes in self.sets), *(term.params for term in terms)]

    def split(self, tensors: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Split a flat sequence by owner.

        Args:
            tensors: One entry for each of ``self.tensors``.

        Returns:
            A tuple of entries for each node set and term.
        """
        parts, start = [], 0
        for group in self._groups:
            parts.append(tuple(tensors[start : start + len(group)]))
            start += len(group)
        return parts

    def index(self, name: str | None) -> int:
        """Return the number of a node set.

        Args:
            name: Its name, or None for the only one.

        Returns:
            The number.
        """
        return 0 if not name else [n for n, _ in self.sets].index(name)

    @cached_property
    def work(self) -> float:
        """Approximate time of the largest forward pass on one core [ns], by which the number of threads is chosen."""
        return 12.0 * max(sum(term.count for term in self.elements), *(nodes.count for _, nodes in self.sets))

    @property
    def has_adjoints(self) -> bool:
        """True if each device function brings its adjoint."""
        terms: tuple[ElementTerm | NodeTerm, ...] = (*self.elements, *self.nodes)
        brought = all(t.adjoint is not None and bool(t.update) == bool(t.update_adjoint) for t in terms)
        return brought and all(nodes.has_adjoints for _, nodes in self.sets)

    @cached_property
    def remembering(self) -> tuple[ElementTerm | NodeTerm, ...]:
        """Terms with memory; its tensors follow the coordinates of the node sets in this order."""
        terms: tuple[ElementTerm | NodeTerm, ...] = (*self.elements, *self.nodes)
        return tuple(term for term in terms if term.memory)

    def count_rows(self, term: ElementTerm | NodeTerm) -> int:
        """Return the number of elements of a term, or of nodes that it acts on.

        Args:
            term: Element or node term of this system.

        Returns:
            The number.
        """
        return term.count if isinstance(term, ElementTerm) else self.sets[self.index(term.on)][1].count

    @cached_property
    def has_stages(self) -> bool:
        """True if a node term works in stages, which nodes have to wait for."""
        return any(term.stages or term.adjoint_stages for term in self.nodes)


class Binding:
    """Arrays bound for one run: padded parameters, slots, workspaces. One rollout owns one binding."""

    def __init__(self, system: CompiledSystem, tensors: Sequence[Tensor], needed: Sequence[bool] | None = None) -> None:
        """Bind the arrays.

        Args:
            system: Node sets and compiled terms.
            tensors: Values of the system's tensors.
            needed: Flags of the gradients that are asked for, which decide if forces are recomputed backwards; all by
                default.
        """
        self.system = system
        self.dtype, self.device = tensors[0].dtype, tensors[0].device
        self._on_host = self.device.type == "cpu"
        parts = system.split([t.detach() for t in tensors])
        asked = system.split(needed if needed is not None else [True] * len(tensors))
        count = len(system.sets)
        self._ends: list[list[ElementEnd]] = [[] for _ in system.elements]
        self._of_updates: dict[tuple[int, int], SlotRows] = {}
        sets = [self._nodes(n, parts, asked[n]) for n in range(count)]
        elements = [self._element(k, term, parts[count + k]) for k, term in enumerate(system.elements)]
        memory = tuple(Const(count + k) for k in range(len(system.remembering)))
        self.record = SystemRecord(tuple(sets), tuple(elements), memory)
        self.force_matters = any(nodes.kind.force_matters for nodes in sets)
        self.bound = BoundRecord(self.record)

    @cached_property
    def free(self) -> BoundRecord:
        """Nodes without terms, for pipelines that take the force as input: one program serves all systems of these
        kinds of node.
        """
        sets = (nodes._replace(incoming=None, rows=None, terms=(), remembered=None) for nodes in self.record.sets)
        return BoundRecord(SystemRecord(tuple(sets), (), ()))

    def gradients(self) -> Gradients:
        """Return zeroed cotangents of every tensor."""
        return Gradients(self)

    def _nodes(self, n: int, parts: list[tuple[Tensor, ...]], asked: tuple[bool, ...]) -> NodesRecord:
        """Return the record of a node set."""
        system, nodes = self.system, self.system.sets[n][1]
        remembered = self._update_slots(n, nodes)
        incoming, rows = self._slots(n, nodes)
        make = self._node_term if system.scenes == 1 else self._scene_term
        terms = [
            make(term, parts[len(system.sets) + len(system.elements) + k])
            for k, term in enumerate(system.nodes)
            if system.index(term.on) == n
        ]
        arrays = tuple(t.contiguous() for t in parts[n])
        kind = build_kind(nodes, asked)
        return NodesRecord(Const(n), kind, nodes.count, arrays, incoming, rows, tuple(terms), remembered)

    def _slots(self, n: int, nodes: NodeSet) -> tuple[Incoming | None, SlotRows | None]:
        """Return the rows that the nodes of a set gather, and add the parts of the rows to the elements' ends."""
        ends = self._list_ends(n)
        if not ends:
            return None, None
        gather: Gather = get_gather([(term.name, corners) for _, term, corners in ends], nodes.count)
        rows, parts = self._make_rows(gather, ends, nodes.slot)
        for (k, _, _), padded_corners, views in zip(ends, gather.corners, parts, strict=True):
            end = ElementEnd(Const(n), self._index(padded_corners), views, self._of_updates.get((k, n)))
            self._ends[k].append(end)
        return Incoming(self._index(gather.starts), self._index(gather.slots)), rows

    def _update_slots(self, n: int, nodes: NodeSet) -> RememberedRows | None:
        """Return the rows that the nodes of a set gather from updates of memory, and keep the parts of each term."""
        ends = [(k, term, corners) for k, term, corners in self._list_ends(n) if term.memory]
        if not ends:
            return None
        gather: Gather = get_gather([(term.name, corners) for _, term, corners in ends], nodes.count)
        rows, parts = self._make_rows(gather, ends, nodes.slot)
        self._of_updates |= {(k, n): views for (k, _, _), views in zip(ends, parts, strict=True)}
        return RememberedRows(Incoming(self._index(gather.starts), self._index(gather.slots)), rows)

    def _list_ends(self, n: int) -> list[tuple[int, ElementTerm, np.ndarray[Any, Any]]]:
        """Return number, term and corners of each element term in a node set."""
        return [
            (k, term, corners)
            for k, term in enumerate(self.system.elements)
            for name, corners in term.corners.items()
            if self.system.index(name) == n
        ]

    def _make_rows(
        self, gather: Gather, ends: list[tuple[int, ElementTerm, np.ndarray[Any, Any]]], slot: int
    ) -> tuple[SlotRows, list[SlotRows]]:
        """Return the rows of all element terms in a node set, and the part of each."""
        rows, parts = SlotRows(*(self._zeros(gather.rows + 1, slot) for _ in range(3))), []
        for (_, term, corners), offset in zip(ends, gather.offsets, strict=True):
            shape = (pad_count(term.count), corners.shape[1], slot)
            parts.append(SlotRows(*(r[offset : offset + shape[0] * shape[1]].view(shape) for r in rows)))
        return rows, parts

    def _memory(self, term: ElementTerm | NodeTerm) -> tuple[MemoryRecord, ...]:
        """Return the memory of a term as a tuple of one record, or of none."""
        if not term.memory:
            return ()
        system = self.system
        place = next(k for k, other in enumerate(system.remembering) if other is term)
        at, width = Const(len(system.sets) + place), Const(count_memory(term.memory))
        return (MemoryRecord(at, width, system.count_rows(term), term.update, term.update_adjoint),)

    def _element(self, k: int, term: ElementTerm, params: tuple[Tensor, ...]) -> ElementRecord:
        """Return the record of an element term."""
        data = (
            *(store_by_column(pad_tensor(self._constant(c), term.count)) for c in term.constants),
            *(self._param(term, name, t) for (name, _), t in zip(term.params, params, strict=True)),
        )
        order = [self.system.index(name) for name in term.corners]
        ends = sorted(self._ends[k], key=lambda end: order.index(int(end.of)))
        # Memory has one row per element, without padding to whole lane runs.
        lanes, size = (False, term.count) if term.memory else (term.simd, pad_count(term.count))
        return ElementRecord(term.force, term.adjoint, lanes, size, tuple(ends), data, self._memory(term))

    def _node_term(self, term: NodeTerm, params: tuple[Tensor, ...]) -> NodeTermRecord:
        """Return the record of a node term."""
        reads = None if term.reads is None else Const(self.system.index(term.reads))
        return NodeTermRecord(
            term.force,
            term.adjoint,
            (*map(self._constant, term.constants), *(t.contiguous() for t in params)),
            tuple(self._workspace(shape, kind) for shape, kind in term.work),
            None if term.only is None else self._index(np.ascontiguousarray(term.only)),
            reads,
            tuple(StageRecord(s.count, s.body) for s in term.stages),
            tuple(StageRecord(s.count, s.body) for s in term.adjoint_stages),
            self._memory(term),
        )

    def _scene_term(self, term: NodeTerm, params: tuple[Tensor, ...]) -> NodeTermRecord | SceneTermRecord:
        """Return the record of a term in many scenes: a term that might read another scene is passed its own scene
        alone.
        """
        if not is_single_scene(term):
            return self._node_term(term, params)
        system, scenes = self.system, self.system.scenes
        reads = None if term.reads is None else Const(system.index(term.reads))
        return SceneTermRecord(
            term.force,
            term.adjoint,
            tuple(map(self._constant, term.constants)),
            tuple(t.contiguous() for t in params),
            tuple(self._workspace((scenes, *shape), kind) for shape, kind in term.work),
            None if term.only is None else self._index(np.ascontiguousarray(term.only)),
            reads,
            tuple(SceneStageRecord(s.count * scenes, s.body, s.count) for s in term.stages),
            tuple(SceneStageRecord(s.count * scenes, s.body, s.count) for s in term.adjoint_stages),
            self._memory(term),
            system.sets[system.index(term.on)][1].count // scenes,
            0 if term.reads is None else system.sets[system.index(term.reads)][1].count // scenes,
        )

    def _zeros(self, *shape: int) -> Tensor:
        """Return zeros in the precision and on the device of the tensors."""
        if self._on_host:
            # torch.zeros would start threads of torch for large arrays, and these slow down the pipelines.
            return torch.from_numpy(np.zeros(shape, np.float32 if self.dtype == torch.float32 else np.float64))
        return torch.zeros(shape, dtype=self.dtype, device=self.device)

    def _index(self, array: np.ndarray[Any, Any]) -> Tensor:
        return torch.from_numpy(array) if self._on_host else torch.from_numpy(array).to(self.device)

    def _constant(self, array: np.ndarray[Any, Any]) -> Tensor:
        plain = array.flags.c_contiguous and array.flags.writeable
        tensor = self._index(array if plain else np.require(array, requirements=["C", "W"]))
        return tensor.to(self.dtype) if tensor.is_floating_point() else tensor

    def _workspace(self, shape: tuple[int, ...], kind: str) -> Tensor:
        return torch.zeros(shape, dtype=self.dtype if kind == "float" else torch.int32, device=self.device)

    @staticmethod
    def _param(term: ElementTerm, name: str, value: Tensor) -> Tensor:
        """Return a parameter padded to whole lane runs and stored by column."""
        if name in term.per_step and value.dim() == 2:
            return pad_tensor(value.t(), term.count).t().contiguous()
        return store_by_column(pad_tensor(value, term.count))


class Gradients:
    """Cotangents of the tensors of a binding, in the layout of the pipelines."""

    def __init__(self, binding: Binding) -> None:
        system, record = binding.system, binding.record
        self._system = system
        sets = tuple(
            NodesGrads(tuple(map(make_zeros, nodes.arrays)), self._of_terms(n, nodes))
            for n, nodes in enumerate(record.sets)
        )
        elements = tuple(
            tuple(map(make_zeros, made.data[len(term.constants) :]))
            for term, made in zip(system.elements, record.elements, strict=True)
        )
        self.record = Grads(sets, elements)
        self.bound = BoundRecord(self.record)

    @cached_property
    def free(self) -> BoundRecord:
        """Cotangents of the nodes alone."""
        return BoundRecord(Grads(tuple(nodes._replace(terms=()) for nodes in self.record.sets), ()))

    def _of_terms(self, n: int, nodes: NodesRecord) -> tuple[tuple[Tensor, ...], ...]:
        terms = [term for term in self._system.nodes if self._system.index(term.on) == n]
        return tuple(
            tuple(map(make_zeros, made.data[0 if isinstance(made, SceneTermRecord) else len(term.constants) :]))
            for term, made in zip(terms, nodes.terms, strict=True)
        )

    def flat(self) -> list[Tensor]:
        """Return the cotangents without padding, in the order of ``CompiledSystem.tensors``."""
        result = [t for nodes in self.record.sets for t in nodes.arrays]
        for term, group in zip(self._system.elements, self.record.elements, strict=True):
            for (name, _), grad in zip(term.params, group, strict=True):
                stepped = name in term.per_step and grad.dim() == 2
                result.append(grad[:, : term.count] if stepped else grad[: term.count])
        taken = [iter(nodes.terms) for nodes in self.record.sets]
        for node_term in self._system.nodes:
            result.extend(next(taken[self._system.index(node_term.on)]))
        return result


def is_single_scene(term: NodeTerm) -> bool:
    """Return True if a term reads more than rows of its node, so that it must be passed one scene at a time."""
    more = (term.constants, term.shared, term.work, term.stages, term.adjoint_stages, term.reads)
    return not term.by_node and any(more)


def build_kind(nodes: NodeSet, asked: tuple[bool, ...]) -> NodeKind:
    """Return the device functions of a node set; ``asked`` flags the arrays whose gradient is asked for."""
    by = None if nodes.force_needed_by is None else find_all_needs(nodes)
    wanted = {name for (name, _), ask in zip(nodes.arrays, asked, strict=True) if ask}
    motion = nodes.motion or NodeMotion(None, None)
    return NodeKind(
        Const(nodes.dq), Const(nodes.du), nodes.acceleration, nodes.acceleration_adjoint, motion.drift,
        motion.drift_adjoint, motion.rate, motion.rate_adjoint, motion.project, motion.project_adjoint,
        motion.kicked_drift, motion.kicked_drift_adjoint,
        force_matters=by is None or bool(wanted & set(by)),
    )  # fmt: skip


def find_all_needs(nodes: NodeSet) -> frozenset[str] | None:
    """Return the arrays whose gradient needs the force backwards: those that the node set names, and those whose
    adjoints read it; None if all do.
    """
    from diffloom_mechanics.force_needs import find_force_needs

    found = find_force_needs(nodes)
    return None if found is None else found | frozenset(nodes.force_needed_by or ())


def pad_tensor(value: Tensor, count: int) -> Tensor:
    """Repeat the last row of a tensor up to whole lane runs, as ``pad_rows`` does."""
    if value.device.type == "cpu":
        return torch.from_numpy(pad_rows(value.numpy(), count))
    extra = pad_count(count) - count if count else 0
    return torch.cat([value, value[-1:].expand(extra, *value.shape[1:])])


def store_by_column(value: Tensor) -> Tensor:
    """Return a tensor (elements, c) stored column by column, so that lanes load neighbours."""
    return value if value.dim() < 2 else value.t().contiguous().t() if value.dim() == 2 else value


def make_zeros(value: Tensor) -> Tensor:
    """Return zeros in the layout of a tensor."""
    return torch.zeros_like(value, memory_format=torch.preserve_format)


def isolate_elements(system: CompiledSystem, number: int, tensors: Sequence[Tensor]) -> CompiledSystem:
    """Return a system of one element term, each of whose elements has nodes of its own."""
    parts = system.split(tensors)
    term = system.elements[number]
    sets, corners = [], {}
    for name, nodes in term.corners.items():
        n = system.index(name)
        index = torch.from_numpy(nodes.reshape(-1).astype(np.int64))
        arrays = tuple((key, t.detach()[index]) for (key, _), t in zip(system.sets[n][1].arrays, parts[n], strict=True))
        sets.append((system.sets[n][0], replace(system.sets[n][1], arrays=arrays)))
        corners[system.sets[n][0]] = np.arange(nodes.size, dtype=np.int32).reshape(nodes.shape)
    own = parts[len(system.sets) + number]
    params = tuple((name, t) for (name, _), t in zip(term.params, own, strict=True))
    return CompiledSystem(tuple(sets), (replace(term, nodes=corners, params=params, on=None),), ())
