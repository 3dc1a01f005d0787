"""One link of a tree: the joint that carries it, its mass, and what of it is drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from diffloom_mechanics.contact import BodyShape

Vector = NDArray[np.float64]
Joint = Literal["fixed", "revolute", "prismatic", "ball", "free", "planar", "universal"]

FIXED, REVOLUTE, PRISMATIC, BALL = 0, 1, 2, 3
"""Kinds of simple joints, as the kernels number them; all others are made of these."""

VELOCITIES = {"fixed": 0, "revolute": 1, "prismatic": 1, "ball": 3, "free": 6, "planar": 3, "universal": 2}
"""How many velocities a joint has."""

DEFAULTS = {
    "velocity": 0.0, "armature": 0.0, "stiffness": 0.0, "rest": 0.0, "damping": 0.0, "friction": 0.0,
    "friction_speed": 0.05, "lower": -1e3, "upper": 1e3, "limit_stiffness": 0.0, "limit_damping": 0.1,
    "servo_stiffness": 0.0, "servo_damping": 0.0, "torque": 0.0, "target_position": 0.0, "target_velocity": 0.0,
}  # fmt: skip
"""What a joint has for each of its velocities, in the order of the joint, with the value where nothing is said."""


@dataclass(frozen=True)
class PieceBody:
    """A piece as other bodies meet it: its solid in axes of its own, whose origin is at ``place`` (3,) [m] in the
    link's axes, turned by the quaternion ``turn`` (4,). points: (n, 3) [m] where it touches them, in its own axes.
    share: how far it moves along the link per length that the link grows; None where it is stretched instead."""

    solid: BodyShape
    place: Vector
    turn: Vector
    points: Vector
    share: float | None


@dataclass(frozen=True)
class Piece:
    """A part of a link's surface: vertices (V, 3) [m] in the link's axes, faces (F, 3) outwards, colour rgb or None.

    share: (V,) how far each vertex moves along the link per length that the link grows. points: (n, 3) [m] where the
    piece touches surfaces, each in a ball of the radius ``roundness`` [m]; point_share: as share, of these. body: what
    other bodies meet, None where it touches nothing.
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
    """A rigid link and the joint between it and its parent, or the world where it has none.

    position, orientation: of the joint in the parent's axes [m], quaternion w, x, y, z; at zero coordinates the link's
    axes are the joint's. axes: unit vectors of the joint's velocities in the joint's axes. mass [kg],
    centre: centre of mass in the link's axes [m], inertia: xx yy zz xy xz yz about it [kg m^2]. length [m] along the
    unit vector ``along`` (zeros: it does not stretch); slender: mass is spread along the length, so its second moment
    grows with it, else it sits where the centre is. coordinates: start values of the scalar coordinates in the joint's
    order, turn: start quaternion of its ball. values: of DEFAULTS, one number for each velocity. contact: values of
    contact parameters, by name, where it touches.
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
        """The joint as a chain of simple ones: kind and axis each; all but the last carry links without mass."""
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
    """Links, parents before children. name: for messages."""

    name: str
    links: tuple[Link, ...]
