"""Rectangular sheets of equilateral triangles: the mesh whose bending has no preferred direction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from diffloom_physics_cloth.meshes.grid import check_cells, check_size, on_plane
from diffloom_physics_cloth.meshes.sheet import Sheet


def staggered_grid(
    cells: Sequence[int] = (8, 9),
    size: Sequence[float] = (1.0, 1.0),
    plane: str = "xz",
    position: Sequence[float] = (0.0, 0.0, 0.0),
) -> Sheet:
    """Rows of triangles over ``size`` [m], every second row of vertices shifted by half a cell, centred at
    ``position`` [m].

    cells: (m, n), triangles along a row and rows. They are equilateral when size[1] / n is sqrt(3)/2 of size[0] / m;
    the two sides are straight, with half triangles. Groups: as those of ``grid``.
    """
    m, n = check_cells(cells)
    rows, points, first = [], [], 0
    for j in range(n + 1):
        along = np.arange(m + 1.0) if j % 2 == 0 else np.concatenate([[0.0], np.arange(m) + 0.5, [float(m)]])
        points.append(np.stack([along / m, np.full(len(along), j / n)], axis=1))
        rows.append(np.arange(first, first + len(along)))
        first += len(along)
    uv = np.concatenate(points)
    faces = [face for j in range(n) for face in row_faces(rows[j], rows[j + 1], flipped=j % 2 == 1)]
    return Sheet(
        on_plane((uv - 0.5) * check_size(size), plane, position),
        np.array(faces),
        uv=uv,
        groups=side_groups(uv),
        name="staggered_grid",
    )


def row_faces(low: NDArray[np.int64], high: NDArray[np.int64], flipped: bool) -> list[tuple[int, int, int]]:
    """Triangles between a row of m + 1 vertices and one of m + 2; ``flipped`` when the longer row is below."""
    short, long = (high, low) if flipped else (low, high)
    out = [(short[i], long[i + 1], long[i]) for i in range(len(short))]
    out += [(short[i], short[i + 1], long[i + 1]) for i in range(len(short) - 1)]
    return [(int(a), int(c), int(b)) if flipped else (int(a), int(b), int(c)) for a, b, c in out]


def side_groups(uv: NDArray[np.float64]) -> dict[str, NDArray[np.int64]]:
    """Named vertices of a rectangle, by their texture coordinates."""
    u, v = uv.T
    sides = {"left": u == 0, "right": u == 1, "bottom": v == 0, "top": v == 1}
    corners = {f"{a}_{b}": sides[a] & sides[b] for a in ("bottom", "top") for b in ("left", "right")}
    named = {name: np.flatnonzero(chosen) for name, chosen in {**sides, **corners}.items()}
    return {**named, "corners": np.concatenate([named[name] for name in corners])}
