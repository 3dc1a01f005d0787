"""Terms between rigid bodies applied to nodes of another kind that carry the bodies, as a tree carries its links.

Nodes that carry bodies say where these are, and how a force on a body acts on their own coordinates. Stages place the
bodies in a workspace, the term's own functions run on that as on any node set, and forces and cotangents go back
through the transpose. The term itself is not changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal

from diffloom.interfaces import InputError
from diffloom_kernels import device
from diffloom_mechanics.node_sets import CarriedBodies, NamedTensor, Work
from diffloom_mechanics.records import Device
from diffloom_mechanics.terms import ElementTerm, NodeTerm, TermStage


def build_carried_term(
    term: NodeTerm, own: CarriedBodies | None = None, other: CarriedBodies | None = None
) -> NodeTerm:
    """Return a term between rigid bodies on nodes that carry them.

    Args:
        term: Term made for rigid bodies.
        own: Bodies that the nodes of the term carry; None where the nodes are bodies.
        other: Bodies that the nodes which the term reads carry; None where these are bodies.

    Returns:
        The term on the carrying nodes.

    Raises:
        InputError: The term acts on some nodes only, or has values per step.
    """
    if own is None and other is None:
        return term
    if own is not None and (term.only is not None or term.per_step):
        raise InputError(
            f"term {term.name!r}: got only= or per_step=; a term on carried bodies, such as links, takes neither"
        )
    from diffloom_mechanics.carried_body_kernels import store_cotangents, store_force

    parts = _Parts(term, own, other)
    stages = [*parts.placing, *(TermStage(s.count, parts.forward(s.body, parts.given)) for s in term.stages)]
    back = [
        *parts.moving,
        *(TermStage(s.count, parts.backward(s.body, parts.given_adjoint)) for s in term.adjoint_stages),
    ]
    if own is None:
        force = parts.forward(term.force, parts.given)
        adjoint = parts.backward(term.adjoint, parts.given_adjoint)
    else:
        stages.append(TermStage(own.count, parts.forward(store_force, ["own.f"], term.force)))
        back.append(TermStage(own.count, parts.backward(store_cotangents, ["own.c"], term.adjoint)))
        arrays = parts.arrays("own")
        force = parts.forward(own.force, [*arrays, "own.q", "own.f"])
        given = ["q", "u", "adj_f", *arrays, "own.q", "own.f", "own.c"]
        adjoint = parts.backward(own.adjoint, [*given, *(f"adj own.p{k}" for k in range(len(own.params)))])
    return replace(
        term,
        force=force,
        adjoint=adjoint,
        constants=parts.constants,
        params=parts.params,
        work=parts.work,
        stages=tuple(stages),
        adjoint_stages=tuple(back),
        neighbours=None,
        shared=tuple(name for name, _ in parts.params) if own is not None else (*term.shared, *parts.added),
        count=None,
    )


class _Parts:
    """Arrays of a carried term by name, in the order in which its functions take them.

    given, given_adjoint: names that the term's own functions take, forwards and backwards.
    """

    def __init__(self, term: NodeTerm, own: CarriedBodies | None, other: CarriedBodies | None) -> None:
        self._carried = {key: each for key, each in (("own", own), ("other", other)) if each is not None}
        owners: dict[str, NodeTerm | CarriedBodies] = {"term": term, **self._carried}
        self.constants = tuple(c for owner in owners.values() for c in owner.constants)
        self.params = (*term.params, *(named for key in self._carried for named in self._own_params(key)))
        self.added = tuple(name for key in self._carried for name, _ in self._own_params(key))
        self.work = (*term.work, *(w for key in self._carried for w in self._own_work(key)))
        pair = ["q_o", "u_o"] if term.reads is not None else []
        params = [f"{key}.p{k}" for key, owner in owners.items() for k in range(len(owner.params))]
        names = ["clock", "q", "u", *pair]
        names += [f"{key}.c{k}" for key, owner in owners.items() for k in range(len(owner.constants))]
        names += params
        names += [f"term.w{k}" for k in range(len(term.work))]
        for key, carried in self._carried.items():
            names += [f"{key}.w{k}" for k in range(len(carried.work))]
            names += [f"{key}.{name}" for name in ("q", "u", "f", "m", "c")]
        self._names = names
        cotangents = ["adj_f", *(["adj_o"] if pair else [])]
        self._names_adjoint = [*names, *cotangents, *(f"adj {name}" for name in params)]
        self.given = ["clock", *self._state("own", "q", "u"), *(self._state("other", "q_o", "u_o") if pair else [])]
        self.given += self.arrays("term", term)
        self.given_adjoint = [*self.given, "own.m" if own else "adj_f"]
        self.given_adjoint += ["other.m" if other else "adj_o"] if pair else []
        self.given_adjoint += [f"adj term.p{k}" for k in range(len(term.params))]
        self.placing = [self._stage(key, "place") for key in self._carried]
        self.moving = [self._stage(key, "move") for key in self._carried]

    def _own_params(self, key: str) -> Sequence[NamedTensor]:
        """Return the parameters of carried bodies. Gradients by those of the second side belong to its own term."""
        params = self._carried[key].params
        return [(f"{key} {name}", value if key == "own" else value.detach()) for name, value in params]

    def _own_work(self, key: str) -> Sequence[Work]:
        """Return the workspaces of the bodies: their own, and state, forces, motions and cotangents."""
        count = self._carried[key].count
        return [*self._carried[key].work, *(((count, width), "float") for width in (7, 6, 6, 6, 13))]

    def _state(self, key: str, q: str, u: str) -> list[str]:
        return [f"{key}.q", f"{key}.u"] if key in self._carried else [q, u]

    def arrays(self, key: str, owner: NodeTerm | CarriedBodies | None = None) -> list[str]:
        """Return the names of an owner's constants, params and work."""
        owner = owner or self._carried[key]
        counts = (("c", owner.constants), ("p", owner.params), ("w", owner.work))
        return [f"{key}.{kind}{k}" for kind, group in counts for k in range(len(group))]

    def _stage(self, key: str, what: Literal["place", "move"]) -> TermStage:
        """Return the pass that places the bodies, or that moves them backwards."""
        carried, suffix = self._carried[key], "" if key == "own" else "_o"
        if what == "place":
            given = [f"q{suffix}", f"u{suffix}", *self.arrays(key), f"{key}.q", f"{key}.u"]
            return TermStage(carried.nodes, self.forward(carried.place, given))
        cotangent = "adj_f" if key == "own" else "adj_o"
        given = [cotangent, *self.arrays(key), f"{key}.q", f"{key}.m"]
        return TermStage(carried.nodes, self.backward(carried.move, given))

    def forward(self, function: Device, given: list[str], inner: Device = None) -> Device:
        """Return a device function of all arrays that calls ``function`` with those in ``given``, after the result of
        ``inner``.
        """
        return self._calls(self._names, function, given, inner, self.given)

    def backward(self, function: Device, given: list[str], inner: Device = None) -> Device:
        """Return a device function of all arrays and cotangents that calls ``function`` with those in ``given``."""
        return self._calls(self._names_adjoint, function, given, inner, self.given_adjoint)

    @staticmethod
    def _calls(names: list[str], function: Device, given: list[str], inner: Device, inner_given: list[str]) -> Device:
        at, inner_at = (tuple(map(names.index, group)) for group in (given, inner_given if inner is not None else []))
        return rearrange_arguments(function, len(names), at, inner, inner_at)


