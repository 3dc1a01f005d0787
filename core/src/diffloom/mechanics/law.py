"""How a kind of node moves under a force."""

from __future__ import annotations

from dataclasses import dataclass

from diffloom.mechanics.terms import Device, Named


@dataclass(frozen=True)
class NodeLaw:
    """One explicit step of a kind of node, such as particles or rigid bodies.

    dq, du: numbers of coordinates and velocities of a node; force has du numbers. slot: width of a slot row, at least
    dq, a multiple of 4. arrays: names and tensors (nodes,) or (nodes, c), differentiable.

    step(i, clock, q, u, f, *arrays, q_next, u_next) writes row i of the next state.
    step_adjoint(i, clock, q, u, f, *arrays, adj_q_next, adj_u_next, adj_q, adj_u, adj_f, *adj_arrays) reads rows i of
    the first two, writes rows i of adj_q, adj_u (direct part) and adj_f, and adds to rows i of adj_arrays.
    force_needed_by: the arrays whose gradient needs the true f; when none of them is asked for, f arrives as zeros
    and a pass over the elements is saved. None means that f is always needed.
    """

    name: str
    dq: int
    du: int
    slot: int
    step: Device
    step_adjoint: Device
    arrays: tuple[Named, ...]
    force_needed_by: tuple[str, ...] | None = None

    @property
    def count(self) -> int:
        """Number of nodes."""
        return int(self.arrays[0][1].shape[0])
