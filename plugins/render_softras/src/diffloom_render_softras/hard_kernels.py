"""Which face is shown at a pixel's centre, without any softness."""

from __future__ import annotations

from diffloom_kernels import anyl, device, where
from diffloom_raster.bin_kernels import TILE, misses, tile_corner
from diffloom_raster.lane_kernels import first_of, width_of

from .fragment_kernels import edges, is_inside, weights


@device
def hard_index(e, grid, mesh, triangles, lists, index):
    """index[frame, row, column]: the nearest triangle of the frame whose inside covers the centre, -1 for none."""
    outline, box = triangles.outline, triangles.box
    R = outline.dtype.type
    s = first_of(e)
    tile = lists.active[s // (TILE * TILE)]
    frame, top, left = tile_corner(tile, grid)
    row, column = top + s % (TILE * TILE) // TILE, left + s % TILE
    here = e + (column - s)
    x, y = grid.columns[here], grid.rows[row]
    last = column + width_of(e) - 1
    least, face = x * R(0.0) + R(1e30), x * R(0.0) - R(1.0)
    for k in range(lists.start[tile], lists.start[tile + 1]):
        t = lists.triangle[k]
        if misses(t, row, column, last, box):
            continue
        a, b, c = edges(outline, t, x, y)
        inside = is_inside(a, b, c, outline)
        if anyl(inside):
            q, scale, z = weights(outline, t, a, b, c)
            closer = inside & (z < least)
            least, face = where(closer, z, least), where(closer, R(t - mesh.frame_start[frame]), face)
    index[frame, row, here] = face
