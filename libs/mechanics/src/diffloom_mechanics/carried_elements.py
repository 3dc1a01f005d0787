"""Elements with corners on bodies that nodes of another kind carry, such as a spring that holds a link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from diffloom_mechanics.carried_bodies import CarriedBodies, carried_term, rearranged
from diffloom_mechanics.terms import ElementTerm, NodeTerm, Stage

#: Widths of the rows that elements write for particles and for rigid bodies.
_SLOTS = {False: 4, True: 8}


def carried_elements(
    term: ElementTerm, bodies: Mapping[str, bool], carried: Mapping[str, CarriedBodies]
) -> tuple[NodeTerm, ...]:
    """A term of one corner in each of its node sets as node terms on these.

    bodies: whether the corners in a set are rigid bodies (else particles). carried: the sets whose nodes carry them.
    Every side computes the element; the first alone has its parameters' gradient.
    """
    names = list(term.corners)
    made = []
    for own in names:
        other = next((name for name in names if name != own), None)
        side = _side(term, own, other, bodies, with_gradient=own == names[0])
        made.append(carried_term(side, carried.get(own), None if other is None else carried.get(other)))
    return tuple(made)


def _side(
    term: ElementTerm, own: str, other: str | None, bodies: Mapping[str, bool], *, with_gradient: bool
) -> NodeTerm:
    """What a term does to the nodes of the set ``own``."""
    from diffloom_mechanics.carried_body_kernels import COLLECT

    order = list(term.corners)
    ends = [own] if other is None else [own, other]
    params = [(name, value if with_gradient else value.detach()) for name, value in term.params]
    data = [*(f"c{k}" for k in range(len(term.constants))), *(f"p{k}" for k in range(len(params)))]
    written = [(name, what) for name in ends for what in ("f", "q", "u")]
    names = ["clock", *(f"{what} {name}" for name in ends for what in ("state", "speed"))]
    names += [f"nodes {name}" for name in order] + data + [f"{what} {name}" for name, what in written]
    names_back = [*names, *(f"adj {name}" for name in ends), *(f"adj p{k}" for k in range(len(params)))]

    def at(given: list[str]) -> tuple[int, ...]:
        return tuple(map(names_back.index, given))

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
        rearranged(gather_force, len(names), at([f"nodes {own}", f"f {own}"])),
        rearranged(gather_cotangents, len(names_back), at([f"nodes {own}", f"q {own}", f"u {own}"])),
        constants=(*term.corners.values(), *term.constants),
        params=tuple(params),
        work=tuple(slots),
        stages=(Stage(term.count, rearranged(term.force, len(names), at(forward))),),
        adjoint_stages=(Stage(term.count, rearranged(term.adjoint, len(names_back), at(backward))),),
        on=own,
        reads=other,
        shared=tuple(name for name, _ in params),
    )
