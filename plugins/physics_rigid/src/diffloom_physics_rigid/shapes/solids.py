"""Meshes of solids of revolution about y, plates of a polygon, and blocks of filled cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom_geometry import Points
from diffloom_physics_rigid.shapes.shape import RigidShape, orient_outwards


def lathe(profile: Sequence[tuple[float, float]], segments: int = 16) -> RigidShape:
    """Return the solid of revolution of a line about y.

    Args:
        profile: Points (radius, height) [m] of the line. It starts and ends on the axis (radius 0) and keeps off the
            axis between; it may rise outside and fall inside, as in a bowl.
        segments: Vertices of each ring.
    """
    radii = [r for r, _ in profile]
    if len(profile) < 3 or radii[0] != 0.0 or radii[-1] != 0.0 or min(radii[1:-1]) <= 0.0:
        raise InputError(f"lathe: got radii {radii}; expected 0 at both ends and positive numbers between")
    angle = np.arange(segments) * (2.0 * math.pi / segments)

    def ring(k: int) -> Points:
        """Return the ring of vertices at point k of the profile."""
        r, y = profile[k]
        return np.stack([r * np.cos(angle), np.full(segments, y), r * np.sin(angle)], axis=1)

    tips = np.array([(0.0, profile[0][1], 0.0), (0.0, profile[-1][1], 0.0)])
    return skin([ring(k) for k in range(1, len(profile) - 1)], tips)


def tube(
    centre: Callable[[float], tuple[float, float, float]],
    radius: Callable[[float], float],
    rings: int,
    segments: int,
) -> RigidShape:
    """Return a tube around a curve in the plane z = 0, closed by tips.

    Args:
        centre: Point of the curve [m] at s in 0..1.
        radius: Radius of the tube [m] at s, positive between the ends.
        rings: Rings of vertices between the tips.
        segments: Vertices of each ring.
    """
    angle = np.arange(segments) * (2.0 * math.pi / segments)

    def ring(s: float) -> Points:
        """Return the ring of vertices around the curve at s."""
        step = 1e-4
        along = np.subtract(centre(s + step), centre(s - step))
        along /= np.linalg.norm(along)
        across, up = np.array([-along[1], along[0], 0.0]), np.array([0.0, 0.0, 1.0])
        return np.array(centre(s)) + radius(s) * (np.outer(np.cos(angle), across) + np.outer(np.sin(angle), up))

    return skin([ring(k / (rings + 1)) for k in range(1, rings + 1)], np.array([centre(0.0), centre(1.0)]))


def skin(rings: Sequence[Points], tips: Points) -> RigidShape:
    """Return a closed mesh over ``rings`` of equally many vertices, with a tip before the first and after the last
    ring.
    """
    segments, count = len(rings[0]), len(rings)
    vertices = np.concatenate([*rings, tips])
    j = np.arange(segments)
    k = (j + 1) % segments
    faces = [np.stack([np.full(segments, segments * count), k, j], axis=1)]
    for row in range(count - 1):
        a, b = row * segments, (row + 1) * segments
        faces += [np.stack([a + j, a + k, b + k], axis=1), np.stack([a + j, b + k, b + j], axis=1)]
    last = (count - 1) * segments
    faces.append(np.stack([last + j, last + k, np.full(segments, segments * count + 1)], axis=1))
    joined = np.concatenate(faces)
    return RigidShape(vertices, orient_outwards(vertices, joined))


Corner = tuple[float, float]


def prism(outline: Sequence[Corner], thickness: float) -> RigidShape:
    """Return a plate.

    Args:
        outline: Corners (x, y) [m] of a simple polygon, counter-clockwise.
        thickness: Thickness along z [m].
    """
    n = len(outline)
    flat = np.asarray(outline, dtype=np.float64)
    front = np.column_stack([flat, np.full(n, 0.5 * thickness)])
    vertices = np.concatenate([front, front * [1.0, 1.0, -1.0]])
    lid = np.array(cut_ears(outline))
    j = np.arange(n)
    k = (j + 1) % n
    side = np.concatenate([np.stack([j, n + j, n + k], axis=1), np.stack([j, n + k, k], axis=1)])
    faces = np.concatenate([lid, lid[:, ::-1] + n, side])
    return RigidShape(vertices, orient_outwards(vertices, faces))


def cut_ears(outline: Sequence[Corner]) -> list[tuple[int, int, int]]:
    """Return triangles of a counter-clockwise polygon by ear clipping (Meisters 1975)."""
    left = list(range(len(outline)))
    triangles: list[tuple[int, int, int]] = []
    while len(left) > 3:
        for at in range(len(left)):
            a, b, c = left[at - 1], left[at], left[(at + 1) % len(left)]
            if is_ear(outline, left, a, b, c):
                triangles.append((a, b, c))
                del left[at]
                break
        else:
            raise InputError("prism: the outline crosses itself or runs clockwise; expected a simple polygon, "
                             "counter-clockwise")  # fmt: skip
    return [*triangles, (left[0], left[1], left[2])]


def is_ear(outline: Sequence[Corner], left: Sequence[int], a: int, b: int, c: int) -> bool:
    """Return True if corner b is convex and the triangle a, b, c holds no other remaining corner."""
    if turn(outline[a], outline[b], outline[c]) <= 0.0:
        return False
    return not any(
        min(turn(outline[a], outline[b], outline[p]), turn(outline[b], outline[c], outline[p]),
            turn(outline[c], outline[a], outline[p])) >= 0.0
        for p in left if p not in (a, b, c)
    )  # fmt: skip


def turn(a: Corner, b: Corner, c: Corner) -> float:
    """Return twice the signed area of the triangle a, b, c, positive if counter-clockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


