"""Which face is seen at a pixel's centre, without any softness."""

from __future__ import annotations

from diffloom.kernels import anyl, device, where
from diffloom.shading.kernels.runs import first_of, width_of
from diffloom.shading.kernels.tiles import TILE

from .fragments import edges, is_inside, weights
from .pixels import misses, tile_corner


@device
def hard_index(e, mesh, shape, lists, view, index):
    """index[frame, row, column]: the nearest triangle of the frame whose inside covers the centre, -1 for none."""
    record, box, swapped = shape
    R = record.dtype.type
    s = first_of(e)
    tile = lists[0][s // (TILE * TILE)]
    frame, top, left = tile_corner(tile, view)
    row, column = top + s % (TILE * TILE) // TILE, left + s % TILE
    here = e + (column - s)
    x, y = view[2][here], view[3][row]
    last = column + width_of(e) - 1
    least, face = x * R(0.0) + R(1e30), x * R(0.0) - R(1.0)
    for k in range(lists[1][tile], lists[1][tile + 1]):
        t = lists[2][k]
        if misses(t, row, column, last, box):
            continue
        a, b, c = edges(record, t, x, y)
        inside = is_inside(a, b, c, record)
        if anyl(inside):
            q, scale, z = weights(record, t, a, b, c)
            closer = inside & (z < least)
            least, face = where(closer, z, least), where(closer, R(t - mesh[3][frame]), face)
    index[frame, row, here] = face
