"""Where a body touches others: its vertices, points between them, or the balls of a round shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from diffloom.interfaces import InputError
from diffloom_geometry import Points, sample_surface
from diffloom_mechanics.contact import sample_round_shape
from diffloom_physics_rigid.shapes import RigidShape


def read_contact(table: Mapping[str, Any], shape: RigidShape) -> str:
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


def inset(shape: RigidShape, rounding: float) -> RigidShape:
    """The box whose points, each in a ball of radius ``rounding`` [m], make up ``shape`` with round edges."""
    if rounding == 0.0:
        return shape
    half = np.array(shape.dims)
    return shape.scaled((half - rounding) / half)


def touching_points(shape: RigidShape, contact: str, spacing: float, rounding: float) -> tuple[Points, float]:
    """The points that touch the ground and obstacles, and the radius [m] of the ball around each.

    "round": as round_points. "vertices": one for each vertex, so 8 of a box. "surface": those that touch other bodies
    too, on edges and faces, at most ``spacing`` [m] apart: 98 of a cube with the usual spacing.
    """
    if contact == "round":
        return sample_round_shape(shape.kind, shape.dims)
    vertices = inset(shape, rounding).vertices
    return (vertices if contact == "vertices" else between_points(shape, rounding, spacing)), rounding


def between_points(shape: RigidShape, rounding: float, spacing: float) -> Points:
    """Those that touch other bodies: vertices, and points on edges and faces at most ``spacing`` [m] apart."""
    inner = inset(shape, rounding)
    return sample_surface(inner.vertices, inner.faces, spacing)
