"""The soft mask as Kaolin defines it.

A covered pixel has mask 1 and passes no gradient. Elsewhere the first ``knum`` triangles, by index, whose box grown by
``reach`` holds the pixel count with p = exp(-sharpness d^2 / multiplier^2), d in scaled coordinates, and
mask = 1 - miss, miss = prod (1 - p). All triangles count, shown or not.
"""

from __future__ import annotations

from diffloom.kernels import constant, device, exp
from diffloom.shading.kernels.tiles import TILE

from .grid import load_corner, tile_corner
from .kaolin_coverage import holds, plane_box, scaled_box
from .kaolin_distance import kaolin_distance, kaolin_distance_adjoint


@device
def scaled(v, factor):
    """Six numbers times a factor."""
    return (v[0] * factor, v[1] * factor, v[2] * factor, v[3] * factor, v[4] * factor, v[5] * factor)


@device
def grown_box(v, reach, multiplier):
    """The box of triangle v in scaled coordinates, grown by reach on each side."""
    b = scaled_box(plane_box(v, constant(reach, 0)), multiplier)
    grown = reach * multiplier
    return (b[0] - grown, b[1] + grown, b[2] - grown, b[3] + grown)


@device
def kaolin_soften(
    tile, size, view, start, entry_triangle, point, mesh, face_index, sharpness, reach, knum, multiplier, miss, last
):
    """miss of the pixels of a tile, 0 where covered; last: index of the last triangle that counted, -1 for none."""
    frame, top, left = tile_corner(tile, view)
    zero, one = constant(reach, 0), constant(reach, 1)
    square = multiplier * multiplier
    far = constant(reach, 4) * square
    for i in range(top, min(top + TILE, size[0])):
        for j in range(left, min(left + TILE, size[1])):
            covered = face_index[frame, i, j] >= 0
            miss[frame, i, j] = zero if covered else one
            last[frame, i, j] = -1
            count = knum if covered else 0
            x, y = view[2][j] * multiplier, view[3][i] * multiplier
            k = start[tile]
            while k < start[tile + 1] and count < knum:
                n = entry_triangle[k]
                v = load_corner(point, mesh, n)
                if holds(grown_box(v, reach, multiplier), x, y):
                    d2, kind = kaolin_distance(x, y, scaled(v, multiplier), far)
                    miss[frame, i, j] *= one - exp(-sharpness * d2 / square)
                    last[frame, i, j] = n
                    count += 1
                k += 1


@device
def kaolin_soften_adjoint(
    entry, size, view, entry_triangle, entry_tile, open_tile, point, mesh, sharpness, reach, multiplier, last,
    pull, slots,
):
    """Cotangents of the corners of one entry's triangle from the pixels of its tile.

    pull: cotangent of miss times miss; d miss / d p = -miss / (1 - p + 1e-7); the distance is scaled, the corner is
    not, hence the one division by the multiplier.
    """
    n, tile = entry_triangle[entry], entry_tile[entry]
    if not open_tile[tile]:
        return
    frame, top, left = tile_corner(tile, view)
    zero, one, tiny = constant(reach, 0), constant(reach, 1), constant(reach, 1e-7)
    square = multiplier * multiplier
    v = load_corner(point, mesh, n)
    b, u = grown_box(v, reach, multiplier), scaled(v, multiplier)
    g0, g1, g2, g3, g4, g5 = zero, zero, zero, zero, zero, zero
    for i in range(top, min(top + TILE, size[0])):
        for j in range(left, min(left + TILE, size[1])):
            if pull[frame, i, j] != zero and n <= last[frame, i, j]:
                x, y = view[2][j] * multiplier, view[3][i] * multiplier
                if holds(b, x, y):
                    d2, kind, g = kaolin_distance_adjoint(x, y, u, constant(reach, 4) * square)
                    p = exp(-sharpness * d2 / square)
                    g = scaled(g, sharpness * pull[frame, i, j] / (one - p + tiny) * p / multiplier)
                    g0, g1, g2, g3, g4, g5 = g0 + g[0], g1 + g[1], g2 + g[2], g3 + g[3], g4 + g[4], g5 + g[5]
    slots[entry, 0], slots[entry, 1], slots[entry, 2] = g0, g1, g2
    slots[entry, 3], slots[entry, 4], slots[entry, 5] = g3, g4, g5
