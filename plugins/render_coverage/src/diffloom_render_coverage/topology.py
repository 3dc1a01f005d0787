"""Topology of faces for coverage: which face lies beyond each edge, and which parts of a mesh are closed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def find_neighbours(faces: NDArray[Any]) -> NDArray[np.int32]:
    """Return the face beyond each edge, (faces, 3); -1 where an edge belongs to one face, to more than two, or to two
    that run along it in the same direction.

    Args:
        faces: (faces, 3), edge k from corner k to the next.
    """
    count = len(faces)
    start, end = faces.reshape(-1).astype(np.int64), np.roll(faces, -1, axis=1).reshape(-1).astype(np.int64)
    stride = int(faces.max(initial=0)) + 1
    key = np.minimum(start, end) * stride + np.maximum(start, end)
    order = np.argsort(key, kind="stable")
    first = np.searchsorted(key[order], key, side="left")
    shared = np.searchsorted(key[order], key, side="right") - first == 2
    place = np.minimum(first, max(len(order) - 2, 0))
    a, b = order[place], order[np.minimum(place + 1, len(order) - 1)]
    other = np.where(a == np.arange(3 * count), b, a)
    matched = shared & (start == end[other]) & (other // 3 != np.arange(3 * count) // 3)
    return np.where(matched, other // 3, -1).astype(np.int32).reshape(count, 3)


def find_closed(neighbour: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return 1 for faces of parts without a boundary, else 0, (faces,).

    Args:
        neighbour: see ``find_neighbours``.
    """
    count = len(neighbour)
    part, faces, inner = np.arange(count), np.repeat(np.arange(count), 3), neighbour.reshape(-1) >= 0
    a, b = faces[inner], neighbour.reshape(-1)[inner]
    while True:  # the least number of a part spreads, through ever longer jumps
        least = part.copy()
        np.minimum.at(least, a, part[b])
        least = least[least]
        if np.array_equal(least, part):
            break
        part = least
    is_open = np.zeros(count, bool)
    is_open[part[(neighbour < 0).any(axis=1)]] = True
    return (~is_open[part]).astype(np.int32)
