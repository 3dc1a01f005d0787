"""Adjoints of terms and node sets that bring none, derived from the source of their device functions."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from diffloom_kernels import ld3, store_corners
from diffloom_kernels.derive import (
    Array,
    Convention,
    Cotangents,
    Group,
    Real,
    Record,
    States,
    UnderivableError,
    Whole,
    derive_by_convention,
    number_in,
    number_like,
    parameter_names,
)
from diffloom_mechanics.binding import CompiledSystem
from diffloom_mechanics.node_sets import NodeMotion, NodeSet
from diffloom_mechanics.terms import ElementTerm, NodeTerm, count_memory


def make_clock(name: str) -> Record:
    """Return the clock of forces."""
    times = {key: Real(f"{name}.{key}") for key in ("time", "dt", "start")}
    return Record(name, {**times, "row": Whole(f"{name}.row"), "implicit": Whole(f"{name}.implicit")})


def parameters(names: list[str]) -> list[Array]:
    """Return arrays whose gradient is wanted."""
    return [Array(name, "parameter", cotangent=f"adj_{name}") for name in names]


def make_floats(name: str, width: int) -> Group:
    """Return a tuple of floats that counts."""
    return Group(tuple(Real(f"{name}[{k}]", True) for k in range(width)), name)


def node_cotangents(found: Cotangents, states: States, name: str, width: int) -> str:
    """Return the cotangent of the state of the own node as a tuple."""
    roots = [states.get((name, None, c), Real(f"{name}.{c}", True)) for c in range(width)]
    return found.taken(Group(tuple(roots)), f"adj_{name}")


def node_adjoint(term: NodeTerm, dq: int, du: int) -> Any:
    """Return the derived adjoint of a force on single nodes."""
    if term.stages or term.reads is not None:
        what = "passes before the node pass" if term.stages else "another node set"
        raise UnderivableError(f"term {term.name!r}: it reads {what}; write its adjoint by hand")
    kinds = tuple("real" if kind == "float" else "whole" for _, kind in term.work)
    key = constants_key(term.constants)
    return _node_adjoint(term.force, key, len(term.params), kinds, dq, du, bool(term.memory))


def node_update_adjoint(term: NodeTerm, dq: int, du: int) -> Any:
    """Return the derived adjoint of an update of the memory of single nodes."""
    key = constants_key(term.constants)
    return _node_adjoint(term.update, key, len(term.params), (), dq, du, True, count_memory(term.memory))


def constants_key(arrays: tuple[Any, ...]) -> tuple[bool, ...]:
    """Return for each array whether it holds floats."""
    return tuple(bool(np.issubdtype(a.dtype, np.floating)) for a in arrays)


def _arrays(names: list[str], real: tuple[bool, ...]) -> list[Array]:
    """Return arrays without gradient by whether they hold floats."""
    return [Array(name, "real" if kind else "whole") for name, kind in zip(names, real, strict=True)]


@functools.lru_cache(maxsize=1024)
def _node_adjoint(
    force: Any,
    real: tuple[bool, ...],
    count: int,
    work: tuple[str, ...],
    dq: int,
    du: int,
    memory: bool,
    updates: int = 0,
) -> Any:
    """Return the memoised adjoint of a force on single nodes, or of an update of ``updates`` numbers of memory."""
    names = parameter_names(force)
    i, t, q, u, *rest = names
    kept, rest = (rest[:1], rest[1:]) if memory else ([], rest)
    data, given = rest[: len(real)], rest[len(real) : len(real) + count]
    spaces = [Array(name, kind) for name, kind in zip(rest[len(real) + count :], work, strict=True)]
    args = (Whole(i, own=True), make_clock(t), Array(q, "state"), Array(u, "state"), *parameters(kept),
            *_arrays(data, real), *parameters(given), *spaces)  # fmt: skip

    def results(found: Cotangents, states: States) -> list[str]:
        return [node_cotangents(found, states, q, dq), node_cotangents(found, states, u, du)]

    def seed(found: Cotangents, result: Any) -> None:
        if updates:
            found.given(result, "adj")
            return
        row = ", ".join(f"adj_f[{i}, {c}]" for c in range(du))
        text = f"{found.writer(ld3)}(adj_f, {i})" if du == 3 else f"({row},)"
        found.add(result, found.writer.name(text, "adj_result", du))

    extra = ("adj" if updates else "adj_f", *(f"adj_{name}" for name in (*kept, *given)))
    convention = Convention(args, extra, seed, results, number_in(q))
    return derive_by_convention(force, convention)


def element_adjoint(term: ElementTerm, widths: tuple[tuple[int, int], ...]) -> Any:
    """Return the derived adjoint of a force over elements; ``widths`` are (dq, du) of each node set they join."""
    corners = tuple(nodes.shape[1] for nodes in term.corners.values())
    key = constants_key(term.constants)
    return _element_adjoint(term.force, key, len(term.params), corners, widths, bool(term.memory))


def element_update_adjoint(term: ElementTerm, widths: tuple[tuple[int, int], ...]) -> Any:
    """Return the derived adjoint of an update of elements' memory; ``widths`` as for ``element_adjoint``."""
    corners = tuple(nodes.shape[1] for nodes in term.corners.values())
    key = constants_key(term.constants)
    return _element_adjoint(term.update, key, len(term.params), corners, widths, True, True)


