"""Kinds of node: how a force becomes an acceleration, how a velocity moves coordinates, what nodes touch and carry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_mechanics.records import Device

NamedTensor = tuple[str, Tensor]
Work = tuple[tuple[int, ...], Literal["float", "int"]]

#: Kinds of shapes, as body_shape_kernels numbers them.
SHAPE_KINDS = {"sphere": 0, "box": 1, "capsule": 2, "mesh": 3}


@dataclass(frozen=True)
class NodeMotion:
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
    arrays: tuple[NamedTensor, ...]
    motion: NodeMotion | None = None
    force_needed_by: tuple[str, ...] | None = None
    contact_points: ContactPoints | None = None
    touches: TouchingBodies | TouchingLinks | TouchingSkin | None = None
    lanes: bool = False
    shared: tuple[str, ...] = ()
    carries: CarriedLinks | None = None

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


@dataclass(frozen=True)
class ContactPoints:
    """Points in the bodies' frames, ordered by body and cluster.

    reach: (bodies,) farthest touching point from the centre [m]. roundness: (bodies,) radius of the ball around each
    point [m]. Body i has the clusters cluster_starts[i]:cluster_starts[i + 1], cluster c the points
    point_starts[c]:point_starts[c + 1], all within cluster_radius[c] of cluster_centre[c].
    """

    reach: NDArray[np.float64]
    roundness: NDArray[np.float64]
    cluster_starts: NDArray[np.int32]
    cluster_centre: NDArray[np.float64]
    cluster_radius: NDArray[np.float64]
    point_starts: NDArray[np.int32]
    points: NDArray[np.float64]

    @property
    def arrays(self) -> tuple[NDArray[np.generic], ...]:
        """In the order in which the kernels take them."""
        return (
            self.reach, self.roundness, self.cluster_starts, self.cluster_centre, self.cluster_radius,
            self.point_starts, self.points,
        )  # fmt: skip


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
    params: tuple[NamedTensor, ...] = ()
    work: tuple[Work, ...] = ()


@dataclass(frozen=True)
class CarriedLinks:
    """What the nodes of a set carry, for others to hold: the names of the bodies, these, and places(q) -> turns
    (bodies, 3, 3), origins (bodies, 3) [m] for coordinates q (nodes, dq)."""

    names: tuple[str, ...]
    bodies: Callable[[], CarriedBodies]
    places: Callable[[Tensor], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class ShapeArrays:
    """The shapes of all bodies of a node set as arrays for the kernels.

    kind: (bodies,) of SHAPE_KINDS. dims: (bodies, 3) sizes of exact shapes [m]. low, high: (bodies, 3) bounding boxes
    [m]. grid_start: (bodies,) where a mesh's distances begin in grid_values; grid_size, grid_origin, grid_cell: its
    grid.
    """

    kind: NDArray[np.int32]
    dims: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    grid_start: NDArray[np.int32]
    grid_size: NDArray[np.int32]
    grid_origin: NDArray[np.float64]
    grid_cell: NDArray[np.float64]
    grid_values: NDArray[np.float64]

    @property
    def arrays(self) -> tuple[NDArray[np.generic], ...]:
        """In the order in which the kernels take them."""
        return (
            self.kind, self.dims, self.low, self.high, self.grid_start, self.grid_size, self.grid_origin,
            self.grid_cell, self.grid_values,
        )  # fmt: skip


@dataclass(frozen=True)
class TouchingBodies:
    """Rigid bodies (q: place and unit quaternion, u: velocity and angular velocity) that touch others.

    points: where they do; reach is -inf for a body that touches nothing. shapes(margin): their signed distances, known
    up to ``margin`` [m] outside. share(): (bodies,) what part of a parameter that counts for one point each of these
    points takes. Both are found when they are asked for: a body alone needs neither.
    carried: how nodes of another kind carry them, None where they are nodes themselves. values: contact parameters
    (bodies,) that are not the model's own by name.
    """

    points: ContactPoints
    shapes: Callable[[float], ShapeArrays]
    share: Callable[[], NDArray[np.float64]]
    carried: CarriedBodies | None = None
    values: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class TouchingLinks:
    """Nodes that carry several bodies each, such as trees of links, and bring contact with a surface themselves.

    term(name, shape, pose, size, given, contact) -> NodeTerm, all as for an obstacle (`contact.obstacle`), with
    the contact parameters that are ``given``. roundest: the largest radius [m] of a ball around a touching point.
    bodies(): a node set that stands for what they carry, with TouchingBodies: terms between bodies are made for it, and
    carried_term puts them on the nodes themselves.
    """

    term: Callable[..., Any]
    roundest: float
    bodies: Callable[[], NodeSet]


@dataclass(frozen=True)
class TouchingSkin:
    """Particles whose triangles ``faces`` (faces, 3) touch others, and with their corners."""

    faces: NDArray[np.int32]
