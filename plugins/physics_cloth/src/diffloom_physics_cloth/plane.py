"""The plane of a sheet whose triangles may not leave it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffloom.errors import InputError
from diffloom_physics_cloth.meshes.sheet import Sheet


def plane_normal(sheet: Sheet) -> NDArray[np.float64]:
    """Unit normal (3,) of a flat sheet; InputError when it is not flat or its faces look both ways."""
    a, b, c = (sheet.vertices[sheet.faces[:, k]] for k in range(3))
    areas = np.cross(b - a, c - a)
    normal = areas.sum(axis=0)
    length = float(np.linalg.norm(normal))
    size = float(np.ptp(sheet.vertices, axis=0).max())
    if length == 0.0 or (areas @ normal <= 0).any():
        bad = np.flatnonzero(areas @ normal <= 0)
        raise InputError(f"{sheet.name}: planar=True needs faces that all look the same way; face {bad[0]} does not")
    unit = normal / length
    height = (sheet.vertices - sheet.vertices[0]) @ unit
    if np.ptp(height) > 1e-6 * size:
        far = int(np.abs(height).argmax())
        raise InputError(f"{sheet.name}: planar=True needs a flat mesh; vertex {far} is {abs(height[far]):.3g} m off")
    return np.asarray(unit, dtype=np.float64)
