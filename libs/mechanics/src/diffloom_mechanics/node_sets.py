"""Kinds of node: how a force becomes an acceleration, and how a velocity moves coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_mechanics.records import Device

if TYPE_CHECKING:
    from diffloom_mechanics.carried_bodies import Carries
    from diffloom_mechanics.contact.point_clusters import ContactPoints
    from diffloom_mechanics.contact.touching import TouchingBodies, TouchingLinks, TouchingSkin

Named = tuple[str, Tensor]


@dataclass(frozen=True)
class Motion:
    """How nodes move while no force acts, with adjoints. Values are tuples of numbers, arrays are the node set's.

    drift(i, h, q, u, *arrays) -> q, u: free motion of node i over h [s]; a body that tumbles changes its u too.
    drift_adjoint(i, h, q, u, *arrays, adj_q, adj_u, *adj_arrays) -> adj_q, adj_u: its transpose for the cotangents of
    the result; adds to rows i of adj_arrays.
    rate(i, q, u, *arrays) -> q', u': the time derivative of free motion; with rate_adjoint(i, q, u, *arrays, adj_q',
    adj_u', *adj_arrays) -> adj_q, adj_u. Only schemes that combine rates (Runge-Kutta) need it.
    project(i, q) -> q: back to where coordinates are valid (unit quaternions) after rates were added to them; with
    project_adjoint(i, q, adj_q) -> adj_q. None where they always are.
    kicked_drift(i, kick, drift, q, u, f, *arrays) -> q, u: a kick under f for a time ``kick`` and free motion for
    ``drift`` in one, where that is quicker; with kicked_drift_adjoint(i, kick, drift, q, u, f, *arrays, adj_q, adj_u,
    *adj_arrays) -> adj_q, adj_u, adj_f.
    """

    drift: Device
    drift_adjoint: Device
    rate: Device = None
    rate_adjoint: Device = None
    project: Device = None
    project_adjoint: Device = None
    kicked_drift: Device = None
    kicked_drift_adjoint: Device = None


@dataclass(frozen=True)
class NodeSet:
    """Nodes of one kind, such as particles, rigid bodies or joint angles.

    dq, du: numbers of coordinates and velocities of a node, 1 or more; a force has du numbers. arrays: names and
    tensors (nodes,) or (nodes, c), differentiable, at least one.

    acceleration(i, q, u, f, *arrays) -> du numbers: of node i under the force f, what free motion does left out.
    acceleration_adjoint(i, q, u, f, *arrays, adj, *adj_arrays) -> adj_q, adj_u, adj_f; adds to rows i of adj_arrays.
    motion: how nodes move between forces; by default q' = u (then dq = du).
    force_needed_by: the arrays whose gradient needs the true f backwards; when none of them is asked for, f arrives as
    zeros there and a pass over the elements is saved. None means that f is always needed.
    contact_points: of rigid bodies (q: place and unit quaternion, u: velocity and angular velocity), where they touch
    obstacles. Particles touch at their places.
    touches: with what the nodes touch other bodies of a world; particles without it touch at their places. carries:
    rigid bodies that move with the nodes, such as links of trees, which others can hold.
    lanes: whether its functions also serve scenes side by side, one a SIMD lane: they must not branch on data (see
    docs/design.md). shared: arrays that say how nodes are made and are the same in all scenes, without gradient.
    """

    name: str
    dq: int
    du: int
    acceleration: Device
    acceleration_adjoint: Device
    arrays: tuple[Named, ...]
    motion: Motion | None = None
    force_needed_by: tuple[str, ...] | None = None
    contact_points: ContactPoints | None = None
    touches: TouchingBodies | TouchingLinks | TouchingSkin | None = None
    lanes: bool = False
    shared: tuple[str, ...] = ()
    carries: Carries | None = None

    def __post_init__(self) -> None:
        if self.dq < 1 or self.du < 1:
            raise InputError(f"{self.name}: got dq = {self.dq} and du = {self.du}; expected 1 or more numbers a node")
        if self.motion is None and self.dq != self.du:
            raise InputError(
                f"{self.name}: got dq = {self.dq} and du = {self.du} without a motion; q' = u needs equal numbers"
            )
        if not self.arrays:
            raise InputError(f"{self.name}: got no arrays; expected at least one, such as the nodes' masses")
        for name, value in self.arrays:
            if value.dim() not in (1, 2) or value.shape[0] != self.count:
                raise InputError(
                    f"{self.name}, {name!r}: got shape {tuple(value.shape)}; expected ({self.count},) or "
                    f"({self.count}, c), one row a node"
                )

    @cached_property
    def count(self) -> int:
        """Number of nodes."""
        value = self.arrays[0][1]
        return int(value.shape[0]) if value.dim() else 0

    @property
    def slot(self) -> int:
        """Width of the rows in which elements leave what a node gathers."""
        return -(-max(self.dq, self.du) // 4) * 4
