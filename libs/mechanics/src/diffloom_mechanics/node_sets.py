"""Node sets: how a force becomes an acceleration, how a velocity moves coordinates, and which bodies nodes touch or
carry.
"""

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

#: Kinds of shapes by name, with their numbers in the kernels.
SHAPE_KINDS = {"sphere": 0, "box": 1, "capsule": 2, "mesh": 3}


@dataclass(frozen=True)
class NodeMotion:
    """Motion of nodes while no force acts, as device functions with adjoints.

    Values are tuples of numbers; ``arrays`` are those of the node set. An adjoint adds to rows i of ``adj_arrays``; one
    that is None is derived from the source of its function.

    Args:
        drift: ``drift(i, h, q, u, *arrays) -> q, u``: free motion of node i over h [s]. A tumbling body changes its u
            too.
        drift_adjoint: ``drift_adjoint(i, h, q, u, *arrays, adj_q, adj_u, *adj_arrays) -> adj_q, adj_u``: the transpose
            of ``drift`` for the cotangents of its result.
        rate: ``rate(i, q, u, *arrays) -> q', u'``: time derivative of free motion. Only schemes that combine rates
            (Runge-Kutta) need it.
        rate_adjoint: ``rate_adjoint(i, q, u, *arrays, adj_q', adj_u', *adj_arrays) -> adj_q, adj_u``.
        project: ``project(i, q) -> q``: valid coordinates (unit quaternions) after rates were added to them. None where
            coordinates are always valid.
        project_adjoint: ``project_adjoint(i, q, adj_q) -> adj_q``.
        kicked_drift: ``kicked_drift(i, kick, drift, q, u, f, *arrays) -> q, u``: a kick under f for the time ``kick``
            and free motion for ``drift``, fused where that is faster.
        kicked_drift_adjoint: ``kicked_drift_adjoint(i, kick, drift, q, u, f, *arrays, adj_q, adj_u, *adj_arrays) ->
            adj_q, adj_u, adj_f``.
    """

    drift: Device
    drift_adjoint: Device = None
    rate: Device = None
    rate_adjoint: Device = None
    project: Device = None
    project_adjoint: Device = None
    kicked_drift: Device = None
    kicked_drift_adjoint: Device = None

    @property
    def has_adjoints(self) -> bool:
        """True if each function brings its adjoint."""
        names = ("drift", "rate", "project", "kicked_drift")
        return all(getattr(self, n) is None or getattr(self, f"{n}_adjoint") is not None for n in names)


