"""Which corners of faces use a row (a vertex, a colour, a texture coordinate): what gathering sums over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from diffloom.shading.arrays import plain


@dataclass(frozen=True)
class Corners:
    """Rows used by the corners of faces, and the corners that use a row, as arrays of int32.

    index: (faces, 3). start: (rows + 1,) and corner: (3 faces,): row i is used by the corners corner[start[i]:start[i
    + 1]], numbered 3 x face + corner, in that order.
    """

    index: Any
    start: Any
    corner: Any


_known: WeakTensorKeyDictionary = WeakTensorKeyDictionary()


def corners_of(index: Tensor, rows: int) -> Corners:
    """The corners of faces (faces, 3) into ``rows`` rows; kept as long as the tensor lives unchanged."""
    found = _known.get(index)
    if found is not None and found[:2] == (index._version, rows):
        kept: Corners = found[2]
        return kept
    flat = index.detach().reshape(-1)
    start = torch.zeros(rows + 1, dtype=torch.int32, device=index.device)
    torch.cumsum(torch.bincount(flat, minlength=rows), 0, out=start[1:])
    order = flat.argsort(stable=True)
    # A copy: the caller may change its tensor in place.
    corners = Corners(plain(index.to(torch.int32, copy=True)), plain(start), plain(order.to(torch.int32)))
    _known[index] = (index._version, rows, corners)
    return corners
