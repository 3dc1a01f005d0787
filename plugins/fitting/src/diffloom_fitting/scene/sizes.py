"""Size of a mesh as an unknown."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor


def scale_pieces(vertices: Tensor, faces: Tensor, factor: Tensor) -> Tensor:
    """Scale every connected piece of a mesh, vertices (frames, n, 3), about the mean of its vertices.

    Only the drawn size changes, not masses and contact.
    """
    piece = _pieces(faces.cpu().numpy().tobytes(), int(vertices.shape[1])).to(vertices.device)
    count = torch.bincount(piece).to(vertices.dtype)
    total = vertices.new_zeros((vertices.shape[0], len(count), 3)).index_add(1, piece, vertices)
    centre = (total / count[:, None])[:, piece]
    return centre + factor * (vertices - centre)


@lru_cache(maxsize=16)
def _pieces(faces: bytes, count: int) -> Tensor:
    """Return the connected piece (count,) that each vertex belongs to."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    corners = np.frombuffer(faces, np.int64).reshape(-1, 3)
    ends = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]]])
    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count))
    return torch.from_numpy(connected_components(graph, directed=False)[1].astype(np.int64))
