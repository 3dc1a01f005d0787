"""Passes over runs of pixels at a time.

``find_index`` tells the nearest triangle that holds a pixel's centre.
"""

from __future__ import annotations

from diffloom_kernels import any_lane, device, where
from diffloom_raster.kernels import first_index, is_outside_box, locate_pixels, run_width

from .triangle_kernels import EDGE


@device
def edge_distance(t, k, x, y, outline):
    """Distance of places from edge k of triangle t, positive inside."""
    at = EDGE * k
    return outline[t, at + 2] * (x - outline[t, at]) + outline[t, at + 3] * (y - outline[t, at + 1])


@device
def find_index(e, grid, mesh, triangles, lists, index):
    """index[frame, row, column]: the nearest triangle of the frame that holds the centre, -1 for none; the one of least
    number where several are as near."""
    outline, box = triangles.outline, triangles.box
    R = outline.dtype.type
    tile, frame, row, here = locate_pixels(e, lists, grid)
    x, y = grid.columns[here], grid.rows[row]
    column, last = first_index(here), first_index(here) + run_width(e) - 1
    zero = R(0.0)
    best, face = x * zero, x * zero - R(1.0)
    for k in range(lists.start[tile], lists.start[tile + 1]):
        t = lists.triangle[k]
        if is_outside_box(t, row, column, last, box):
            continue
        a, b = edge_distance(t, 0, x, y, outline), edge_distance(t, 1, x, y, outline)
        c = edge_distance(t, 2, x, y, outline)
        inside = (a >= zero) & (b >= zero) & (c >= zero)
        if any_lane(inside):
            d = a * outline[t, 5] + b * outline[t, EDGE + 5] + c * outline[t, 2 * EDGE + 5]
            number = R(t - mesh.frame_start[frame])
            closer = inside & ((d > best) | ((d == best) & (number < face)))
            best, face = where(closer, d, best), where(closer, number, face)
    index[frame, row, here] = face
