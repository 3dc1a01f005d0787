"""The soft mask as Kaolin defines it.

A covered pixel has mask 1 and passes no gradient. Elsewhere the first ``most`` triangles, by index, whose box grown by
``reach`` holds the pixel count with p = exp(-sharpness d^2 / multiplier^2), d in scaled coordinates, and
mask = 1 - miss, miss = prod (1 - p). All triangles count, shown or not.
"""

from __future__ import annotations

from diffloom_kernels import constant, device, exp, minimum
from diffloom_raster.bin_kernels import TILE, tile_corner
from diffloom_raster.triangle_kernels import load_corner

from .kaolin_coverage_kernels import holds, plane_box, scaled_box
from .kaolin_distance_kernels import kaolin_distance, kaolin_distance_adjoint


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
def kaolin_soften(tile, grid, mesh, lists, point, face_index, falloff, multiplier, miss, last):
    """miss of the pixels of a tile, 0 where covered; last: index of the last triangle that counted, -1 for none."""
    frame, top, left = tile_corner(tile, grid)
    sharpness, reach, most = falloff.sharpness, falloff.reach, falloff.most
    zero, one = constant(reach, 0), constant(reach, 1)
    square = multiplier * multiplier
    far = constant(reach, 4) * square
    for i in range(top, minimum(top + TILE, grid.height)):
        for j in range(left, minimum(left + TILE, grid.width)):
            covered = face_index[frame, i, j] >= 0
            miss[frame, i, j] = zero if covered else one
            last[frame, i, j] = -1
            count = most if covered else 0
            x, y = grid.columns[j] * multiplier, grid.rows[i] * multiplier
            k = lists.start[tile]
            while k < lists.start[tile + 1] and count < most:
                n = lists.triangle[k]
                v = load_corner(point, mesh, n)
                if holds(grown_box(v, reach, multiplier), x, y):
                    d2, kind = kaolin_distance(x, y, scaled(v, multiplier), far)
                    miss[frame, i, j] *= one - exp(-sharpness * d2 / square)
                    last[frame, i, j] = n
                    count += 1
                k += 1


@device
def kaolin_soften_adjoint(entry, grid, mesh, lists, open_tile, point, falloff, multiplier, last, pull, slots):
    """Cotangents of the corners of one entry's triangle from the pixels of its tile.

    pull: cotangent of miss times miss; d miss / d p = -miss / (1 - p + 1e-7); the distance is scaled, the corner is
    not, hence the one division by the multiplier.
    """
    n, tile, sharpness, reach = lists.triangle[entry], lists.tile[entry], falloff.sharpness, falloff.reach
    if not open_tile[tile]:
        return
    frame, top, left = tile_corner(tile, grid)
    zero, one, tiny = constant(reach, 0), constant(reach, 1), constant(reach, 1e-7)
    square = multiplier * multiplier
    v = load_corner(point, mesh, n)
    b, u = grown_box(v, reach, multiplier), scaled(v, multiplier)
    g0, g1, g2, g3, g4, g5 = zero, zero, zero, zero, zero, zero
    for i in range(top, minimum(top + TILE, grid.height)):
        for j in range(left, minimum(left + TILE, grid.width)):
            if pull[frame, i, j] != zero and n <= last[frame, i, j]:
                x, y = grid.columns[j] * multiplier, grid.rows[i] * multiplier
                if holds(b, x, y):
                    d2, kind, g = kaolin_distance_adjoint(x, y, u, constant(reach, 4) * square)
                    p = exp(-sharpness * d2 / square)
                    g = scaled(g, sharpness * pull[frame, i, j] / (one - p + tiny) * p / multiplier)
                    g0, g1, g2, g3, g4, g5 = g0 + g[0], g1 + g[1], g2 + g[2], g3 + g[3], g4 + g[4], g5 + g[5]
    slots[entry, 0], slots[entry, 1], slots[entry, 2] = g0, g1, g2
    slots[entry, 3], slots[entry, 4], slots[entry, 5] = g3, g4, g5
