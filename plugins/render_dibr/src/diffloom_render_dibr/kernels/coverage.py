"""Which triangle a pixel shows: the nearest that holds its centre."""

from __future__ import annotations

from diffloom.kernels import anyl, device, minimum, where
from diffloom.shading.kernels.runs import first_of, width_of
from diffloom.shading.kernels.tiles import TILE

from .grid import apart, tile_corner


@device
def cover(e, view, start, entry_triangle, inner, hard, which):
    """which[frame, row, column] for a run e of pixels, counted tile by tile: the nearest entry of the tile, or -1."""
    R = hard.dtype.type
    s = first_of(e)
    tile = s // (TILE * TILE)
    frame, row, column = tile_corner(tile, view)
    row, column = row + s % (TILE * TILE) // TILE, column + s % TILE
    here = e + (column - s)
    x, y = view[2][here], view[3][row]
    zero = R(0.0)
    nearest = x * zero
    found = nearest - R(1.0)
    for k in range(start[tile], start[tile + 1]):
        n = entry_triangle[k]
        if apart(n, row, column, column + width_of(e) - 1, inner):
            continue
        e0 = hard[n, 2] * (y - hard[n, 1]) - hard[n, 3] * (x - hard[n, 0])
        e1 = hard[n, 6] * (y - hard[n, 5]) - hard[n, 7] * (x - hard[n, 4])
        e2 = hard[n, 10] * (y - hard[n, 9]) - hard[n, 11] * (x - hard[n, 8])
        inside = (e0 >= zero) & (e1 >= zero) & (e2 >= zero)
        if anyl(inside):
            # rounding must not bring a sliver before its nearest corner
            d = minimum(e0 * hard[n, 12] + e1 * hard[n, 13] + e2 * hard[n, 14], nearest * zero + hard[n, 15])
            inside = inside & (d > nearest)
            nearest = where(inside, d, nearest)
            found = where(inside, R(k - start[tile]), found)
    which[frame, row, here] = found


@device
def name_faces(tile, size, view, start, entry_triangle, which, face_index, open_tile, visible):
    """face_index of a tile's pixels, -1 for none; open_tile: whether a tile with triangles has such pixels.

    visible[n]: whether triangle n is seen at all; begins as False, and whoever sees it says so.
    """
    frame, top, left = tile_corner(tile, view)
    open_pixels = False
    for i in range(top, min(top + TILE, size[0])):
        for j in range(left, min(left + TILE, size[1])):
            k = int(which[frame, i, j])
            n = -1
            if k >= 0:
                n = entry_triangle[start[tile] + k]
                visible[n] = True
            face_index[frame, i, j] = n
            open_pixels = open_pixels or n < 0
    open_tile[tile] = open_pixels and start[tile + 1] > start[tile]
