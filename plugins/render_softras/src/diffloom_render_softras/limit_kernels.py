"""The K nearest faces of a pixel: how deep the K-th lies, found for a run of pixels at once by bisection.

Nothing is sorted. Fragments as deep as the K-th count with it, however many they are: where faces meet in an edge or
lie on each other, neither rounding nor their order decides which of them is seen.
"""

from __future__ import annotations

from diffloom_kernels import anyl, device, maximum, where
from diffloom_raster.bin_kernels import TILE, misses, tile_corner
from diffloom_raster.lane_kernels import alll, first_of, width_of
from diffloom_raster.power_kernels import is_single

from .fragment_kernels import edges, is_inside, nearest_edge, weights

#: Deeper than any depth: no fragment.
NOTHING = 1e30
#: How much deeper than the K-th counts as equally deep, in float32 and float64: more than rounding can do.
EQUAL_32, EQUAL_64 = 1.00001, 1.00000001


@device
def note_depths(row, column, own, here, begin, end, grid, outline, box, lists, blur, depths):
    """depths[entry, own]: of the fragments of the run of pixels, NOTHING where there is none; returns the largest."""
    R = outline.dtype.type
    x, y = grid.columns[here], grid.rows[row]
    deepest = x * R(0.0)
    for k in range(begin, end):
        t = lists.triangle[k]
        z = x * R(0.0) + R(NOTHING)
        if not misses(t, row, column, column + width_of(own) - 1, box):
            a, b, c = edges(outline, t, x, y)
            d, second, third = nearest_edge(a, b, c)
            q, scale, depth = weights(outline, t, a, b, c)
            near = is_inside(a, b, c, outline) | (d < blur.reach_squared)
            z = where(near, depth, z)
            deepest = where(near, maximum(deepest, depth), deepest)
        depths[k, own] = z
    return deepest


@device
def bisect(own, begin, end, most, high, depths):
    """The least depth that at least ``most`` fragments do not exceed."""
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
    return high


@device
def equal_to(depth, like):
    """The largest depth that counts as equal."""
    R = like.dtype.type
    if is_single(depth):
        return depth * R(EQUAL_32)
    return depth * R(EQUAL_64)


@device
def limit_depths(e, grid, fragments, blur, hits, depths):
    """Limits for a stripe e of columns of an active tile, where a pixel has more fragments than count."""
    outline, box, lists, limit = fragments.triangles.outline, fragments.triangles.box, fragments.lists, fragments.limit
    most = blur.most
    R = depths.dtype.type
    s = first_of(e)
    tile = lists.active[s // TILE]
    frame, top, left = tile_corner(tile, grid)
    here, own = e + (left + s % TILE - s), e + (s % TILE - s)
    begin, end = lists.start[tile], lists.start[tile + 1]
    for row in range(top, top + TILE):
        crowded = hits[frame, row, here] > R(most)
        if anyl(crowded):
            deepest = note_depths(row, left + s % TILE, own, here, begin, end, grid, outline, box, lists, blur, depths)
            depth = equal_to(bisect(own, begin, end, most, deepest, depths), depths)
            limit.depth[frame, row, here] = where(crowded, depth, R(NOTHING))
