"""Boxes and beams cut into tetrahedra."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from diffloom.errors import InputError
from diffloom_geometry.tetmesh import Floats, Ints, TetMesh, oriented

# Corners of a cell are numbered x + 2 y + 4 z. Five tets: a regular one in the middle and one at every other corner;
# cells of odd parity take the mirror image, so that the diagonals on shared faces agree.
_FIVE_EVEN = np.array([[0, 3, 5, 6], [1, 0, 3, 5], [2, 0, 6, 3], [4, 0, 5, 6], [7, 3, 6, 5]])
_FIVE_ODD = np.array([[1, 2, 7, 4], [0, 1, 2, 4], [3, 1, 7, 2], [5, 1, 4, 7], [6, 2, 7, 4]])
# Six tets around the diagonal 0-7, the same in all cells.
_SIX = np.array([[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]])


MOST_CELLS = 10**7


def box(size: Sequence[float] = (1.0, 1.0, 1.0), cells: Sequence[int] = (2, 2, 2), split: int = 5) -> TetMesh:
    """A box about the origin.

    size: three edge lengths [m]. cells: how many cells along each. split: tetrahedra per cell: 5 (better shaped,
    neighbouring cells mirrored) or 6 (all cells alike). Vertex groups: left, right (-x, +x), bottom, top (-y, +y),
    back, front (-z, +z). Numbers run along the axis with the fewest cells first, along that with the most last.
    """
    lengths, counts = _checked(size, cells, split)
    axes = [np.linspace(-0.5 * s, 0.5 * s, n + 1) for s, n in zip(lengths, counts, strict=True)]
    order = _slowest_last(counts)
    vertices = np.stack([axes[a][c] for a, c in enumerate(_places([n + 1 for n in counts], order))], axis=1)
    tets = _cell_tets(counts, split, order)
    return TetMesh(vertices, oriented(vertices, tets), vertex_groups=_sides(axes, vertices), name="box")


def beam(
    length: float = 1.0, width: float = 0.1, height: float = 0.1, cells: Sequence[int] = (10, 1, 1), split: int = 5
) -> TetMesh:
    """A beam along x from 0 to ``length``; y is its height, z its width [m]. Groups as for a box: fix "left"."""
    made = box((length, height, width), cells, split)
    vertices = made.vertices + np.array([0.5 * float(length), 0.0, 0.0])
    return TetMesh(vertices, made.tets, vertex_groups=made.vertex_groups, name="beam")


def _checked(size: Sequence[float], cells: Sequence[int], split: int) -> tuple[list[float], list[int]]:
    lengths, counts = [float(s) for s in size], [int(n) for n in cells]
    if len(lengths) != 3 or not all(np.isfinite(s) and s > 0.0 for s in lengths):
        raise InputError(f"box: got size {list(size)}; expected three positive lengths in metres, such as [1, 1, 1]")
    if len(counts) != 3 or any(n < 1 or n != given for n, given in zip(counts, cells, strict=True)):
        raise InputError(f"box: got cells {list(cells)}; expected three whole numbers of 1 or more, such as [4, 4, 4]")
    if math.prod(counts) > MOST_CELLS:
        raise InputError(f"box: got cells {list(cells)}; expected at most {MOST_CELLS} in all")
    if split not in (5, 6):
        raise InputError(f"box: got split {split}; expected 5 or 6 tetrahedra per cell")
    return lengths, counts


def _slowest_last(counts: list[int]) -> list[int]:
    """The axes in the order in which vertices and cells are numbered, that with the most cells changing last.

    Two halves of the numbers are then two halves of the box with few corners in common: threads that take one each
    have little to tell one another.
    """
    return sorted(range(3), key=lambda axis: counts[axis])


def _places(counts: list[int], order: list[int]) -> list[Ints]:
    """The places along x, y and z of everything in a grid of these counts, in the order of its numbers."""
    number = np.arange(np.prod(counts))
    places: list[Ints] = [number, number, number]
    for axis in order:
        places[axis], number = number % counts[axis], number // counts[axis]
    return places


def _cell_tets(counts: list[int], split: int, order: list[int]) -> Ints:
    places = _places(counts, order)
    corner = np.arange(8)
    corners: Ints = np.zeros((int(np.prod(counts)), 8), np.int64)
    stride = 1
    for axis in order:
        corners += stride * (places[axis][:, None] + (corner >> axis & 1))
        stride *= counts[axis] + 1
    odd = ((places[0] + places[1] + places[2]) % 2 == 1)[:, None, None]
    tets = corners[:, _SIX] if split == 6 else np.where(odd, corners[:, _FIVE_ODD], corners[:, _FIVE_EVEN])
    return np.asarray(tets, dtype=np.int64).reshape(-1, 4)


def _sides(axes: list[Floats], vertices: Floats) -> dict[str, Ints]:
    names = (("left", "right"), ("bottom", "top"), ("back", "front"))
    groups: dict[str, Ints] = {}
    for axis, (low, high) in enumerate(names):
        groups[low] = np.flatnonzero(vertices[:, axis] == axes[axis][0])
        groups[high] = np.flatnonzero(vertices[:, axis] == axes[axis][-1])
    return groups
