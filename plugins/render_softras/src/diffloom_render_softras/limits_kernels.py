"""The K nearest faces of a pixel: how deep the K-th lies, found for a run of pixels at once by bisection.

Nothing is sorted: fragments no later than (limit_depth, limit_face) are the K nearest, equal depths in the order of
the faces.
"""

from __future__ import annotations

from diffloom.kernels import anyl, device, maximum, where
from diffloom.shading.kernels.runs import alll, first_of, width_of
from diffloom.shading.kernels.tiles import TILE

from .fragments import edges, is_inside, nearest_edge, weights
from .pixels import misses, tile_corner

#: Deeper than any depth: no fragment.
NOTHING = 1e30


@device
def note_depths(row, column, own, here, begin, end, shape, lists, view, soft, depths):
    """depths[entry, own]: of the fragments of the run of pixels, NOTHING where there is none; returns the largest."""
    record, box, swapped = shape
    R = record.dtype.type
    x, y = view[2][here], view[3][row]
    deepest = x * R(0.0)
    for k in range(begin, end):
        t = lists[2][k]
        z = x * R(0.0) + R(NOTHING)
        if not misses(t, row, column, column + width_of(own) - 1, box):
            a, b, c = edges(record, t, x, y)
            d, second, third = nearest_edge(a, b, c)
            q, scale, depth = weights(record, t, a, b, c)
            near = is_inside(a, b, c, record) | (d < soft[1])
            z = where(near, depth, z)
            deepest = where(near, maximum(deepest, depth), deepest)
        depths[k, own] = z
    return deepest


@device
def bisect(own, begin, end, most, high, depths):
    """The least depth that at least ``most`` fragments do not exceed, and how many are less deep."""
    R = depths.dtype.type
    one, zero = R(1.0), R(0.0)
    low = high * zero
    for _ in range(200):
        middle = (low + high) * R(0.5)
        done = (middle <= low) | (middle >= high)
        if alll(done):
            break
        number = high * zero
        for k in range(begin, end):
            number = number + where(depths[k, own] <= middle, one, zero)
        enough = number >= R(most)
        high = where(enough, middle, high)
        low = where(enough, low, middle)
    less = high * zero
    for k in range(begin, end):
        less = less + where(depths[k, own] < high, one, zero)
    return high, less


@device
def limit_depths(e, most, mesh, shape, lists, view, soft, hits, depths, limit):
    """Limits for a stripe e of columns of an active tile, where a pixel has more than ``most`` fragments."""
    limit_depth, limit_face = limit
    R = depths.dtype.type
    s = first_of(e)
    tile = lists[0][s // TILE]
    frame, top, left = tile_corner(tile, view)
    here, own = e + (left + s % TILE - s), e + (s % TILE - s)
    begin, end = lists[1][tile], lists[1][tile + 1]
    one, zero = R(1.0), R(0.0)
    for row in range(top, top + TILE):
        crowded = hits[frame, row, here] > R(most)
        if anyl(crowded):
            deepest = note_depths(row, left + s % TILE, own, here, begin, end, shape, lists, view, soft, depths)
            depth, less = bisect(own, begin, end, most, deepest, depths)
            equal, face = depth * zero, depth * zero
            for k in range(begin, end):
                same = depths[k, own] == depth
                equal = equal + where(same, one, zero)
                taken = same & (less + equal <= R(most))
                face = where(taken, R(lists[2][k] - mesh[3][frame]), face)
            limit_depth[frame, row, here] = where(crowded, depth, R(NOTHING))
            limit_face[frame, row, here] = where(crowded, face, zero)
