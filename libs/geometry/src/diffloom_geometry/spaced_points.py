"""Points on a mesh that leave no gap wider than a given length."""

from __future__ import annotations

import numpy as np

from diffloom_geometry.triangle_checks import Faces, Points


def spaced_points(vertices: Points, faces: Faces, spacing: float) -> Points:
    """The vertices, and points on edges and faces so that none are farther apart than ``spacing`` [m].

    Vertices alone would miss two boxes of one size, laid crosswise on each other: neither has a corner in the other.
    The longest edges of triangles are halved until all are short enough.
    """
    points = [vertices]
    triangles = vertices[faces]
    while len(triangles):
        edges = np.linalg.norm(triangles[:, [1, 2, 0]] - triangles, axis=2)
        long = edges.max(axis=1) > spacing
        first = edges[long].argmax(axis=1)
        turned = triangles[long][np.arange(len(first))[:, None], (first[:, None] + np.arange(3)) % 3]
        middle = 0.5 * (turned[:, 0] + turned[:, 1])
        points.append(middle)
        halves = ([turned[:, 0], middle, turned[:, 2]], [middle, turned[:, 1], turned[:, 2]])
        triangles = np.concatenate([np.stack(half, axis=1) for half in halves])
    every = np.concatenate(points)
    grain = 1e-9 * float(np.ptp(vertices, axis=0).max())
    _, kept = np.unique((every / grain).round(), axis=0, return_index=True)
    return every[np.sort(kept)]
