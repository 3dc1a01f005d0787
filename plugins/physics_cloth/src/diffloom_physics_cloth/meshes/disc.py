"""Round sheets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from diffloom.errors import InputError
from diffloom_physics_cloth.meshes.grid import on_plane
from diffloom_physics_cloth.meshes.sheet import Sheet


def disc(
    rings: int = 6,
    radius: float = 0.5,
    plane: str = "xz",
    position: Sequence[float] = (0.0, 0.0, 0.0),
) -> Sheet:
    """A disc of ``radius`` [m] centred at ``position`` [m]: ring r has 6 r vertices, 6 rings^2 triangles in all.

    plane: as in ``grid``. Groups: centre, rim.
    """
    if int(rings) != rings or rings < 1 or not radius > 0:
        raise InputError(f"disc: got rings={rings}, radius={radius}; expected 1 or more rings and a radius above 0 [m]")
    points = [np.zeros((1, 2))]
    for r in range(1, rings + 1):
        angle = 2 * np.pi * np.arange(6 * r) / (6 * r)
        points.append(r / rings * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    flat = np.concatenate(points)
    return Sheet(
        on_plane(radius * flat, plane, position),
        ring_faces(rings),
        uv=0.5 + 0.5 * flat,
        groups={"centre": np.array([0]), "rim": np.arange(first_of_ring(rings), len(flat))},
        name="disc",
    )


def first_of_ring(r: int) -> int:
    """Number of the first vertex of ring r."""
    return 1 + 3 * r * (r - 1) if r else 0


def ring_faces(rings: int) -> NDArray[np.int64]:
    """Triangles between each ring and the one inside it, sector by sector (six sectors)."""
    faces = []
    for r in range(1, rings + 1):
        outer, inner = first_of_ring(r), first_of_ring(r - 1)
        for sector in range(6):
            for k in range(r):
                o0 = outer + sector * r + k
                o1 = outer + (sector * r + k + 1) % (6 * r)
                i0 = inner + (sector * (r - 1) + k) % max(6 * (r - 1), 1)
                faces.append((i0, o0, o1))
                if k < r - 1:
                    i1 = inner + (sector * (r - 1) + k + 1) % (6 * (r - 1))
                    faces.append((i0, o1, i1))
    return np.array(faces, dtype=np.int64)