@dataclass(frozen=True)
class NodeSet:
    """Nodes of one kind, such as particles, rigid bodies or joint angles.

    Args:
        name: Name of the kind, such as "particles".
        dq: Number of coordinates of a node, 1 or more.
        du: Number of velocities of a node, 1 or more; a force has du numbers.
        acceleration: Device function ``acceleration(i, q, u, f, *arrays) -> du numbers``: acceleration of node i under
            the force f, free motion left out.
        acceleration_adjoint: ``acceleration_adjoint(i, q, u, f, *arrays, adj, *adj_arrays) -> adj_q, adj_u, adj_f``;
            adds to rows i of ``adj_arrays``. None: it is derived from the source of ``acceleration``.
        arrays: Names and differentiable tensors (nodes,) or (nodes, c), at least one.
        motion: Motion between forces; q' = u by default, which needs dq = du.
        force_needed_by: Arrays whose gradient needs the true f backwards. When none of their gradients is asked for, f
            is zero there, and a pass over the elements is saved. Arrays whose adjoints read f, or the velocity that f
            changed, are added from the source of the adjoints. None: f is always needed.
        contact_points: Points at which rigid bodies (q: place and unit quaternion, u: velocity and angular velocity)
            touch obstacles. Particles touch at their places.
        touches: Surface with which the nodes touch the bodies of a world; particles without one touch at their places.
        lanes: True if the device functions also serve scenes side by side, one per SIMD lane; they must not branch on
            data (see docs/design.md).
        shared: Arrays without gradient that are equal in all scenes.
        carries: Rigid bodies that move with the nodes, such as links of trees, to which attachments can be fixed.
        refuses: Function from the name of an integrator to the reason why it must not advance these nodes, or None;
            for nodes that mean what they should under some schemes only.
    """

    name: str
    dq: int
    du: int
    acceleration: Device
    acceleration_adjoint: Device = None
    arrays: tuple[NamedTensor, ...] = ()
    motion: NodeMotion | None = None
    force_needed_by: tuple[str, ...] | None = None
    contact_points: ContactPoints | None = None
    touches: TouchingBodies | TouchingLinks | TouchingSkin | None = None
    lanes: bool = False
    shared: tuple[str, ...] = ()
    carries: CarriedLinks | None = None
    refuses: Callable[[str], str | None] | None = None

    def __post_init__(self) -> None:
        if self.dq < 1 or self.du < 1:
            raise InputError(f"{self.name}: got dq = {self.dq} and du = {self.du}; expected 1 or more numbers per node")
        if self.motion is None and self.dq != self.du:
            raise InputError(
                f"{self.name}: got dq = {self.dq} and du = {self.du} without a motion; "
                "expected equal numbers, which q' = u needs, or a motion"
            )
        if not self.arrays:
            raise InputError(f"{self.name}: got no arrays; expected at least one, such as the nodes' masses")
        for name, value in self.arrays:
            if value.dim() not in (1, 2) or value.shape[0] != self.count:
                raise InputError(
                    f"{self.name}, {name!r}: got shape {tuple(value.shape)}; expected ({self.count},) or "
                    f"({self.count}, c), one row per node"
                )

    @cached_property
    def count(self) -> int:
        """Number of nodes."""
        value = self.arrays[0][1]
        return int(value.shape[0]) if value.dim() else 0

    @property
    def has_adjoints(self) -> bool:
        """True if acceleration and motion bring their adjoints."""
        return self.acceleration_adjoint is not None and (self.motion is None or self.motion.has_adjoints)

    @property
    def slot(self) -> int:
        """Width of the rows in which elements store forces for a node to gather."""
        return -(-max(self.dq, self.du) // 4) * 4


@dataclass(frozen=True)
class ContactPoints:
    """Contact points in the frames of their bodies, ordered by body and cluster.

    Body i has the clusters ``cluster_starts[i]:cluster_starts[i + 1]``, cluster c the points
    ``point_starts[c]:point_starts[c + 1]``.

    Args:
        reach: Distance (bodies,) of the farthest touching point from the centre [m].
        roundness: Radius (bodies,) of the ball around each point [m].
        cluster_starts: First cluster (bodies + 1,) of each body.
        cluster_centre: Centres (clusters, 3) [m].
        cluster_radius: Radii (clusters,) [m] of balls that hold the points of a cluster.
        point_starts: First point (clusters + 1,) of each cluster.
        points: Points (points, 3) [m].
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
        """Arrays in the order of the kernels' arguments."""
        return (
            self.reach, self.roundness, self.cluster_starts, self.cluster_centre, self.cluster_radius,
            self.point_starts, self.points,
        )  # fmt: skip


@dataclass(frozen=True)
class CarriedBodies:
    """Rigid bodies that the nodes of one set carry, with the device functions that place and move them.

    The functions of node t read ``arrays``, that is constants, params (differentiable) and work, and write the rows of
    its own bodies alone. Bodies have q (place and unit quaternion) and u (velocity and angular velocity, world axes).
    ``move``, ``force`` and ``adjoint`` are called after ``place``, at the same state.

    Args:
        count: Number of bodies.
        nodes: Number of nodes.
        place: ``place(t, q, u, *arrays, q_b, u_b)`` writes q and u of its bodies.
        move: ``move(t, b, *arrays, q_b, m)`` writes the body motions m = J b for node velocities b (nodes, du).
        force: ``force(t, *arrays, q_b, f) -> du numbers``: J^T f for forces and torques f (bodies, 6).
        adjoint: ``adjoint(t, q, u, adj_f, *arrays, q_b, f, c, *adj_params) -> adj_q, adj_u``: transpose of ``force``
            for the cotangent adj_f (nodes, du) of J^T f, and of ``place`` for the cotangent c (bodies, 13) of the
            bodies' states.
        constants: Arrays without gradient.
        params: Names and differentiable tensors.
        work: Shape and kind of each workspace.
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
    """Carried bodies that attachments can name.

    Args:
        names: Names of the bodies.
        bodies: Function that returns the bodies.
        places: Function from coordinates q (nodes, dq) to rotation matrices (bodies, 3, 3) and origins (bodies, 3) [m].
    """

    names: tuple[str, ...]
    bodies: Callable[[], CarriedBodies]
    places: Callable[[Tensor], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class ShapeArrays:
    """Shapes of all bodies of a node set, as arrays for the kernels.

    Args:
        kind: Number (bodies,) of each shape in ``SHAPE_KINDS``.
        dims: Sizes (bodies, 3) of exact shapes [m].
        low: Lower corners (bodies, 3) of bounding boxes [m].
        high: Upper corners (bodies, 3) of bounding boxes [m].
        grid_start: Index (bodies,) of the first distance of each mesh in ``grid_values``.
        grid_size: Nodes (bodies, 3) of each grid along its axes.
        grid_origin: Lowest node (bodies, 3) of each grid [m].
        grid_cell: Cell width (bodies,) of each grid [m].
        grid_values: Signed distances of all grids [m].
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
        """Arrays in the order of the kernels' arguments."""
        return (
            self.kind, self.dims, self.low, self.high, self.grid_start, self.grid_size, self.grid_origin,
            self.grid_cell, self.grid_values,
        )  # fmt: skip


@dataclass(frozen=True)
class TouchingBodies:
    """Rigid bodies (q: place and unit quaternion, u: velocity and angular velocity) that touch the bodies of a world.

    ``shapes`` and ``share`` are functions, because a body alone needs neither.

    Args:
        points: Contact points; their reach is -inf for a body that touches nothing.
        shapes: Function from a margin [m] to the shapes, whose signed distances are known up to this margin outside.
        share: Function that returns the fraction (bodies,) that each contact point takes of a parameter that counts for
            one point.
        carried: Device functions of bodies that nodes of another kind carry; None where the bodies are nodes.
        values: Contact parameters (bodies,) that replace those of the model, by name.
    """

    points: ContactPoints
    shapes: Callable[[float], ShapeArrays]
    share: Callable[[], NDArray[np.float64]]
    carried: CarriedBodies | None = None
    values: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class TouchingLinks:
    """Nodes that carry several bodies each, such as trees of links, and bring their own contact term.

    Args:
        term: ``term(name, shape, pose, size, given, contact) -> NodeTerm``: contact with a surface, with the arguments
            of ``contact.obstacle`` and the contact parameters that are ``given``.
        roundest: Largest radius [m] of a ball around a contact point.
        bodies: Function that returns a node set of the carried bodies, with TouchingBodies. Terms between bodies are
            made for it; ``build_carried_term`` transfers them to the nodes.
    """

    term: Callable[..., Any]
    roundest: float
    bodies: Callable[[], NodeSet]


@dataclass(frozen=True)
class TouchingSkin:
    """Particles whose triangles touch other bodies, with their corners too.

    Args:
        faces: Corners (faces, 3) of the triangles.
    """

    faces: NDArray[np.int32]