@functools.lru_cache(maxsize=1024)
def _element_adjoint(
    force: Any,
    real: tuple[bool, ...],
    count: int,
    corners: tuple[int, ...],
    widths: tuple[tuple[int, int], ...],
    memory: bool,
    updates: bool = False,
) -> Any:
    """Return the memoised adjoint of a force over elements, or of an update of their memory."""
    names = parameter_names(force)
    e, t, *rest = names
    ends = [rest[3 * k : 3 * k + 3] for k in range(len(corners))]
    rest = rest[3 * len(corners) :]
    kept, rest = (rest[:1], rest[1:]) if memory else ([], rest)
    data, given, outs = rest[: len(real)], rest[len(real) : len(real) + count], rest[len(real) + count :]
    forces = [f"adj_{name}" for name in outs]
    args: list[Any] = [Whole(e, own=True), make_clock(t)]
    for q, u, nodes in ends:
        args += [Array(q, "state", nodes), Array(u, "state", nodes), Array(nodes, "whole")]
    args += [*parameters(kept), *_arrays(data, real), *parameters(given)]
    joined = zip(outs, ends, forces, strict=True) if not updates else ()
    args += [Array(out, "slots", end[2], adj) for out, end, adj in joined]

    def results(found: Cotangents, states: States) -> list[str]:
        for (q, u, _), number, (dq, du) in zip(ends, corners, widths, strict=True):
            for name, width in ((q, dq), (u, du)):
                store_slots(found, states, e, name, number, width)
        return []

    states = tuple(f"adj_{name}" for q, u, _ in ends for name in (q, u))
    extra = ("adj",) if updates else tuple(forces)
    extra = (*extra, *states, *(f"adj_{name}" for name in (*kept, *given)))

    def seed(found: Cotangents, result: Any) -> None:
        if updates:
            found.given(result, "adj")

    convention = Convention(tuple(args), extra, seed, results, number_in(ends[0][0]))
    return derive_by_convention(force, convention)


def store_slots(found: Cotangents, states: States, e: str, name: str, corners: int, width: int) -> None:
    """Write the cotangents of the states at the corners into the slots of an element."""
    writer = found.writer
    rows = [
        Group(tuple(states.get((name, k, c), Real(f"{name}{k}.{c}", True)) for c in range(width)))
        for k in range(corners)
    ]
    parts = [found.taken(row, f"adj_{name}{k}") for k, row in enumerate(rows)]
    if width == 3:
        inside = ", ".join(parts)
        writer.line(f"{writer(store_corners)}(adj_{name}, {e}, ({inside},))")
        return
    for k, part in enumerate(parts):
        row = part if part.isidentifier() else writer.name(part, f"adj_{name}{k}", width)
        for c in range(width):
            writer.line(f"adj_{name}[{e}, {k}, {c}] = {row}[{c}]")


