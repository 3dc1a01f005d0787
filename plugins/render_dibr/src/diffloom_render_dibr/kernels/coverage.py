"""Which triangle a pixel shows: the nearest that holds its centre.

A tile draws the triangles seen from their front first. What is behind all it shows by then need not be looked at: of a
closed surface, the whole back.
"""

from __future__ import annotations

from diffloom.kernels import anyl, device, minimum, where
from diffloom.shading.kernels.runs import alll, first_of, width_of
from diffloom.shading.kernels.tiles import TILE

from .grid import tile_corner


@device
def cover(e, view, start, entry_triangle, inner, hard, nearest, which):
    """which[frame, row, column]: the nearest entry of the tile, or -1; nearest: 1 / depth there, or 0.

    e is a stripe of columns of a tile. A tile without entries leaves nearest as it is.
    """
    R = hard.dtype.type
    s = first_of(e)
    tile = s // TILE
    frame, top, left = tile_corner(tile, view)
    column = left + s % TILE
    here = e + (column - s)
    none = view[2][here] * R(0.0)
    for row in range(top, top + TILE):
        which[frame, row, here] = none - R(1.0)
    if start[tile] == start[tile + 1]:
        return
    for row in range(top, top + TILE):
        nearest[frame, row, here] = none
    cover_side(here, R(1.0), none, tile, view, start, entry_triangle, inner, hard, nearest, which)
    horizon = nearest[frame, top, here]
    for row in range(top + 1, top + TILE):
        horizon = minimum(horizon, nearest[frame, row, here])
    cover_side(here, R(0.0), horizon, tile, view, start, entry_triangle, inner, hard, nearest, which)


@device
def cover_side(here, front, horizon, tile, view, start, entry_triangle, inner, hard, nearest, which):
    """Draw the triangles with their front, or their back, to the camera; horizon: the least of nearest by column."""
    R = hard.dtype.type
    frame, top, left = tile_corner(tile, view)
    first, last = first_of(here), first_of(here) + width_of(here) - 1
    x = view[2][here]
    zero, none = R(0.0), x * R(0.0)
    for k in range(start[tile], start[tile + 1]):
        n = entry_triangle[k]
        if hard[n, 16] != front or last < inner[n, 0] or first > inner[n, 2]:
            continue
        # rounding must not bring a sliver before its nearest corner
        most = none + hard[n, 15]
        if alll(horizon >= most):
            continue
        # read once: what is stored below might be these, as far as the compiler knows
        y0, y1, y2, dx0, dx1, dx2 = hard[n, 1], hard[n, 5], hard[n, 9], hard[n, 2], hard[n, 6], hard[n, 10]
        w0, w1, w2, number = hard[n, 12], hard[n, 13], hard[n, 14], none + R(k - start[tile])
        u0, u1, u2 = hard[n, 3] * (x - hard[n, 0]), hard[n, 7] * (x - hard[n, 4]), hard[n, 11] * (x - hard[n, 8])
        for row in range(max(top, inner[n, 1]), min(top + TILE, inner[n, 3] + 1)):
            y = view[3][row]
            e0, e1, e2 = dx0 * (y - y0) - u0, dx1 * (y - y1) - u1, dx2 * (y - y2) - u2
            inside = (e0 >= zero) & (e1 >= zero) & (e2 >= zero)
            if anyl(inside):
                d = minimum(e0 * w0 + e1 * w1 + e2 * w2, most)
                best = nearest[frame, row, here]
                inside = inside & (d > best)
                nearest[frame, row, here] = where(inside, d, best)
                which[frame, row, here] = where(inside, number, which[frame, row, here])


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
