"""Sheets by name: rectangles (regular, irregular, of equilateral triangles), discs, and the planar walker."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from diffloom.errors import InputError
from diffloom.validation import check_choice
from diffloom_physics_cloth.meshes.sheet import Sheet

PLANES = {"xz": ((1, 0, 0), (0, 0, -1)), "xy": ((1, 0, 0), (0, 1, 0)), "zy": ((0, 0, -1), (0, 1, 0))}
"""Directions of a sheet's two sides; its front faces along their cross product: +y, +z and +x."""

PATTERNS = ("alternating", "uniform")
MOST_CELLS = 10**7


def grid(
    cells: Sequence[int] = (8, 8),
    size: Sequence[float] = (1.0, 1.0),
    plane: str = "xz",
    pattern: str = "alternating",
    position: Sequence[float] = (0.0, 0.0, 0.0),
) -> Sheet:
    """Return a rectangle of cells, each cut into two triangles.

    Vertices run row by row: vertex (i, j) is j (m + 1) + i. Groups: left, right, bottom, top (rows of vertices),
    corners, and each corner by name, such as top_left.

    Args:
        cells: Numbers (m, n) of cells along the sides.
        size: Lengths of the sides [m].
        plane: "xz" lies on the ground, front up; "xy" and "zy" stand upright.
        pattern: "alternating" flips every second diagonal, so that the sheet has no preferred one; "uniform" does not.
        position: Centre [m].
    """
    m, n = check_cells(cells)
    check_choice("grid: pattern", pattern, PATTERNS)
    flip = (np.add.outer(np.arange(n), np.arange(m)) % 2 == 1) if pattern == "alternating" else np.zeros((n, m), bool)
    u, v = np.meshgrid(np.linspace(0, 1, m + 1), np.linspace(0, 1, n + 1))
    uv = np.stack([u.ravel(), v.ravel()], axis=1)
    return Sheet(
        embed_in_plane((uv - 0.5) * check_size(size), plane, position),
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
    """Return a ``grid`` with randomly moved vertices and random diagonals, without a preferred direction.

    Args:
        cells: As in grid.
        size: As in grid.
        plane: As in grid.
        jitter: Largest move as a part of a cell, 0 to 0.35; vertices of the rim move along it, corners do not.
        seed: Seed of the random numbers.
        position: As in grid.
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
        embed_in_plane((uv - 0.5) * check_size(size), plane, position),
        cut_cells(m, n, flip),
        uv=uv,
        groups=grid_groups(m, n),
        name="irregular_grid",
    )


def check_cells(cells: Sequence[int]) -> tuple[int, int]:
    """Return the two cell counts, or raise InputError."""
    if len(cells) != 2 or any(int(c) != c or c < 1 for c in cells):
        raise InputError(f"grid: got cells={list(cells)}; expected two whole numbers of 1 or more")
    if cells[0] * cells[1] > MOST_CELLS:
        raise InputError(f"grid: got cells={list(cells)}; expected at most {MOST_CELLS} in all")
    return int(cells[0]), int(cells[1])


def check_size(size: Sequence[float]) -> NDArray[np.float64]:
    """Return the two side lengths [m], or raise InputError."""
    sides = np.asarray(size, dtype=np.float64)
    if sides.shape != (2,) or not (np.isfinite(sides) & (sides > 0)).all():
        raise InputError(f"grid: got size={list(size)}; expected two lengths above 0 [m]")
    return sides


def embed_in_plane(flat: NDArray[np.float64], plane: str, position: Sequence[float]) -> NDArray[np.float64]:
    """Return points (V, 2) embedded in a plane of the world."""
    directions = np.array(PLANES[check_choice("plane", plane, PLANES)], dtype=np.float64)
    where = np.asarray(position, dtype=np.float64)
    if where.shape != (3,):
        raise InputError(f"position: got {list(position)}; expected three numbers [m]")
    return np.asarray(flat @ directions + where)


def cut_cells(m: int, n: int, flip: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return two triangles for each of the m x n cells; ``flip`` (n, m) selects the other diagonal."""
    i, j = (a.ravel() for a in np.meshgrid(np.arange(m), np.arange(n)))
    a = j * (m + 1) + i
    b, c, d = a + 1, a + m + 2, a + m + 1
    rising = np.stack([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)], axis=1)
    falling = np.stack([np.stack([a, b, d], axis=1), np.stack([b, c, d], axis=1)], axis=1)
    return np.where(flip.reshape(-1, 1, 1), falling, rising).reshape(-1, 3)


def grid_groups(m: int, n: int) -> dict[str, NDArray[np.int64]]:
    """Return the named vertices of a grid."""
    number = np.arange((m + 1) * (n + 1)).reshape(n + 1, m + 1)
    corners = {
        "bottom_left": number[0, :1],
        "bottom_right": number[0, -1:],
        "top_left": number[-1, :1],
        "top_right": number[-1, -1:],
    }
    sides = {"left": number[:, 0], "right": number[:, -1], "bottom": number[0], "top": number[-1]}
    return {**sides, **corners, "corners": np.concatenate(list(corners.values()))}


