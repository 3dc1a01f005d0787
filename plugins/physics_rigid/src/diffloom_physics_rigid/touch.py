"""Where a body touches others: its vertices, points between them, or the balls of a round shape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from diffloom.interfaces import InputError
from diffloom_geometry import Points, spaced_points
from diffloom_physics_rigid.shapes import Shape


def read_contact(table: Mapping[str, Any], shape: Shape) -> str:
    """ "vertices", "surface" or "round"; an unstretched sphere or capsule is round unless told otherwise."""
    can = shape.smooth is not None
    contact = table.get("contact", "round" if can else "vertices")
    if contact not in ("vertices", "surface", "round"):
        raise InputError(f"contact: got {contact!r}; expected 'vertices', 'surface' or 'round'")
    if contact == "round" and not can:
        raise InputError("contact: got 'round'; only a sphere or a capsule scaled alike along all axes is round, "
                         "expected 'vertices'")  # fmt: skip
    return str(contact)


def read_grid(table: Mapping[str, Any]) -> int:
    """Cells along the longest side of a mesh's grid of distances."""
    grid = table.get("grid", 32)
    if not isinstance(grid, int) or not 4 <= grid <= 256:
        raise InputError(f"grid: got {grid!r}; expected a whole number of cells from 4 to 256")
    return grid


def read_spacing(table: Mapping[str, Any], shape: Shape) -> float:
    """The largest distance between the points that touch other bodies [m]; by default a little over a third of the
    body's longest side."""
    spacing = table.get("spacing", 0.36 * float(np.ptp(shape.vertices, axis=0).max()))
    if not isinstance(spacing, (int, float)) or not spacing > 0.0:
        raise InputError(f"spacing: got {spacing!r}; expected a positive length")
    return float(spacing)


def read_rounding(table: Mapping[str, Any], shape: Shape) -> float:
    """The radius of a box's edges and corners [m]; 0 unless given."""
    rounding = table.get("rounding", 0.0)
    if rounding == 0.0:
        return 0.0
    if shape.kind != "box":
        raise InputError(f"rounding: got {rounding!r} for a {table.get('shape', 'mesh')}; only the corners of a box "
                         "are rounded so far: leave it out, or give a mesh that is round")  # fmt: skip
    if not isinstance(rounding, (int, float)) or not 0.0 < rounding < min(shape.dims):
        raise InputError(f"rounding: got {rounding!r}; expected a radius from 0 to less than half the shortest edge, "
                         f"{min(shape.dims):g} m")  # fmt: skip
    return float(rounding)


def inset(shape: Shape, rounding: float) -> Shape:
    """The box whose points, each in a ball of radius ``rounding`` [m], make up ``shape`` with round edges."""
    if rounding == 0.0:
        return shape
    half = np.array(shape.dims)
    return shape.scaled((half - rounding) / half)


def touching_points(shape: Shape, contact: str, spacing: float, rounding: float) -> tuple[Points, float]:
    """The points that touch the ground and obstacles, and the radius [m] of the ball around each.

    "round": as round_points. "vertices": one for each vertex, so 8 of a box. "surface": those that touch other bodies
    too, on edges and faces, at most ``spacing`` [m] apart: 98 of a cube with the usual spacing.
    """
    if contact == "round":
        return round_points(shape)
    vertices = inset(shape, rounding).vertices
    return (vertices if contact == "vertices" else between_points(shape, rounding, spacing)), rounding


def between_points(shape: Shape, rounding: float, spacing: float) -> Points:
    """Those that touch other bodies: vertices, and points on edges and faces at most ``spacing`` [m] apart."""
    inner = inset(shape, rounding)
    return spaced_points(inner.vertices, inner.faces, spacing)


def round_points(shape: Shape) -> tuple[Points, float]:
    """The points whose balls make up a round shape: a sphere's centre; along a capsule's axis, half a radius apart."""
    if shape.kind == "sphere":
        return np.zeros((1, 3)), shape.dims[0]
    radius, half = shape.dims
    count = 1 + max(1, math.ceil(4.0 * half / radius))
    points = np.zeros((count, 3))
    points[:, 1] = np.linspace(-half, half, count)
    return points, radius
