"""The soft mask: how near an uncovered pixel lies to the triangles around it.

A covered pixel has mask 1 and passes no gradient. Elsewhere each triangle within ``reach`` [px] of the pixel counts
with p = exp(-sharpness d^2), d [px] the distance from its nearest side, and mask = 1 - miss, miss = prod (1 - p). Of
more than ``knum`` only the nearest count, together with those as far off as the last of them: so the mask depends
neither on the order of the faces nor on rounding. Two halves of a face cut at the near plane (``mate``) count once, the
nearer.
"""

from __future__ import annotations

from diffloom.kernels import anyl, device, maximum, notl, where
from diffloom.shading.kernels.powers import expv, is_single
from diffloom.shading.kernels.runs import alll, first_of, total, width_of
from diffloom.shading.kernels.tiles import TILE

from .distance import sides_of, triangle_distance, triangle_distance_adjoint
from .grid import apart, tile_corner

#: Farther than anything: does not count.
NOWHERE = 1e30
#: Least value of 1 - p, so that products can be divided by it.
LEAST = 1e-6
#: How much farther than the last of the nearest counts as equally far: what rounding may do, in float32 and float64.
EQUAL_32, EQUAL_64 = 1.00001, 1.0000000000001


@device
def counted_distance(x, y, n, three, sides, mate):
    """Squared distance [px^2] from triangle n (sides: three), or NOWHERE where its face's other half is nearer."""
    R = sides.dtype.type
    d2 = triangle_distance(y, three)
    if mate.shape[0] > 0 and mate[n] >= 0:
        other = triangle_distance(y, sides_of(x, mate[n], sides))
        farther = other < d2
        if mate[n] < n:
            farther = other <= d2
        d2 = where(farther, R(NOWHERE), d2)
    return d2


@device
def missed(d2, sharpness, like):
    """1 - p."""
    R = like.dtype.type
    return maximum(R(1.0) - expv(-sharpness * d2), d2 * R(0.0) + R(LEAST))


@device
def equal_to(d2, like):
    """The largest squared distance that counts as equal to d2."""
    R = like.dtype.type
    if is_single(d2):
        return d2 * R(EQUAL_32)
    return d2 * R(EQUAL_64)


