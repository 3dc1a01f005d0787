"""Furniture: solids made of the filled cells of a small grid of boxes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom_physics_rigid.shapes.shape import Shape, outwards

CORNERS = {0: ((0, 0), (1, 0), (1, 1), (0, 1)), 1: ((0, 0), (0, 1), (1, 1), (1, 0))}
"""Corners of a unit square counter-clockwise (0) and clockwise (1)."""


def blocks(filled: NDArray[np.bool_], lines: Sequence[Sequence[float]]) -> Shape:
    """The solid of the filled cells.

    filled: (nx, ny, nz). lines: the grid's coordinates along x, y, z [m], one more than cells. Cells that meet only
    in an edge or a corner would share vertices without sharing a face; such a pattern is refused.
    """
    if any(len(line) != n + 1 for line, n in zip(lines, filled.shape, strict=True)):
        counts = [len(line) for line in lines]
        raise InputError(f"blocks: cells {filled.shape} need one grid line more per axis, got {counts}")
    if any(touches_by_edge(filled, axis) for axis in range(3)):
        raise InputError("blocks: two filled cells meet in an edge only; fill a neighbour of theirs")
    quads = np.array(boundary_quads(filled))
    points, faces = np.unique(quads.reshape(-1, 3), axis=0, return_inverse=True)
    square = faces.reshape(-1, 4)
    triangles = np.concatenate([square[:, [0, 1, 2]], square[:, [0, 2, 3]]])
    vertices = np.stack([np.asarray(lines[axis])[points[:, axis]] for axis in range(3)], axis=1)
    return Shape(vertices, outwards(vertices, triangles))


def boundary_quads(filled: NDArray[np.bool_]) -> list[list[tuple[int, int, int]]]:
    """Grid indices of the four corners of each square between a filled and an empty cell, seen from outside."""
    space = np.pad(filled, 1)
    quads: list[list[tuple[int, int, int]]] = []
    for cell in np.argwhere(filled):
        for axis in range(3):
            for side in (0, 1):
                beyond = cell + 1
                beyond[axis] += 2 * side - 1
                if space[tuple(beyond)]:
                    continue
                quad = []
                for b, c in CORNERS[1 - side]:
                    corner = cell.copy()
                    corner[axis] += side
                    corner[(axis + 1) % 3] += b
                    corner[(axis + 2) % 3] += c
                    quad.append((int(corner[0]), int(corner[1]), int(corner[2])))
                quads.append(quad)
    return quads


def touches_by_edge(filled: NDArray[np.bool_], axis: int) -> bool:
    """Whether, across some grid edge along ``axis``, two filled cells face each other diagonally between two empty."""
    a = np.moveaxis(np.pad(filled, 1), axis, 0)
    one, two, three, four = a[:, :-1, :-1], a[:, 1:, 1:], a[:, 1:, :-1], a[:, :-1, 1:]
    return bool(((one & two & ~three & ~four) | (three & four & ~one & ~two)).any())