@functools.lru_cache(maxsize=1024)
def motion_adjoint(function: Any, kinds: tuple[int, ...], arrays: int, results: tuple[int, ...]) -> Any:
    """Return the derived adjoint of a function of a node set.

    Args:
        function: ``function(i, *values, *arrays)``.
        kinds: Widths of the values; 0 for a time, which has no cotangent.
        arrays: Number of arrays.
        results: Widths of the results.
    """
    i, *rest = parameter_names(function)
    values, given = rest[: len(kinds)], rest[len(kinds) :]
    if len(given) != arrays:
        raise UnderivableError(f"{function.__name__} takes {len(given)} arrays, {arrays} given")
    tuples = [Real(name) if width == 0 else make_floats(name, width) for name, width in zip(values, kinds, strict=True)]
    args = (Whole(i, own=True), *tuples, *parameters(given))
    counted = [value for value in tuples if isinstance(value, Group)]
    adj = ("adj",) if len(results) == 1 else tuple(f"adj_{name}" for name in ("q", "u"))
    extra = (*adj, *(f"adj_{name}" for name in given))
    number = number_in(given[0]) if given else number_like(f"{counted[0].name}[0]")

    def parts(found: Cotangents, states: States) -> list[str]:
        return [found.taken(value, f"adj_{value.name}_sum") for value in counted]

    def seed(found: Cotangents, result: Any) -> None:
        for name, value in zip(adj, [result] if len(adj) == 1 else result.items, strict=True):
            found.given(value, name)

    return derive_by_convention(function, Convention(args, extra, seed, parts, number))


def complete(system: CompiledSystem) -> CompiledSystem:
    """Return a system with an adjoint for each device function.

    Args:
        system: Node sets and compiled terms.
    """
    sets = dict(system.sets)
    return replace(
        system,
        sets=tuple((name, complete_nodes(nodes)) for name, nodes in system.sets),
        elements=tuple(complete_term(term, sets) for term in system.elements),
        nodes=tuple(complete_term(term, sets) for term in system.nodes),
    )


def complete_term(term: Any, sets: Mapping[str, NodeSet]) -> Any:
    """Return a compiled term with its adjoint, which is derived from its force if it brings none.

    Args:
        term: ElementTerm or NodeTerm.
        sets: Node sets by name.
    """
    forces = term.adjoint is None and term.force is not None
    updates = term.update_adjoint is None and term.update is not None
    if not forces and not updates:
        return term
    only = next(iter(sets.values()))
    made: dict[str, Any] = {}
    if isinstance(term, ElementTerm):
        joined = tuple((nodes.dq, nodes.du) for nodes in (sets.get(name, only) for name in term.corners))
        if forces:
            made["adjoint"] = element_adjoint(term, joined)
        if updates:
            made["update_adjoint"] = element_update_adjoint(term, joined)
        return replace(term, **made)
    nodes = sets.get(term.on or "", only)
    if forces and term.stages:
        from diffloom_mechanics.derived_stages import add_stage_adjoints

        return add_stage_adjoints(term, nodes)
    if forces:
        made["adjoint"] = node_adjoint(term, nodes.dq, nodes.du)
    if updates:
        made["update_adjoint"] = node_update_adjoint(term, nodes.dq, nodes.du)
    return replace(term, **made)


def complete_nodes(nodes: NodeSet) -> NodeSet:
    """Return a node set with an adjoint for each of its functions."""
    n, dq, du = len(nodes.arrays), nodes.dq, nodes.du
    if nodes.acceleration_adjoint is None and nodes.acceleration is not None:
        made = motion_adjoint(nodes.acceleration, (dq, du, du), n, (du,))
        nodes = replace(nodes, acceleration_adjoint=made)
    motion = nodes.motion
    if motion is None:
        return nodes
    return replace(nodes, motion=_motion_with_adjoints(motion, n, dq, du))


def _motion_with_adjoints(motion: NodeMotion, n: int, dq: int, du: int) -> NodeMotion:
    """Return a motion with an adjoint for each of its functions."""
    made: dict[str, Any] = {}
    kinds = {"drift": (0, dq, du), "rate": (dq, du), "kicked_drift": (0, 0, dq, du, du)}
    for name, widths in kinds.items():
        function = getattr(motion, name)
        if function is not None and getattr(motion, f"{name}_adjoint") is None:
            made[f"{name}_adjoint"] = motion_adjoint(function, widths, n, (dq, du))
    if motion.project is not None and motion.project_adjoint is None:
        made["project_adjoint"] = motion_adjoint(motion.project, (dq,), 0, (dq,))
    return replace(motion, **made) if made else motion
