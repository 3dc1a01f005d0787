"""The planar walker: a soft body of triangles in the x-y plane, with two legs and feet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diffloom.errors import InputError
from diffloom_physics_cloth.meshes.sheet import Sheet

PARTS = {
    "body": (0, 10, 5, 8),
    "hind_leg": (0, 2, 1, 5),
    "front_leg": (8, 10, 1, 5),
    "hind_foot": (0, 2, 0, 1),
    "front_foot": (8, 10, 0, 1),
}
"""Cells of each part: from column, to column, from row, to row."""

TOES = {"hind_foot": (2, 0), "front_foot": (10, 0)}
"""One cell more in front of each foot, so that it points the way it is to walk (+x)."""


def walker(cell: float = 0.2, position: Sequence[float] = (0.0, 0.0, 0.0)) -> Sheet:
    """A walker of 104 triangles, 11 cells long and 8 high, in the x-y plane, facing +x.

    cell: side of a cell [m]. position: of the point on the ground below its middle [m].
    Face groups: body, hind_leg, front_leg, hind_foot, front_foot. Groups: soles, and the vertices of each part.
    """
    if not cell > 0:
        raise InputError(f"walker: got cell={cell}; expected a length above 0 [m]")
    owner = cell_owners()
    corners = sorted({(i + a, j + b) for i, j in owner for a in (0, 1) for b in (0, 1)}, key=lambda c: (c[1], c[0]))
    number = {c: k for k, c in enumerate(corners)}
    faces: list[tuple[int, int, int]] = []
    parts: dict[str, list[int]] = {part: [] for part in PARTS}
    for (i, j), part in sorted(owner.items(), key=lambda item: (item[0][1], item[0][0])):
        a, b, c, d = (number[p] for p in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)))
        parts[part] += [len(faces), len(faces) + 1]
        faces += [(a, b, c), (a, c, d)] if (i + j) % 2 == 0 else [(a, b, d), (b, c, d)]
    flat = np.array(corners, dtype=np.float64)
    triangles = np.array(faces)
    vertices = np.zeros((len(corners), 3))
    vertices[:, :2] = cell * (flat - (5.0, 0.0))
    groups = {part: np.unique(triangles[members]) for part, members in parts.items()}
    return Sheet(
        vertices + np.asarray(position, dtype=np.float64),
        triangles,
        uv=flat / flat.max(axis=0),
        groups={**groups, "soles": np.flatnonzero(flat[:, 1] == 0)},
        face_groups={part: np.array(members) for part, members in parts.items()},
        name="walker",
    )


def cell_owners() -> dict[tuple[int, int], str]:
    """Which part owns each cell (column, row)."""
    owner = {(i, j): part for part, (i0, i1, j0, j1) in PARTS.items() for i in range(i0, i1) for j in range(j0, j1)}
    owner.update({cell: part for part, cell in TOES.items()})
    return owner
