"""Links of a tree: the joint that carries a link, its mass and its shapes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from diffloom_mechanics.contact import BodyShape

Vector = NDArray[np.float64]
Joint = Literal["fixed", "revolute", "prismatic", "ball", "free", "planar", "universal"]

FIXED, REVOLUTE, PRISMATIC, BALL = 0, 1, 2, 3
"""Kinds of simple joints, as the kernels number them; the remaining kinds are chains of these."""

VELOCITIES = {"fixed": 0, "revolute": 1, "prismatic": 1, "ball": 3, "free": 6, "planar": 3, "universal": 2}
"""Number of velocities of each kind of joint."""

DEFAULTS = {
    "velocity": 0.0, "armature": 0.0, "stiffness": 0.0, "rest": 0.0, "damping": 0.0, "friction": 0.0,
    "friction_speed": 0.05, "lower": -1e3, "upper": 1e3, "limit_stiffness": 0.0, "limit_damping": 0.1,
    "servo_stiffness": 0.0, "servo_damping": 0.0, "torque": 0.0, "target_position": 0.0, "target_velocity": 0.0,
}  # fmt: skip
"""Values of a joint for each of its velocities, with defaults."""


@dataclass(frozen=True)
class PieceBody:
    """A piece as a solid that touches other bodies.

    Args:
        solid: The solid, in axes of its own.
        place: Origin of these axes in the link's axes (3,) [m].
        turn: Quaternion of these axes (4,).
        points: Contact points in these axes (n, 3) [m].
        share: Shift along the link per growth of the link; None if the piece is stretched instead.
    """

    solid: BodyShape
    place: Vector
    turn: Vector
    points: Vector
    share: float | None


@dataclass(frozen=True)
class Piece:
    """A part of a link's surface.

    Args:
        vertices: Vertices (V, 3) in the link's axes [m].
        faces: Triangles (F, 3), outward.
        share: Shift (V,) of each vertex along the link per growth of the link.
        colour: RGB, or None.
        points: Points (n, 3) that touch surfaces [m].
        roundness: Radius of the ball around each point [m].
        point_share: Shift (n,) of each point along the link per growth of the link.
        body: The solid that touches other bodies, or None.
    """

    vertices: Vector
    faces: NDArray[np.int64]
    share: Vector
    colour: tuple[float, float, float] | None = None
    points: Vector = field(default_factory=lambda: np.zeros((0, 3)))
    roundness: float = 0.0
    point_share: Vector = field(default_factory=lambda: np.zeros(0))
    body: PieceBody | None = None


@dataclass(frozen=True)
class Link:
    """A rigid link and the joint between it and its parent.

    Args:
        name: Name within the tree.
        parent: Name of the parent, or None for the world.
        joint: Kind of the joint.
        axes: Unit vectors of the joint's velocities, in the joint's axes.
        position: Position of the joint in the parent's axes [m].
        orientation: Quaternion w, x, y, z of the joint in the parent's axes; at zero coordinates the link's axes are
            those of the joint.
        mass: Mass [kg].
        centre: Centre of mass in the link's axes [m].
        inertia: xx yy zz xy xz yz about the centre [kg m^2].
        length: Length [m] along ``along``.
        along: Unit vector of the direction of growth; zeros for a link that does not stretch.
        slender: True if mass is spread along the length, so that its second moment grows with it.
        coordinates: Start values of the scalar coordinates, in the joint's order.
        turn: Start quaternion of a ball joint.
        values: Values of DEFAULTS, one number for each velocity.
        contact: Values of contact parameters by name.
        pieces: Shapes of the link.
    """

    name: str
    parent: str | None
    joint: Joint
    axes: tuple[Vector, ...]
    position: Vector
    orientation: Vector
    mass: float
    centre: Vector
    inertia: Vector
    length: float = 1.0
    along: Vector = field(default_factory=lambda: np.zeros(3))
    slender: bool = False
    coordinates: Vector = field(default_factory=lambda: np.zeros(0))
    turn: Vector = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    values: dict[str, Vector] = field(default_factory=dict)
    contact: dict[str, float] = field(default_factory=dict)
    pieces: tuple[Piece, ...] = ()

    @property
    def simple_joints(self) -> tuple[tuple[int, Vector], ...]:
        """Chain of simple joints, kind and axis each, that makes up the joint; all but the last carry massless
        links.
        """
        x, y, z = np.eye(3)
        if self.joint == "free":
            return (PRISMATIC, x), (PRISMATIC, y), (PRISMATIC, z), (BALL, z)
        if self.joint == "planar":
            return (PRISMATIC, self.axes[0]), (PRISMATIC, self.axes[1]), (REVOLUTE, self.axes[2])
        if self.joint == "universal":
            return (REVOLUTE, self.axes[0]), (REVOLUTE, self.axes[1])
        if self.joint == "ball":
            return ((BALL, z),)
        if self.joint == "fixed":
            return ((FIXED, z),)
        return ((REVOLUTE if self.joint == "revolute" else PRISMATIC, self.axes[0]),)


@dataclass(frozen=True)
class Tree:
    """Links, parents before children.

    Args:
        name: Name for messages.
        links: The links.
    """

    name: str
    links: tuple[Link, ...]
