"""Derived adjoints of node terms that work in stages, or that read the state of other nodes.

Stages fill work arrays that the nodes read afterwards. Their transposes run in the opposite order: that of the force
first, then those of the stages from the last to the first. Two items of a transpose may add to the same row, so each
runs in one thread, node by node in one order, which gives the same bits for any number of threads.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from diffloom_kernels import ld3
from diffloom_kernels.derive import (
    Array,
    Convention,
    Cotangents,
    UnderivableError,
    Whole,
    derive_by_convention,
    load_functions,
    number_in,
    parameter_names,
)
from diffloom_mechanics.derived_adjoints import constants_key, make_clock
from diffloom_mechanics.node_sets import NodeSet, Work
from diffloom_mechanics.terms import NodeTerm, TermStage


def add_stage_adjoints(term: NodeTerm, nodes: NodeSet) -> NodeTerm:
    """Return a node term with derived adjoints of its force and of its stages.

    Args:
        term: Term without adjoints.
        nodes: Node set on which it acts.

    Raises:
        UnderivableError: It reads a second node set, or its source cannot be derived.
    """
    if term.reads is not None or term.only is not None or term.adjoint_stages:
        what = "another node set" if term.reads is not None else "a part of the nodes" if term.only is not None else ""
        raise UnderivableError(f"term {term.name!r}: it reads {what or 'adjoint stages'}; write its adjoint by hand")
    if term.update is not None:
        raise UnderivableError(f"term {term.name!r}: it has stages and a memory; write its adjoints by hand")
    kinds = tuple(kind for _, kind in term.work)
    bodies = tuple((stage.body, stage.count) for stage in term.stages)
    key = (constants_key(term.constants), len(term.params), kinds)
    axes = tuple(len(shape) for shape, kind in term.work if kind == "float")
    force, stages, adjoint_stages, adjoint = _derive(term.force, bodies, key, axes, nodes.count, nodes.dq, nodes.du)
    floats = tuple(work for work in term.work if work[1] == "float")
    own: tuple[Work, ...] = (((nodes.count, nodes.dq), "float"), ((nodes.count, nodes.du), "float"))
    return replace(
        term, force=force, adjoint=adjoint, work=(*term.work, *floats, *own), by_node=False, lanes=False,
        stages=tuple(TermStage(stage.count, body) for stage, body in zip(term.stages, stages, strict=True)),
        adjoint_stages=tuple(TermStage(1, body) for body in adjoint_stages),
    )  # fmt: skip


@functools.lru_cache(maxsize=64)
def _derive(
    force: Any, stages: tuple[tuple[Any, int], ...], key: tuple[Any, int, tuple[str, ...]], axes: tuple[int, ...],
    count: int, dq: int, du: int,
) -> tuple[Any, list[Any], list[Any], Any]:  # fmt: skip
    """Return the force, the stages, the adjoint stages and the adjoint, all with the arguments of the new work."""
    order = _Order(force.__name__)
    floats = [k for k, kind in enumerate(key[2]) if kind == "float"]
    backs = [(_transpose(body, key, None, order), number) for body, number in reversed(stages)]
    of_force = _transpose(force, key, du, order)
    order.check(len(stages))
    names = parameter_names(force)
    space = [*(f"adj_{names[4 + len(key[0]) + key[1] + k]}" for k in floats), f"adj_{names[2]}", f"adj_{names[3]}"]
    grads = [f"adj_{name}" for name in names[4 + len(key[0]) : 4 + len(key[0]) + key[1]]]
    made = _Wrappers(names, space, ["adj_f", *grads])
    forward = [made.forward(force), *(made.forward(body) for body, _ in stages)]
    serial = [made.clear((*axes, 2, 2)), *(made.loop(body, number) for body, number in ((of_force, count), *backs))]
    adjoint = made.collect(dq, du)
    found = load_functions(f"staged_{force.__name__}", made.text, made.namespace)
    return found[forward[0]], [found[n] for n in forward[1:]], [found[n] for n in serial], found[adjoint]


class _Order:
    """Order in which stages read and write work arrays, by position among the arguments."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: list[tuple[set[int], set[int]]] = []

    def note(self, names: list[str], read: set[str], written: set[str]) -> None:
        """Note one function; the last stage comes first, and the force last of all."""
        self.seen.append(({names.index(n) for n in read}, {names.index(n) for n in written}))

    def check(self, stages: int) -> None:
        """Raise UnderivableError if an array is read before, or while, it is written: its values would be lost."""
        passes = [*self.seen[:stages][::-1], self.seen[stages]]
        for k, (read, _) in enumerate(passes):
            later = set().union(*(written for _, written in passes[k:]))
            if read & later:
                raise UnderivableError(
                    f"{self.name}: pass {k} of its stages reads a work array that this pass or a later one changes"
                )