CORNERS = {0: ((0, 0), (1, 0), (1, 1), (0, 1)), 1: ((0, 0), (0, 1), (1, 1), (1, 0))}
"""Corners of a unit square counter-clockwise (0) and clockwise (1)."""


def blocks(filled: NDArray[np.bool_], lines: Sequence[Sequence[float]]) -> RigidShape:
    """Return the solid of the filled cells of a grid.

    Args:
        filled: Cells (nx, ny, nz). Cells that meet only in an edge or a corner are refused, because they would share
            vertices but no face.
        lines: Coordinates of the grid along x, y, z [m], one more than cells.
    """
    if any(len(line) != n + 1 for line, n in zip(lines, filled.shape, strict=True)):
        counts = [len(line) for line in lines]
        raise InputError(f"blocks: cells {filled.shape} need one grid line more per axis, got {counts}")
    if any(has_edge_contact(filled, axis) for axis in range(3)):
        raise InputError("blocks: two filled cells meet in an edge only; fill a neighbour of theirs")
    quads = np.array(find_boundary_quads(filled))
    points, faces = np.unique(quads.reshape(-1, 3), axis=0, return_inverse=True)
    square = faces.reshape(-1, 4)
    triangles = np.concatenate([square[:, [0, 1, 2]], square[:, [0, 2, 3]]])
    vertices = np.stack([np.asarray(lines[axis])[points[:, axis]] for axis in range(3)], axis=1)
    return RigidShape(vertices, orient_outwards(vertices, triangles))


def find_boundary_quads(filled: NDArray[np.bool_]) -> list[list[tuple[int, int, int]]]:
    """Return the grid indices of the four corners of each square between a filled and an empty cell, seen from
    outside.
    """
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


def has_edge_contact(filled: NDArray[np.bool_], axis: int) -> bool:
    """Return True if two filled cells face each other diagonally across a grid edge along ``axis``, between two
    empty ones.
    """
    a = np.moveaxis(np.pad(filled, 1), axis, 0)
    one, two, three, four = a[:, :-1, :-1], a[:, 1:, 1:], a[:, 1:, :-1], a[:, :-1, 1:]
    return bool(((one & two & ~three & ~four) | (three & four & ~one & ~two)).any())
