"""Edges of a triangle mesh: hinges between two faces, and the boundary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffloom.errors import InputError
from diffloom_geometry.triangle_checks import Faces


@dataclass(frozen=True)
class Edges:
    """Every edge of a mesh, once, in the order of its vertex pairs.

    hinges: (hinges, 4) vertices of interior edges: x0 and x1 on the edge, x2 opposite it in one face, x3 in the
    other. The first face runs through the edge from x0 to x1. hinge_faces: (hinges, 2) those faces.
    boundary: (boundary edges, 2) vertices of edges with one face. flipped: numbers of hinges whose two faces run
    through the edge in the same direction, so that their front sides disagree.
    """

    hinges: NDArray[np.int64]
    hinge_faces: NDArray[np.int64]
    boundary: NDArray[np.int64]
    flipped: NDArray[np.int64]

    @property
    def pairs(self) -> NDArray[np.int64]:
        """(edges, 2) vertices of all edges, smaller index first, sorted."""
        both = np.sort(np.concatenate([self.hinges[:, :2], self.boundary]), axis=1)
        return both[np.lexsort((both[:, 1], both[:, 0]))]


def find_edges(what: str, faces: Faces) -> Edges:
    """The edges of ``faces`` (F, 3); InputError names edges that more than two faces share."""
    count = len(faces)
    start = faces.reshape(-1)
    end = faces[:, [1, 2, 0]].reshape(-1)
    opposite = faces[:, [2, 0, 1]].reshape(-1)
    owner = np.repeat(np.arange(count), 3)
    low, high = np.minimum(start, end), np.maximum(start, end)
    order = np.lexsort((owner, high, low))
    low, high = low[order], high[order]
    first = np.flatnonzero(np.concatenate([[True], (low[1:] != low[:-1]) | (high[1:] != high[:-1])]))
    times = np.diff(np.append(first, len(low)))
    check_manifold(what, low, high, owner[order], first, times)
    one, two = order[first[times == 2]], order[first[times == 2] + 1]
    alone = order[first[times == 1]]
    return Edges(
        hinges=np.stack([start[one], end[one], opposite[one], opposite[two]], axis=1),
        hinge_faces=np.stack([owner[one], owner[two]], axis=1),
        boundary=np.stack([start[alone], end[alone]], axis=1),
        flipped=np.flatnonzero(start[one] == start[two]),
    )


def check_manifold(
    what: str,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    owner: NDArray[np.int64],
    first: NDArray[np.int64],
    times: NDArray[np.int64],
) -> None:
    """InputError when an edge has three faces or more. Half-edges come sorted by their vertices."""
    crowded = np.flatnonzero(times > 2)
    if not crowded.size:
        return
    texts = []
    for group in crowded[:5]:
        at = first[group]
        around = ", ".join(str(f) for f in owner[at : at + times[group]])
        texts.append(f"edge {low[at]}-{high[at]} (faces {around})")
    more = f" and {crowded.size - 5} more" if crowded.size > 5 else ""
    raise InputError(
        f"{what}: the mesh is not manifold: {'; '.join(texts)}{more} shared by more than two faces; "
        "split the mesh there or remove the extra faces"
    )