def _transpose(function: Any, key: tuple[Any, int, tuple[str, ...]], du: int | None, order: _Order) -> Any:
    """Return the adjoint of a pass; ``du`` is the width of the force, None for a stage."""
    real, params, kinds = key
    names = parameter_names(function)
    i, t, q, u, *rest = names
    data, given, work = rest[: len(real)], rest[len(real) : len(real) + params], rest[len(real) + params :]

    def shared(name: str) -> Array:
        return Array(name, "shared", cotangent=f"adj_{name}")

    spaces = [shared(n) if kind == "float" else Array(n, "whole") for n, kind in zip(work, kinds, strict=True)]
    args = (Whole(i, own=True), make_clock(t), shared(q), shared(u),
            *(Array(n, "real" if kind else "whole") for n, kind in zip(data, real, strict=True)),
            *map(shared, given), *spaces)  # fmt: skip
    floats = [f"adj_{n}" for n, kind in zip(work, kinds, strict=True) if kind == "float"]
    extra = (*floats, f"adj_{q}", f"adj_{u}", "adj_f", *(f"adj_{n}" for n in given))
    return derive_by_convention(
        function,
        Convention(args, extra, _force_seed(i, du), lambda found, states: [], number_in(q),
                   functools.partial(order.note, names)),
    )  # fmt: skip


def _force_seed(i: str, du: int | None) -> Callable[[Cotangents, Any], None]:
    """Return the function that adds the cotangent of the force on a node."""

    def seed(found: Cotangents, result: Any) -> None:
        if du is not None:
            row = ", ".join(f"adj_f[{i}, {c}]" for c in range(du))
            text = f"{found.writer(ld3)}(adj_f, {i})" if du == 3 else f"({row},)"
            found.add(result, found.writer.name(text, "adj_result", du))

    return seed


class _Wrappers:
    """Device functions with the arguments of the new work, as text.

    Args:
        names: Parameters of the force.
        space: Names of the new work: cotangents of the work, of q and of u.
        cotangents: Names of the cotangents that adjoints take.
    """

    def __init__(self, names: list[str], space: list[str], cotangents: list[str]) -> None:
        self.names, self.space, self.cotangents = names, space, cotangents
        self.texts: list[str] = []
        self.namespace: dict[str, Any] = {}

    @property
    def text(self) -> str:
        """Source of the module."""
        title = '"""Passes of a force in stages, and their transposes."""'
        return "\n\n\n".join([title, *self.texts]) + "\n"

    def _add(self, name: str, doc: str, parameters: list[str], body: list[str]) -> str:
        """Add a function and return its name."""
        lines = "\n".join(f"    {line}" for line in body)
        self.texts.append(f'@device\ndef {name}({", ".join(parameters)}):\n    """{doc}"""\n{lines}')
        return name

    def _bind(self, function: Any) -> str:
        """Return the global name of a function."""
        name = f"{function.__name__}_{len(self.namespace)}"
        self.namespace[name] = function
        return name

    def forward(self, function: Any) -> str:
        """Add a pass that leaves the new work alone."""
        call = f"return {self._bind(function)}({', '.join(self.names)})"
        return self._add(f"pass_{len(self.texts)}", "Run the pass.", [*self.names, *self.space], [call])

    def loop(self, function: Any, count: int) -> str:
        """Add an adjoint that runs over all items in turn."""
        i, *rest = [*self.names, *self.space, *self.cotangents]
        call = f"{self._bind(function)}({', '.join([i, *rest])})"
        lines = [f"for {i} in range({count}):", f"    {call}"]
        return self._add(f"adjoint_{len(self.texts)}", "Transpose of a pass.", ["one", *rest], lines)

    def clear(self, axes: tuple[int, ...]) -> str:
        """Add the pass that sets the new work to zero; ``axes`` are the numbers of axes of each array."""
        lines = [f"zero = {self.names[2]}.dtype.type(0)"]
        for name, count in zip(self.space, axes, strict=True):
            index = [f"k{axis}" for axis in range(count)]
            lines += [f"{'    ' * axis}for k{axis} in range({name}.shape[{axis}]):" for axis in range(count)]
            lines.append(f"{'    ' * count}{name}[{', '.join(index)}] = zero")
        parameters = ["one", *self.names[1:], *self.space, *self.cotangents]
        return self._add("clear_cotangents", "Set the cotangents of work and state to zero.", parameters, lines)

    def collect(self, dq: int, du: int) -> str:
        """Add the adjoint that returns the cotangents of the state of one node."""
        i = self.names[0]
        parts = []
        for name, width in ((self.space[-2], dq), (self.space[-1], du)):
            parts.append("(" + ", ".join(f"{name}[{i}, {c}]" for c in range(width)) + ",)")
        parameters = [*self.names, *self.space, *self.cotangents]
        lines = [f"return {', '.join(parts)}"]
        return self._add("state_cotangents", "Return the cotangents of node i.", parameters, lines)
