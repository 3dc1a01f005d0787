"""Contact points of a body: its vertices, points between them, or the balls of a round shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from diffloom.interfaces import InputError
from diffloom_geometry import Points, sample_surface
from diffloom_mechanics.contact import sample_round_shape
from diffloom_physics_rigid.shapes import RigidShape


def read_contact(table: Mapping[str, Any], shape: RigidShape) -> str:
    """Return "vertices", "surface" or "round"; by default an unstretched sphere or capsule is round."""
    can = shape.smooth is not None
    contact = table.get("contact", "round" if can else "vertices")
    if contact not in ("vertices", "surface", "round"):
        raise InputError(f"contact: got {contact!r}; expected 'vertices', 'surface' or 'round'")
    if contact == "round" and not can:
        raise InputError("contact: got 'round'; only a sphere or a capsule scaled alike along all axes is round, "
                         "expected 'vertices'")  # fmt: skip
    return str(contact)


def read_grid(table: Mapping[str, Any]) -> int:
    """Return the number of cells along the longest side of a mesh's grid of distances."""
    grid = table.get("grid", 32)
    if not isinstance(grid, int) or not 4 <= grid <= 256:
        raise InputError(f"grid: got {grid!r}; expected a whole number of cells from 4 to 256")
    return grid


def shrink_box(shape: RigidShape, rounding: float) -> RigidShape:
    """Return the box that, grown by balls of radius ``rounding`` [m], is ``shape`` with round edges."""
    if rounding == 0.0:
        return shape
    half = np.array(shape.dims)
    return shape.stretch((half - rounding) / half)


def sample_contact_points(shape: RigidShape, contact: str, spacing: float, rounding: float) -> tuple[Points, float]:
    """Return the points (C, 3) [m] that touch ground and obstacles, and the radius [m] of the ball around each.

    Args:
        shape: The solid.
        contact: "round" for the balls of a round shape; "vertices" for one point per vertex (8 of a box); "surface" for
            the points that touch other bodies too, on edges and faces (98 of a cube with the default spacing).
        spacing: Largest distance between points of "surface" [m].
        rounding: Radius of round edges of a box [m].
    """
    if contact == "round":
        return sample_round_shape(shape.kind, shape.dims)
    vertices = shrink_box(shape, rounding).vertices
    return (vertices if contact == "vertices" else sample_pair_points(shape, rounding, spacing)), rounding


def sample_pair_points(shape: RigidShape, rounding: float, spacing: float) -> Points:
    """Return the points (D, 3) [m] that touch other bodies: on vertices, edges and faces, at most ``spacing`` [m]
    apart.
    """
    inner = shrink_box(shape, rounding)
    return sample_surface(inner.vertices, inner.faces, spacing)
