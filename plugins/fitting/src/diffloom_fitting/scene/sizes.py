"""Geometry as a parameter: a factor on the size of any mesh."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor


def sized(vertices: Tensor, faces: Tensor, factor: Tensor) -> Tensor:
    """Vertices (frames, n, 3) with every connected piece of the mesh scaled about the mean of its vertices. Only what
    is drawn changes size: masses and contact stay the model's."""
    piece = _pieces(faces.cpu().numpy().tobytes(), int(vertices.shape[1])).to(vertices.device)
    count = torch.bincount(piece).to(vertices.dtype)
    total = vertices.new_zeros((vertices.shape[0], len(count), 3)).index_add(1, piece, vertices)
    centre = (total / count[:, None])[:, piece]
    return centre + factor * (vertices - centre)


@lru_cache(maxsize=16)
def _pieces(faces: bytes, count: int) -> Tensor:
    """(count,): the connected piece that each vertex belongs to."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    corners = np.frombuffer(faces, np.int64).reshape(-1, 3)
    ends = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]]])
    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count))
    return torch.from_numpy(connected_components(graph, directed=False)[1].astype(np.int64))
