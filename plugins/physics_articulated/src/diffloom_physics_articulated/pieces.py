"""Shapes on links: their contact points, surfaces and masses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffloom.interfaces import InputError
from diffloom.validation import check_choice
from diffloom_geometry import Points, sample_surface
from diffloom_geometry.rotations import array_rotation_matrix
from diffloom_mechanics.contact import SHAPE_KINDS, BodyShape, read_rounding, read_spacing, sample_round_shape
from diffloom_physics_articulated.link import Piece, PieceBody, Vector
from diffloom_physics_articulated.shapes import LinkShape, read_shape

ROUND = ("sphere", "capsule")
WAYS = ("vertices", "surface", "round", "none")


def sample_contact_points(shape: LinkShape, table: Mapping[str, Any]) -> tuple[Points, Points, float]:
    """Return points that touch surfaces, points that touch other bodies, and the radius of the ball around each.

    Points that touch other bodies lie on vertices, edges and faces in any case.

    Args:
        shape: The shape.
        table: ``contact``: "vertices" (8 of a box), "surface" (with points on edges and faces at most ``spacing`` [m]
            apart), "round" (the default of spheres and capsules) or "none"; ``rounding``: radius of a box's edges [m].

    Returns:
        Points (n, 3) [m], points (m, 3) [m], radius [m].
    """
    way = check_choice("contact", str(table.get("contact", "round" if shape.kind in ROUND else "vertices")), WAYS)
    if way == "none":
        return np.zeros((0, 3)), np.zeros((0, 3)), 0.0
    if way == "round":
        if shape.kind not in ROUND:
            raise InputError(f"contact: got 'round' for a {shape.kind}; only a sphere or a capsule is round, expected "
                             "'vertices'")  # fmt: skip
        points, radius = sample_round_shape(shape.kind, shape.dims)
        return points, points, radius
    rounding = read_rounding(table, shape.kind, shape.dims)
    vertices = shape.vertices
    if rounding > 0.0:
        half = np.array(shape.dims)
        vertices = vertices * (half - rounding) / half
    between = sample_surface(vertices, shape.faces, read_spacing(table, shape.vertices))
    return (vertices if way == "vertices" else between), between, rounding


OWN = ("position", "orientation", "mass", "density", "colour", "rides", "contact", "spacing", "rounding")


@dataclass(frozen=True)
class MassMoments:
    """Mass and second moments of a shape in the link's axes.

    Args:
        mass: Mass [kg].
        centre: Centre of mass (3,) [m].
        moments: Second moments C (3, 3) about the centre [kg m^2].
    """

    mass: float
    centre: Vector
    moments: Vector


def read_piece(what: str, table: Mapping[str, Any], length: float, along: Vector) -> tuple[Piece, MassMoments]:
    """Return the piece that a table describes, in the link's axes, and its mass.

    The table holds a shape or mesh, its pose, and mass or density. ``rides``: the piece shifts with its middle if the
    link grows, instead of being stretched. contact, spacing, rounding: see sample_contact_points.
    """
    try:
        shape = read_shape({k: v for k, v in table.items() if k not in OWN})
        place = numbers(what, "position", table.get("position", (0.0, 0.0, 0.0)), 3)
        orientation = numbers(what, "orientation", table.get("orientation", (1.0, 0.0, 0.0, 0.0)), 4)
        turn = array_rotation_matrix(orientation)
        touching, between, roundness = sample_contact_points(shape, table)
    except InputError as cause:
        raise InputError(f"{what}: {cause}") from cause
    colour = table.get("colour")
    shade = None if colour is None else (float(colour[0]), float(colour[1]), float(colour[2]))
    vertices, points = shape.vertices @ turn.T + place, touching @ turn.T + place

    rides, middle = bool(table.get("rides", False)), float(place @ along) / length

    def share(own: Vector) -> Vector:
        return np.full(len(own), middle) if rides else np.asarray((own @ along) / length)

    body = None
    if len(between):
        kind = shape.kind if shape.kind in SHAPE_KINDS else "mesh"
        solid = BodyShape(kind, shape.dims if kind != "mesh" else (), shape.vertices, shape.faces, roundness)
        whole = rides or not along.any()
        body = PieceBody(solid, place, orientation / np.linalg.norm(orientation), between, middle if whole else None)
    piece = Piece(vertices, shape.faces, share(vertices), shade, points, roundness, share(points), body)
    return piece, measure_moments(shape, table, place, turn)


def measure_moments(shape: LinkShape, table: Mapping[str, Any], place: Vector, turn: Vector) -> MassMoments:
    """Return the moments of a shape with the mass or density [kg/m^3] of its table, by default the density of water."""
    solid = shape.body
    mass = float(table["mass"]) if "mass" in table else float(table.get("density", 1000.0)) * solid.volume
    moments = turn @ (solid.moment * (mass / solid.volume)) @ turn.T
    return MassMoments(mass, turn @ solid.centre + place, moments)


def combine_moments(weights: list[MassMoments]) -> MassMoments:
    """Return the moments of several pieces together."""
    mass = sum(w.mass for w in weights)
    if mass <= 0.0:
        return MassMoments(0.0, np.zeros(3), np.zeros((3, 3)))
    centre = sum((w.mass * w.centre for w in weights), np.zeros(3)) / mass
    moments = np.zeros((3, 3))
    for w in weights:
        away = w.centre - centre
        moments += w.moments + w.mass * np.outer(away, away)
    return MassMoments(mass, centre, moments)


def compute_inertia(moments: Vector) -> Vector:
    """Return xx yy zz xy xz yz of tr(C) 1 - C."""
    I = np.trace(moments) * np.eye(3) - moments
    return np.array([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])


def numbers(what: str, key: str, value: Any, count: int) -> Vector:
    """Return ``count`` finite numbers as an array; raise InputError for anything else."""
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (count,) or not np.isfinite(found).all():
        raise InputError(f"{what}: {key}: got {value!r}; expected {count} numbers")
    return found
