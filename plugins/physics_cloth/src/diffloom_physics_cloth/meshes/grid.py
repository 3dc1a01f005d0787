"""Rectangular sheets, regular and irregular."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from diffloom.errors import InputError
from diffloom.validation import check_choice
from diffloom_physics_cloth.meshes.sheet import Sheet

PLANES = {"xz": ((1, 0, 0), (0, 0, -1)), "xy": ((1, 0, 0), (0, 1, 0)), "zy": ((0, 0, -1), (0, 1, 0))}
"""Directions of a sheet's two sides; its front looks along their cross product: +y, +z and +x."""

PATTERNS = ("alternating", "uniform")
MOST_CELLS = 10**7


def grid(
    cells: Sequence[int] = (8, 8),
    size: Sequence[float] = (1.0, 1.0),
    plane: str = "xz",
    pattern: str = "alternating",
    position: Sequence[float] = (0.0, 0.0, 0.0),
) -> Sheet:
    """``cells`` = (m, n) rectangles, each cut into two triangles, over ``size`` [m], centred at ``position`` [m].

    plane: "xz" lies on the ground, front up; "xy" and "zy" stand upright. pattern: "alternating" turns every second
    diagonal round, so that the sheet has no preferred one; "uniform" cuts all cells alike.
    Vertices run row by row: vertex (i, j) is j (m + 1) + i. Groups: left, right, bottom, top (rows of vertices),
    corners, and each corner by name, such as top_left.
    """
    m, n = check_cells(cells)
    check_choice("grid: pattern", pattern, PATTERNS)
    flip = (np.add.outer(np.arange(n), np.arange(m)) % 2 == 1) if pattern == "alternating" else np.zeros((n, m), bool)
    u, v = np.meshgrid(np.linspace(0, 1, m + 1), np.linspace(0, 1, n + 1))
    uv = np.stack([u.ravel(), v.ravel()], axis=1)
    return Sheet(
        on_plane((uv - 0.5) * check_size(size), plane, position),
        cut_cells(m, n, flip),
        uv=uv,
        groups=grid_groups(m, n),
        name="grid",
    )


def irregular_grid(
    cells: Sequence[int] = (8, 8),
    size: Sequence[float] = (1.0, 1.0),
    plane: str = "xz",
    jitter: float = 0.25,
    seed: int = 0,
    position: Sequence[float] = (0.0, 0.0, 0.0),
) -> Sheet:
    """As ``grid``, but vertices are moved at random by up to ``jitter`` of a cell within the sheet (those of the rim
    along it, corners not at all), and diagonals are drawn by lot. The same ``seed`` gives the same sheet.
    """
    m, n = check_cells(cells)
    if not 0 <= jitter < 0.35:
        raise InputError(f"irregular_grid: got jitter={jitter:g}; expected 0 to 0.35, beyond which faces may fold over")
    random = np.random.default_rng(seed)
    i, j = np.meshgrid(np.arange(m + 1), np.arange(n + 1))
    shift = random.uniform(-jitter, jitter, (n + 1, m + 1, 2))
    shift[(i == 0) | (i == m), 0] = 0.0
    shift[(j == 0) | (j == n), 1] = 0.0
    uv = (np.stack([i, j], axis=2) + shift).reshape(-1, 2) / (m, n)
    flip = random.random((n, m)) < 0.5
    return Sheet(
        on_plane((uv - 0.5) * check_size(size), plane, position),
        cut_cells(m, n, flip),
        uv=uv,
        groups=grid_groups(m, n),
        name="irregular_grid",
    )


def check_cells(cells: Sequence[int]) -> tuple[int, int]:
    """The two cell counts, or InputError."""
    if len(cells) != 2 or any(int(c) != c or c < 1 for c in cells):
        raise InputError(f"grid: got cells={list(cells)}; expected two whole numbers of 1 or more")
    if cells[0] * cells[1] > MOST_CELLS:
        raise InputError(f"grid: got cells={list(cells)}; expected at most {MOST_CELLS} in all")
    return int(cells[0]), int(cells[1])


def check_size(size: Sequence[float]) -> NDArray[np.float64]:
    """The two side lengths [m], or InputError."""
    sides = np.asarray(size, dtype=np.float64)
    if sides.shape != (2,) or not (np.isfinite(sides) & (sides > 0)).all():
        raise InputError(f"grid: got size={list(size)}; expected two lengths above 0 [m]")
    return sides


def on_plane(flat: NDArray[np.float64], plane: str, position: Sequence[float]) -> NDArray[np.float64]:
    """Points (V, 2) laid into a plane of the world."""
    directions = np.array(PLANES[check_choice("plane", plane, PLANES)], dtype=np.float64)
    where = np.asarray(position, dtype=np.float64)
    if where.shape != (3,):
        raise InputError(f"position: got {list(position)}; expected three numbers [m]")
    return np.asarray(flat @ directions + where)


def cut_cells(m: int, n: int, flip: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Two triangles for each of the m x n cells, cell by cell; ``flip`` (n, m) chooses the other diagonal."""
    i, j = (a.ravel() for a in np.meshgrid(np.arange(m), np.arange(n)))
    a = j * (m + 1) + i
    b, c, d = a + 1, a + m + 2, a + m + 1
    rising = np.stack([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)], axis=1)
    falling = np.stack([np.stack([a, b, d], axis=1), np.stack([b, c, d], axis=1)], axis=1)
    return np.where(flip.reshape(-1, 1, 1), falling, rising).reshape(-1, 3)


def grid_groups(m: int, n: int) -> dict[str, NDArray[np.int64]]:
    """Named vertices of a grid."""
    number = np.arange((m + 1) * (n + 1)).reshape(n + 1, m + 1)
    corners = {
        "bottom_left": number[0, :1],
        "bottom_right": number[0, -1:],
        "top_left": number[-1, :1],
        "top_right": number[-1, -1:],
    }
    sides = {"left": number[:, 0], "right": number[:, -1], "bottom": number[0], "top": number[-1]}
    return {**sides, **corners, "corners": np.concatenate(list(corners.values()))}