@cache
def rearrange_arguments(
    function: Device, takes: int, at: tuple[int, ...], inner: Device = None, inner_at: tuple[int, ...] = ()
) -> Device:
    """Return a device function of i and ``takes`` further arguments that calls ``function`` with some of them.

    It calls function(i, those at ``at``), with the results of inner(i, those at ``inner_at``) after i if there is an
    inner function. Its source is written out, because compilers for CUDA take no functions of any number of arguments.
    """
    names = [f"a{k}" for k in range(takes)]
    within = [] if inner is None else [f"inner({', '.join(['i', *(names[k] for k in inner_at)])})"]
    call = f"function({', '.join(['i', *within, *(names[k] for k in at)])})"
    found: dict[str, Any] = {"function": function, "inner": inner}
    exec(f"def rearrange_arguments({', '.join(['i', *names])}):\n    return {call}\n", found)
    return device(found["rearrange_arguments"])


#: Widths of the rows that elements write for particles and for rigid bodies.
_SLOTS = {False: 4, True: 8}


def build_carried_elements(
    term: ElementTerm, bodies: Mapping[str, bool], carried: Mapping[str, CarriedBodies]
) -> tuple[NodeTerm, ...]:
    """Return a term with one corner in each of its node sets as node terms on these sets.

    Every side computes the element; the first alone has the gradients of its parameters.

    Args:
        term: The element term.
        bodies: By node set, True if its corners are rigid bodies, False if they are particles.
        carried: Bodies of the sets whose nodes carry them.

    Returns:
        One node term for each set.
    """
    names = list(term.corners)
    made = []
    for own in names:
        other = next((name for name in names if name != own), None)
        side = _side(term, own, other, bodies, with_gradient=own == names[0])
        made.append(build_carried_term(side, carried.get(own), None if other is None else carried.get(other)))
    return tuple(made)


