"""Where a run of pixels lies in the pictures."""

from __future__ import annotations

from diffloom.kernels import device
from diffloom.shading.kernels.tiles import TILE


@device
def tile_corner(tile, view):
    """Frame, first row and first column of a tile."""
    cells = view[0] * view[1]
    cell = tile % cells
    return tile // cells, cell // view[0] * TILE, cell % view[0] * TILE


@device
def misses(t, row, first, last, box):
    """Whether the pixels from column first to last of a row all lie outside the box of triangle t."""
    return row < box[t, 1] or row > box[t, 3] or last < box[t, 0] or first > box[t, 2]
