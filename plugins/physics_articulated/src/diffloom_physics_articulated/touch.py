"""Where a link touches: corners of its shapes, points between them, or the balls of a round shape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from diffloom.interfaces import InputError
from diffloom.validation import check_choice
from diffloom_geometry import Points, spaced_points
from diffloom_physics_articulated.shapes import Shape

ROUND = ("sphere", "capsule")
WAYS = ("vertices", "surface", "round", "none")


def touching_points(shape: Shape, table: Mapping[str, Any]) -> tuple[Points, Points, float]:
    """Points (n, 3) [m] of a shape that touch surfaces, those that touch other bodies, and the radius [m] of the ball
    around each.

    ``contact`` of its table: "vertices" (8 of a box), "surface" (these, and points on edges and faces at most
    ``spacing`` [m] apart), "round" (the default of spheres and capsules) or "none". ``rounding`` [m]: the radius of a
    box's edges and corners. Other bodies are touched by points on edges and faces either way.
    """
    way = check_choice("contact", str(table.get("contact", "round" if shape.kind in ROUND else "vertices")), WAYS)
    if way == "none":
        return np.zeros((0, 3)), np.zeros((0, 3)), 0.0
    if way == "round":
        if shape.kind not in ROUND:
            raise InputError(f"contact: got 'round' for a {shape.kind}; only a sphere or a capsule is round, expected "
                             "'vertices'")  # fmt: skip
        points, radius = round_points(shape)
        return points, points, radius
    rounding = read_rounding(shape, table.get("rounding", 0.0))
    vertices = shape.vertices
    if rounding > 0.0:
        half = np.array(shape.dims)
        vertices = vertices * (half - rounding) / half
    spacing = table.get("spacing", 0.36 * float(np.ptp(shape.vertices, axis=0).max()))
    if not isinstance(spacing, (int, float)) or not spacing > 0.0:
        raise InputError(f"spacing: got {spacing!r}; expected a positive length")
    between = spaced_points(vertices, shape.faces, float(spacing))
    return (vertices if way == "vertices" else between), between, rounding


def read_rounding(shape: Shape, rounding: Any) -> float:
    """The radius of a box's edges and corners [m]; 0 for none."""
    if rounding == 0.0:
        return 0.0
    if shape.kind != "box":
        raise InputError(f"rounding: got {rounding!r} for a {shape.kind}; only the corners of a box are rounded")
    if not isinstance(rounding, (int, float)) or not 0.0 < rounding < min(shape.dims):
        raise InputError(f"rounding: got {rounding!r}; expected a radius from 0 to less than half the shortest edge, "
                         f"{min(shape.dims):g} m")  # fmt: skip
    return float(rounding)


def round_points(shape: Shape) -> tuple[Points, float]:
    """The points whose balls make up a round shape: a sphere's centre; along a capsule's axis, half a radius apart."""
    if shape.kind == "sphere":
        return np.zeros((1, 3)), shape.dims[0]
    radius, half = shape.dims
    points = np.zeros((1 + max(1, math.ceil(4.0 * half / radius)), 3))
    points[:, 1] = np.linspace(-half, half, len(points))
    return points, radius