def _side(
    term: ElementTerm, own: str, other: str | None, bodies: Mapping[str, bool], *, with_gradient: bool
) -> NodeTerm:
    """Return the action of a term on the nodes of the set ``own``."""
    from diffloom_mechanics.carried_body_kernels import COLLECT

    order = list(term.corners)
    ends = [own] if other is None else [own, other]
    params = [(name, value if with_gradient else value.detach()) for name, value in term.params]
    data = [*(f"c{k}" for k in range(len(term.constants))), *(f"p{k}" for k in range(len(params)))]
    written = [(name, what) for name in ends for what in ("f", "q", "u")]
    names = ["clock", *(f"{what} {name}" for name in ends for what in ("state", "speed"))]
    names += [f"nodes {name}" for name in order] + data + [f"{what} {name}" for name, what in written]
    names_adjoint = [*names, *(f"adj {name}" for name in ends), *(f"adj p{k}" for k in range(len(params)))]

    def at(given: list[str]) -> tuple[int, ...]:
        return tuple(map(names_adjoint.index, given))

    state = [f"{what} {name}" for name in order for what in ("state", "speed", "nodes")]
    forward = ["clock", *state, *data, *(f"f {name}" for name in order)]
    backward = ["clock", *state, *data, *(f"adj {name}" for name in order)]
    backward += [f"{what} {name}" for name in order for what in ("q", "u")]
    backward += [f"adj p{k}" for k in range(len(params))]
    gather_force, gather_cotangents = COLLECT[bodies[own]]
    slots: list[tuple[tuple[int, ...], Literal["float", "int"]]] = [
        ((term.count, 1, _SLOTS[bodies[name]]), "float") for name, _ in written
    ]
    return NodeTerm(
        f"{term.name}.{own}",
        rearrange_arguments(gather_force, len(names), at([f"nodes {own}", f"f {own}"])),
        rearrange_arguments(gather_cotangents, len(names_adjoint), at([f"nodes {own}", f"q {own}", f"u {own}"])),
        constants=(*term.corners.values(), *term.constants),
        params=tuple(params),
        work=tuple(slots),
        stages=(TermStage(term.count, rearrange_arguments(term.force, len(names), at(forward))),),
        adjoint_stages=(TermStage(term.count, rearrange_arguments(term.adjoint, len(names_adjoint), at(backward))),),
        on=own,
        reads=other,
        shared=tuple(name for name, _ in params),
    )
