"""Bodies that nodes of another kind carry, as a tree carries its links: terms made for rigid bodies act on them.

Nodes that carry bodies say where these are and what a force on one means for their own coordinates. Around a term
between rigid bodies that is enough: stages place the bodies in a workspace, the term's own functions run on that as on
any node set, and forces and cotangents go back through the transpose. The term is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_kernels import device
from diffloom_mechanics.node_sets import Named
from diffloom_mechanics.records import Device
from diffloom_mechanics.terms import NodeTerm, Stage

Work = tuple[tuple[int, ...], Literal["float", "int"]]


@dataclass(frozen=True)
class CarriedBodies:
    """``count`` rigid bodies that ``nodes`` nodes of one set carry, and the device functions that say how.

    The functions of node t read ``arrays``, that is constants, params (differentiable) and work, and write rows of its
    own bodies alone. Bodies have q (place and unit quaternion) and u (velocity and angular velocity, world's axes).
    place(t, q, u, *arrays, q_b, u_b) writes q and u of its bodies; the rest is called after it, at the same state.
    move(t, b, *arrays, q_b, m) writes the motions m = J b that bodies have by velocities b (nodes, du).
    force(t, *arrays, q_b, f) -> du numbers J^T f, for forces and torques f (bodies, 6).
    adjoint(t, q, u, adj_f, *arrays, q_b, f, c, *adj_params) -> adj_q, adj_u: what J^T f and the states of its bodies
    hand on, for the cotangent adj_f (nodes, du) of the former and c (bodies, 13) of the latter.
    """

    count: int
    nodes: int
    place: Device
    move: Device
    force: Device
    adjoint: Device
    constants: tuple[NDArray[Any], ...] = ()
    params: tuple[Named, ...] = ()
    work: tuple[Work, ...] = ()


@dataclass(frozen=True)
class Carries:
    """What the nodes of a set carry, for others to hold: the names of the bodies, these, and places(q) -> turns
    (bodies, 3, 3), origins (bodies, 3) [m] for coordinates q (nodes, dq)."""

    names: tuple[str, ...]
    bodies: Callable[[], CarriedBodies]
    places: Callable[[Tensor], tuple[Tensor, Tensor]]


def carried_term(term: NodeTerm, own: CarriedBodies | None = None, other: CarriedBodies | None = None) -> NodeTerm:
    """``term``, made for rigid bodies, on nodes that carry ``own`` bodies, or reading nodes that carry ``other``."""
    if own is None and other is None:
        return term
    if own is not None and (term.only is not None or term.per_step):
        raise InputError(
            f"term {term.name!r}: it acts on some bodies or has values per step; carried bodies take neither"
        )
    from diffloom_mechanics.carried_body_kernels import store_cotangents, store_force

    parts = _Parts(term, own, other)
    stages = [*parts.placing, *(Stage(s.count, parts.forward(s.body, parts.given)) for s in term.stages)]
    back = [*parts.moving, *(Stage(s.count, parts.backward(s.body, parts.given_back)) for s in term.adjoint_stages)]
    if own is None:
        force = parts.forward(term.force, parts.given)
        adjoint = parts.backward(term.adjoint, parts.given_back)
    else:
        stages.append(Stage(own.count, parts.forward(store_force, ["own.f"], term.force)))
        back.append(Stage(own.count, parts.backward(store_cotangents, ["own.c"], term.adjoint)))
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
    """The arrays of a carried term in the order in which its functions are given them, by names.

    given, given_back: what the term's own functions take of them, forwards and backwards.
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
        self._names_back = [*names, *cotangents, *(f"adj {name}" for name in params)]
        self.given = ["clock", *self._state("own", "q", "u"), *(self._state("other", "q_o", "u_o") if pair else [])]
        self.given += self.arrays("term", term)
        self.given_back = [*self.given, "own.m" if own else "adj_f"]
        self.given_back += ["other.m" if other else "adj_o"] if pair else []
        self.given_back += [f"adj term.p{k}" for k in range(len(term.params))]
        self.placing = [self._stage(key, "place") for key in self._carried]
        self.moving = [self._stage(key, "move") for key in self._carried]

    def _own_params(self, key: str) -> Sequence[Named]:
        """Parameters of carried bodies; the gradient by those of the other side is that of its own term."""
        params = self._carried[key].params
        return [(f"{key} {name}", value if key == "own" else value.detach()) for name, value in params]

    def _own_work(self, key: str) -> Sequence[Work]:
        """Its own, and the bodies' state, forces, motions and cotangents."""
        count = self._carried[key].count
        return [*self._carried[key].work, *(((count, width), "float") for width in (7, 6, 6, 6, 13))]

    def _state(self, key: str, q: str, u: str) -> list[str]:
        return [f"{key}.q", f"{key}.u"] if key in self._carried else [q, u]

    def arrays(self, key: str, owner: NodeTerm | CarriedBodies | None = None) -> list[str]:
        """The names of an owner's constants, params and work."""
        owner = owner or self._carried[key]
        counts = (("c", owner.constants), ("p", owner.params), ("w", owner.work))
        return [f"{key}.{kind}{k}" for kind, group in counts for k in range(len(group))]

    def _stage(self, key: str, what: Literal["place", "move"]) -> Stage:
        carried, suffix = self._carried[key], "" if key == "own" else "_o"
        if what == "place":
            given = [f"q{suffix}", f"u{suffix}", *self.arrays(key), f"{key}.q", f"{key}.u"]
            return Stage(carried.nodes, self.forward(carried.place, given))
        cotangent = "adj_f" if key == "own" else "adj_o"
        given = [cotangent, *self.arrays(key), f"{key}.q", f"{key}.m"]
        return Stage(carried.nodes, self.backward(carried.move, given))

    def forward(self, function: Device, given: list[str], inner: Device = None) -> Device:
        """A device function of all arrays that calls ``function`` with those ``given``, after what ``inner`` returns:
        a function of the term's."""
        return self._calls(self._names, function, given, inner, self.given)

    def backward(self, function: Device, given: list[str], inner: Device = None) -> Device:
        """The same of all arrays and cotangents."""
        return self._calls(self._names_back, function, given, inner, self.given_back)

    @staticmethod
    def _calls(names: list[str], function: Device, given: list[str], inner: Device, inner_given: list[str]) -> Device:
        at, inner_at = (tuple(map(names.index, group)) for group in (given, inner_given if inner is not None else []))
        return rearranged(function, len(names), at, inner, inner_at)


@cache
def rearranged(
    function: Device, takes: int, at: tuple[int, ...], inner: Device = None, inner_at: tuple[int, ...] = ()
) -> Device:
    """A device function of i and ``takes`` further arguments that calls function(i, those at ``at``), with what
    inner(i, those at ``inner_at``) returns behind i if there is an inner one.

    Compilers for CUDA take no functions of any number of arguments, so it is written out.
    """
    names = [f"a{k}" for k in range(takes)]
    within = [] if inner is None else [f"inner({', '.join(['i', *(names[k] for k in inner_at)])})"]
    call = f"function({', '.join(['i', *within, *(names[k] for k in at)])})"
    found: dict[str, Any] = {"function": function, "inner": inner}
    exec(f"def rearranged({', '.join(['i', *names])}):\n    return {call}\n", found)
    return device(found["rearranged"])