def staggered_grid(
    cells: Sequence[int] = (8, 9),
    size: Sequence[float] = (1.0, 1.0),
    plane: str = "xz",
    position: Sequence[float] = (0.0, 0.0, 0.0),
) -> Sheet:
    """Return rows of triangles, every second row of vertices shifted by half a cell.

    The two sides are straight, with half triangles. Groups are those of ``grid``.

    Args:
        cells: Triangles along a row, and rows. Triangles are equilateral if size[1] / n is sqrt(3)/2 of size[0] / m.
        size: Lengths of the sides [m].
        plane: As in grid.
        position: Centre [m].
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
        embed_in_plane((uv - 0.5) * check_size(size), plane, position),
        np.array(faces),
        uv=uv,
        groups=side_groups(uv),
        name="staggered_grid",
    )


def row_faces(low: NDArray[np.int64], high: NDArray[np.int64], flipped: bool) -> list[tuple[int, int, int]]:
    """Return triangles between a row of m + 1 vertices and one of m + 2; ``flipped`` if the longer row is below."""
    short, long = (high, low) if flipped else (low, high)
    out = [(short[i], long[i + 1], long[i]) for i in range(len(short))]
    out += [(short[i], short[i + 1], long[i + 1]) for i in range(len(short) - 1)]
    return [(int(a), int(c), int(b)) if flipped else (int(a), int(b), int(c)) for a, b, c in out]


def side_groups(uv: NDArray[np.float64]) -> dict[str, NDArray[np.int64]]:
    """Return the named vertices of a rectangle, by their texture coordinates."""
    u, v = uv.T
    sides = {"left": u == 0, "right": u == 1, "bottom": v == 0, "top": v == 1}
    corners = {f"{a}_{b}": sides[a] & sides[b] for a in ("bottom", "top") for b in ("left", "right")}
    named = {name: np.flatnonzero(chosen) for name, chosen in {**sides, **corners}.items()}
    return {**named, "corners": np.concatenate([named[name] for name in corners])}


def disc(
    rings: int = 6,
    radius: float = 0.5,
    plane: str = "xz",
    position: Sequence[float] = (0.0, 0.0, 0.0),
) -> Sheet:
    """Return a disc of rings of vertices: 6 r vertices in ring r, 6 rings^2 triangles in all.

    Groups: centre, rim.

    Args:
        rings: Number of rings.
        radius: Radius [m].
        plane: As in grid.
        position: Centre [m].
    """
    if int(rings) != rings or rings < 1 or not radius > 0:
        raise InputError(f"disc: got rings={rings}, radius={radius}; expected 1 or more rings and a radius above 0 [m]")
    points = [np.zeros((1, 2))]
    for r in range(1, rings + 1):
        angle = 2 * np.pi * np.arange(6 * r) / (6 * r)
        points.append(r / rings * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    flat = np.concatenate(points)
    return Sheet(
        embed_in_plane(radius * flat, plane, position),
        ring_faces(rings),
        uv=0.5 + 0.5 * flat,
        groups={"centre": np.array([0]), "rim": np.arange(first_of_ring(rings), len(flat))},
        name="disc",
    )


def first_of_ring(r: int) -> int:
    """Return the number of the first vertex of ring r."""
    return 1 + 3 * r * (r - 1) if r else 0


def ring_faces(rings: int) -> NDArray[np.int64]:
    """Return triangles between each ring and the one inside it, in six sectors."""
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


PARTS = {
    "body": (0, 10, 5, 8),
    "hind_leg": (0, 2, 1, 5),
    "front_leg": (8, 10, 1, 5),
    "hind_foot": (0, 2, 0, 1),
    "front_foot": (8, 10, 0, 1),
}
"""Cells of each part: from column, to column, from row, to row."""

TOES = {"hind_foot": (2, 0), "front_foot": (10, 0)}
"""Cells that lengthen each foot towards +x, the walking direction."""


def walker(cell: float = 0.2, position: Sequence[float] = (0.0, 0.0, 0.0)) -> Sheet:
    """Return a walker of 104 triangles, 11 cells long and 8 high, in the x-y plane, facing +x.

    Face groups: body, hind_leg, front_leg, hind_foot, front_foot. Groups: soles, and the vertices of each part.

    Args:
        cell: Side of a cell [m].
        position: Point on the ground below its middle [m].
    """
    if not cell > 0:
        raise InputError(f"walker: got cell={cell}; expected a length above 0 [m]")
    owner = find_cell_owners()
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


def find_cell_owners() -> dict[tuple[int, int], str]:
    """Return the part to which each cell (column, row) belongs."""
    owner = {(i, j): part for part, (i0, i1, j0, j1) in PARTS.items() for i in range(i0, i1) for j in range(j0, j1)}
    owner.update({cell: part for part, cell in TOES.items()})
    return owner
