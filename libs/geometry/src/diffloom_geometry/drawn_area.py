"""Meshes that are drawn as large as the smooth body they stand for.

A mesh whose vertices lie on a convex body is smaller than the body. By Cauchy's formula (1841) the area of a convex
body's outline, averaged over all directions of view, is a quarter of its surface: a mesh with the body's surface is
drawn in the right size on average.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diffloom.interfaces import InputError

from .triangle_meshes import Faces, Points

#: Largest factor that vertices are moved by, and halvings of the interval in which it is searched.
MOST, HALVINGS = 2.0, 60


def measure_surface(vertices: Points, faces: Faces) -> float:
    """Return the surface of a mesh [m^2].

    Args:
        vertices: (V, 3) [m].
        faces: (F, 3).

    Returns:
        The sum of the areas of all faces.
    """
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return float(0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())


def match_surface(vertices: Points, faces: Faces, surface: float, axes: Sequence[bool] = (True, True, True)) -> Points:
    """Return vertices moved outwards from the origin until a convex mesh has a given surface.

    Args:
        vertices: (V, 3) [m].
        faces: (F, 3).
        surface: Surface of the smooth body [m^2], at least that of the mesh.
        axes: Axes x, y, z along which vertices move; x and z alone for a body of revolution about y.

    Returns:
        (V, 3) [m], all scaled by one factor along the axes.

    Raises:
        InputError: No factor from 1 to 2 gives the surface.
    """
    along = np.asarray(axes, dtype=np.float64)

    def scale(factor: float) -> Points:
        return vertices * (1.0 + (factor - 1.0) * along)

    low, high = 1.0, MOST
    least, most = (measure_surface(scale(factor), faces) for factor in (low, high))
    if not least <= surface * (1.0 + 1e-12) <= most:
        raise InputError(f"surface: got {surface:g} m^2; expected {least:g} (that of the mesh) to {most:g} m^2")
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if measure_surface(scale(middle), faces) < surface:
            low = middle
        else:
            high = middle
    return scale(0.5 * (low + high))
