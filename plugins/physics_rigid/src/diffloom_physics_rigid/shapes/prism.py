"""Plates: a polygon in the x-y plane, given a thickness along z."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diffloom.interfaces import InputError
from diffloom_physics_rigid.shapes.shape import Shape, outwards

Corner = tuple[float, float]


def prism(outline: Sequence[Corner], thickness: float) -> Shape:
    """outline: corners (x, y) [m] of a polygon without crossings, counter-clockwise. thickness along z [m]."""
    n = len(outline)
    flat = np.asarray(outline, dtype=np.float64)
    front = np.column_stack([flat, np.full(n, 0.5 * thickness)])
    vertices = np.concatenate([front, front * [1.0, 1.0, -1.0]])
    lid = np.array(cut_ears(outline))
    j = np.arange(n)
    k = (j + 1) % n
    side = np.concatenate([np.stack([j, n + j, n + k], axis=1), np.stack([j, n + k, k], axis=1)])
    faces = np.concatenate([lid, lid[:, ::-1] + n, side])
    return Shape(vertices, outwards(vertices, faces))


def cut_ears(outline: Sequence[Corner]) -> list[tuple[int, int, int]]:
    """Triangles of a counter-clockwise polygon: cut off, again and again, a convex corner that holds no other one."""
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
    """Whether corner b is convex and the triangle a, b, c holds no other corner that is left."""
    if turn(outline[a], outline[b], outline[c]) <= 0.0:
        return False
    return not any(
        min(turn(outline[a], outline[b], outline[p]), turn(outline[b], outline[c], outline[p]),
            turn(outline[c], outline[a], outline[p])) >= 0.0
        for p in left if p not in (a, b, c)
    )  # fmt: skip


def turn(a: Corner, b: Corner, c: Corner) -> float:
    """Twice the area of the triangle a, b, c: positive when it runs counter-clockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