@device
def soften(
    e, view, start, entry_triangle, open_tile, box, sides, mate, which, sharpness, reach, knum, miss, limit, touched
):
    """miss of a stripe e of columns of a tile, 0 where covered; limit: the squared distance counted up to, -1 if too
    many were. touched: of every entry and stripe the rows with pixels within reach, as bits."""
    R = sides.dtype.type
    s = first_of(e)
    tile, width = s // TILE, width_of(e)
    frame, top, left = tile_corner(tile, view)
    column = left + s % TILE
    here = e + (column - s)
    zero, one, reach2 = R(0.0), R(1.0), reach * reach
    x = view[2][here]
    open_rows = 0
    for row in range(top, top + TILE):
        is_open = which[frame, row, here] < zero
        miss[frame, row, here] = where(is_open, one, zero)
        if anyl(is_open):
            open_rows |= 1 << (row - top)
    if not open_tile[tile]:
        return
    # limit counts first
    for row in range(top, top + TILE):
        limit[frame, row, here] = x * zero
    for k in range(start[tile], start[tile + 1]):
        n = entry_triangle[k]
        bits = 0
        if column + width > box[n, 0] and column <= box[n, 2]:
            three = sides_of(x, n, sides)
            for row in range(max(top, box[n, 1]), min(top + TILE, box[n, 3] + 1)):
                if open_rows >> (row - top) & 1:
                    d2 = counted_distance(x, view[3][row], n, three, sides, mate)
                    near = (which[frame, row, here] < zero) & (d2 <= reach2)
                    if anyl(near):
                        product, number = miss[frame, row, here], limit[frame, row, here]
                        miss[frame, row, here] = where(near, product * missed(d2, sharpness, sides), product)
                        limit[frame, row, here] = where(near, number + one, number)
                        bits |= 1 << (row - top)
        touched[(k * TILE + s % TILE) // width] = bits
    for row in range(top, top + TILE):
        limit[frame, row, here] = where(limit[frame, row, here] > R(knum), -one, reach2)


@device
def choose_nearest(
    e, view, start, entry_triangle, open_tile, box, sides, mate, sharpness, reach, knum, near, miss, limit
):
    """Where too many triangles were counted, the limit that leaves knum, and miss anew.

    e is a stripe of columns of a tile. near: scratch, (entries, TILE).
    """
    R = sides.dtype.type
    s = first_of(e)
    tile = s // TILE
    if not open_tile[tile]:
        return
    frame, top, left = tile_corner(tile, view)
    column = left + s % TILE
    here, own = e + (column - s), e + (s % TILE - s)
    x = view[2][here]
    for row in range(top, top + TILE):
        crowded = limit[frame, row, here] < R(0.0)
        if anyl(crowded):
            y = view[3][row]
            for k in range(start[tile], start[tile + 1]):
                n = entry_triangle[k]
                d2 = x * R(0.0) + R(NOWHERE)
                if not apart(n, row, column, column + width_of(e) - 1, box):
                    d2 = counted_distance(x, y, n, sides_of(x, n, sides), sides, mate)
                near[k, own] = d2
            last = bisect(own, crowded, start[tile], start[tile + 1], knum, reach * reach, near)
            last = equal_to(last, sides)
            product = x * R(0.0) + R(1.0)
            for k in range(start[tile], start[tile + 1]):
                d2 = near[k, own]
                counts = d2 <= last
                if anyl(counts & crowded):
                    product = where(counts, product * missed(d2, sharpness, sides), product)
            miss[frame, row, here] = where(crowded, product, miss[frame, row, here])
            limit[frame, row, here] = where(crowded, last, limit[frame, row, here])


@device
def bisect(own, crowded, begin, end, knum, reach2, near):
    """A squared distance that knum of the noted ones do not exceed and, but for equals of the last, no more."""
    R = near.dtype.type
    zero, one = R(0.0), R(1.0)
    low = near[begin, own] * zero
    high = low + reach2
    for _ in range(100):
        middle = (low + high) * R(0.5)
        number = low * zero
        for k in range(begin, end):
            number = number + where(near[k, own] <= middle, one, zero)
        enough = number >= R(knum)
        high = where(enough, middle, high)
        low = where(enough, low, middle)
        # equal distances cannot be told apart any further than this
        if alll(notl(crowded) | (number == R(knum)) | (equal_to(low, near) >= high)):
            break
    return high


@device
def veil_adjoint(tile, view, open_tile, miss, adj_planes, pull):
    """pull = adj_miss miss in a tile with uncovered pixels; adj_miss = -adj_mask, the last channel of the planes."""
    if not open_tile[tile]:
        return
    frame, top, left = tile_corner(tile, view)
    width = miss.shape[2]
    stride = adj_planes.shape[1] // (miss.shape[1] * width)
    for i in range(top, top + TILE):
        for j in range(left, left + TILE):
            pull[frame, i, j] = -adj_planes[frame, (i * width + j) * stride + stride - 1] * miss[frame, i, j]


@device
def soften_adjoint(
    e, view, entry_triangle, entry_tile, open_tile, touched, sides, mate, sharpness, limit, pull, slots
):
    """Cotangents of the corners of one entry's triangle from a stripe e of columns of its tile, if it touches that.

    pull: cotangent of miss times miss; d miss / d d^2 = miss sharpness p / (1 - p).
    """
    R = sides.dtype.type
    s = first_of(e)
    i = s // width_of(e)
    n, tile = entry_triangle[s // TILE], entry_tile[s // TILE]
    if not open_tile[tile] or touched[i] == 0:
        return
    frame, top, left = tile_corner(tile, view)
    here = e + (left + s % TILE - s)
    x = view[2][here]
    zero = R(0.0)
    none = x * zero
    ax, ay, bx, by, cx, cy = none, none, none, none, none, none
    three = sides_of(x, n, sides)
    for k in range(TILE):
        if touched[i] >> k & 1 == 0:
            continue
        row = top + k
        w = pull[frame, row, here]
        if anyl(w != zero):
            d2, g = triangle_distance_adjoint(view[3][row], three)
            if mate.shape[0] > 0:
                d2 = counted_distance(x, view[3][row], n, three, sides, mate)
            p = expv(-sharpness * d2)
            f = where(d2 <= limit[frame, row, here], w * sharpness * p / missed(d2, sharpness, sides), zero)
            f = f + f
            ax, ay, bx = ax + f * g[0], ay + f * g[1], bx + f * g[2]
            by, cx, cy = by + f * g[3], cx + f * g[4], cy + f * g[5]
    slots[i, 0], slots[i, 1], slots[i, 2] = total(ax), total(ay), total(bx)
    slots[i, 3], slots[i, 4], slots[i, 5] = total(by), total(cx), total(cy)
