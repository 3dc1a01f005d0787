"""Comparison of hand-written adjoints of device functions with derived ones at random points, without compiling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import State
from diffloom_kernels.derive import UnderivableError, interpreted
from diffloom_mechanics.derived_adjoints import element_adjoint, motion_adjoint, node_adjoint
from diffloom_mechanics.node_sets import NodeSet
from diffloom_mechanics.random_points import STATES, Point, Points, as_own_array, flat_numbers
from diffloom_mechanics.system import Mechanics
from diffloom_mechanics.terms import ElementTerm, NodeTerm

#: Number of elements or nodes that are tried at each random state.
PLACES = 4
#: Differences allowed, relative to the largest entry of a cotangent.
TOLERANCE = 1e-9

Arrays = tuple[NDArray[Any], ...]
Values = list[NDArray[Any]]


@dataclass(frozen=True)
class DeviceComparison:
    """Hand-written adjoint of a device function beside the derived one.

    Args:
        owner: Term or node set.
        function: Name of the device function.
        error: Largest difference, relative to the largest entry of the cotangent; None if none was derived.
        silent: True if all cotangents were zero at all points.
        worst: Cotangent with the largest difference.
        reason: Reason why no adjoint can be derived.
    """

    owner: str
    function: str
    error: float | None = None
    silent: bool = False
    worst: str = ""
    reason: str = ""

    @property
    def agrees(self) -> bool:
        """True unless the two adjoints differ."""
        return self.error is None or self.error <= TOLERANCE


@dataclass(frozen=True)
class _Case:
    """Device function of a system, with the function that evaluates an adjoint of it at a point."""

    owner: str
    function: Any
    by_hand: Any
    derive: Callable[[], Any]
    run: Callable[[Any, Any], Mapping[str, NDArray[Any]]]


def compare_device_adjoints(system: Mechanics, state: State) -> list[DeviceComparison]:
    """Compare each hand-written adjoint of a system with the one derived from the source of its device function.

    Args:
        system: Mechanical system in float64.
        state: State near which the points lie.

    Returns:
        One comparison for each device function that brings an adjoint.
    """
    points = Points(system.underived, state)
    with np.errstate(all="ignore"):
        return [_compare(case, points) for case in _cases(points)]


def _compare(case: _Case, points: Points) -> DeviceComparison:
    """Return the comparison of one device function."""
    name = case.function.__name__
    try:
        derived = interpreted(case.derive())
    except UnderivableError as error:
        return DeviceComparison(case.owner, name, reason=str(error))
    by_hand, worst, silent = interpreted(case.by_hand), (0.0, ""), True
    for number in range(STATES):
        first, second = (case.run(function, points.at(number)) for function in (by_hand, derived))
        for key in first:
            size = max(float(np.abs(first[key]).max(initial=0.0)), float(np.abs(second[key]).max(initial=0.0)))
            if size > 0.0:
                silent = False
                off = float(np.abs(first[key] - second[key]).max()) / size
                worst = max(worst, (np.inf if np.isnan(off) else off, key))
    return DeviceComparison(case.owner, name, worst[0], silent, worst[1])


def _cases(points: Points) -> Iterator[_Case]:
    """Yield the device functions of a system that bring an adjoint."""
    system, record = points.system, points.record
    for n, (name, nodes) in enumerate(system.sets):
        yield from _node_set_cases(n, f"node set {name or nodes.name!r}", nodes, record.sets[n].arrays)
    for term, made in zip(system.elements, record.elements, strict=True):
        if term.adjoint is not None:
            widths = tuple((system.sets[int(end.of)][1].dq, system.sets[int(end.of)][1].du) for end in made.ends)
            yield _Case(f"term {term.name!r}", term.force, term.adjoint, _deriver(element_adjoint, term, widths),
                        _element_runner(term, made))  # fmt: skip
    rows = [iter(nodes.terms) for nodes in record.sets]
    for node_term in system.nodes:
        n = system.index(node_term.on)
        made_term, nodes = next(rows[n]), system.sets[n][1]
        if node_term.adjoint is not None:
            derive, run = _deriver(node_adjoint, node_term, nodes.dq, nodes.du), _node_runner(n, node_term, made_term)
            yield _Case(f"term {node_term.name!r}", node_term.force, node_term.adjoint, derive, run)


def _deriver(derive: Any, term: Any, *args: Any) -> Callable[[], Any]:
    """Return a function that derives the adjoint of a term."""
    return lambda: derive(replace(term, adjoint=None), *args)


def _node_set_cases(n: int, owner: str, nodes: NodeSet, tensors: Any) -> Iterator[_Case]:
    """Yield the functions of a node set."""
    arrays, dq, du = tuple(map(as_own_array, tensors)), nodes.dq, nodes.du
    motion = nodes.motion
    functions: list[tuple[Any, Any, tuple[int, ...], tuple[int, ...], tuple[Any, ...]]]
    functions = [(nodes.acceleration, nodes.acceleration_adjoint, (dq, du, du), (du,), arrays)]
    if motion is not None:
        functions += [
            (motion.drift, motion.drift_adjoint, (0, dq, du), (dq, du), arrays),
            (motion.rate, motion.rate_adjoint, (dq, du), (dq, du), arrays),
            (motion.kicked_drift, motion.kicked_drift_adjoint, (0, 0, dq, du, du), (dq, du), arrays),
            (motion.project, motion.project_adjoint, (dq,), (dq,), ()),
        ]
    for function, adjoint, kinds, results, given in functions:
        if function is not None and adjoint is not None:
            derive = _motion_deriver(function, kinds, len(given), results)
            yield _Case(owner, function, adjoint, derive, _motion_runner(n, nodes, kinds, results, given))


def _motion_deriver(function: Any, kinds: tuple[int, ...], arrays: int, results: tuple[int, ...]) -> Callable[[], Any]:
    """Return a function that derives the adjoint of a function of a node set."""
    return lambda: motion_adjoint(function, kinds, arrays, results)


def _motion_runner(n: int, nodes: NodeSet, kinds: tuple[int, ...], results: tuple[int, ...], arrays: Arrays) -> Any:
    """Return the function that evaluates an adjoint of a function of a node set."""

    def run(adjoint: Any, point: Point) -> Mapping[str, NDArray[Any]]:
        grads, found = tuple(map(np.zeros_like, arrays)), []
        for _ in range(PLACES):
            i = int(point.random.integers(nodes.count))
            state = {nodes.dq: point.q[n][i], nodes.du: point.u[n][i]}
            values: list[Any] = [np.float64(0.01) if w == 0 else tuple(point.normal(w)) for w in kinds]
            first = kinds.index(nodes.dq)
            values[first] = tuple(state[nodes.dq])
            cotangents = [point.row(width) for width in results]
            made = adjoint(i, *values, *arrays, *cotangents, *grads)
            found.append(flat_numbers(made))
        return {"state and force": np.array(found), **{f"array {k}": g for k, g in enumerate(grads)}}

    return run


def _element_runner(term: ElementTerm, made: Any) -> Any:
    """Return the function that evaluates an adjoint of an element term."""
    data = tuple(map(as_own_array, made.data))
    names = [name for name, _ in term.params]
    corners = [as_own_array(end.nodes) for end in made.ends]

    def run(adjoint: Any, point: Point) -> Mapping[str, NDArray[Any]]:
        grads = tuple(map(np.zeros_like, data[len(term.constants) :]))
        memory = _remembered(term, point, term.count)
        grown = tuple(map(np.zeros_like, memory))
        ends = [int(end.of) for end in made.ends]
        forces = [point.normal(*point.u[n].shape) for n in ends]
        slots = [np.zeros(tuple(end.slots.q.shape)) for end in made.ends for _ in "qu"]
        states = [x for n, nodes in zip(ends, corners, strict=True) for x in (point.q[n], point.u[n], nodes)]
        for _ in range(PLACES):
            e = int(point.random.integers(term.count))
            adjoint(e, point.clock, *states, *memory, *data, *forces, *slots, *grown, *grads)
        found = {f"state {k}": slot for k, slot in enumerate(slots)}
        return _named(names, grads, {**found, **dict(zip(["memory"] * len(grown), grown, strict=True))})

    return run


def _node_runner(n: int, term: NodeTerm, made: Any) -> Any:
    """Return the function that evaluates an adjoint of a node term."""
    data, work = tuple(map(as_own_array, made.data)), tuple(map(as_own_array, made.work))
    names = [name for name, _ in term.params]

    def run(adjoint: Any, point: Point) -> Mapping[str, NDArray[Any]]:
        grads, found = tuple(map(np.zeros_like, data[len(term.constants) :])), []
        adj_f = point.normal(*point.u[n].shape)
        space = tuple(map(np.copy, work))
        memory = _remembered(term, point, len(adj_f))
        grown = tuple(map(np.zeros_like, memory))
        allowed = np.arange(len(adj_f)) if term.only is None else np.flatnonzero(term.only)
        for _ in range(min(PLACES, len(allowed))):
            i = int(point.random.choice(allowed))
            state = (point.q[n], point.u[n], *memory)
            found.append(flat_numbers(adjoint(i, point.clock, *state, *data, *space, adj_f, *grown, *grads)))
        return _named(
            names, grads, {"state": np.array(found), **dict(zip(["memory"] * len(grown), grown, strict=True))}
        )

    return run


def _remembered(term: ElementTerm | NodeTerm, point: Point, count: int) -> Arrays:
    """Return the memory of a term near its start, as a tuple of one array or of none."""
    if not term.memory:
        return ()
    starts = [np.asarray(spec.start, dtype=np.float64) for spec in term.memory]
    rows = [
        np.broadcast_to(s, (count, *spec.row)).reshape(count, -1) for s, spec in zip(starts, term.memory, strict=True)
    ]
    whole = np.concatenate(rows, axis=1)
    return (whole + 0.1 * point.normal(*whole.shape),)


def _named(names: list[str], grads: Arrays, others: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the cotangents of parameters by name, beside those of the state."""
    return {**others, **dict(zip(names, grads, strict=True))}
