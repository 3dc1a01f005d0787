"""How often a closed mesh wraps around a point: 1 inside, 0 outside."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffloom_geometry.triangle_checks import Faces, Points


def winding_numbers(points: Points, vertices: Points, faces: Faces) -> NDArray[np.float64]:
    """(P,) generalised winding numbers: the solid angles under which ``points`` see the faces, over 4 pi.

    A triangle a, b, c around the point has solid angle 2 atan2(a.(b x c), |a||b||c| + (a.b)|c| + (b.c)|a| + (c.a)|b|).
    """
    numbers = np.empty(len(points))
    block = max(1, 200_000 // max(1, len(faces)))
    for start in range(0, len(points), block):
        part = points[start : start + block]
        a, b, c = (vertices[faces[:, k]][None] - part[:, None] for k in range(3))
        la, lb, lc = (np.linalg.norm(v, axis=2) for v in (a, b, c))
        above = np.einsum("pfi,pfi->pf", a, np.cross(b, c))
        ab, bc, ca = (np.einsum("pfi,pfi->pf", x, y) for x, y in ((a, b), (b, c), (c, a)))
        angles = 2.0 * np.arctan2(above, la * lb * lc + ab * lc + bc * la + ca * lb)
        numbers[start : start + block] = angles.sum(axis=1) / (4.0 * np.pi)
    return numbers
