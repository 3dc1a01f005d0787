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

from .distance import triangle_distance, triangle_distance_adjoint
from .grid import apart, tile_corner

#: Farther than anything: does not count.
NOWHERE = 1e30
#: Least value of 1 - p, so that products can be divided by it.
LEAST = 1e-6
#: How much farther than the last of the nearest counts as equally far: what rounding may do, in float32 and float64.
EQUAL_32, EQUAL_64 = 1.00001, 1.0000000000001


@device
def counted_distance(x, y, n, sides, mate):
    """Squared distance [px^2] from triangle n, or NOWHERE where the other half of its face is nearer."""
    R = sides.dtype.type
    d2 = triangle_distance(x, y, n, sides)
    if mate.shape[0] > 0 and mate[n] >= 0:
        other = triangle_distance(x, y, mate[n], sides)
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
def soften(e, view, start, entry_triangle, open_tile, box, sides, mate, which, sharpness, reach, knum, miss, limit):
    """miss of a run of pixels, 0 where covered; limit: the squared distance counted up to, -1 if too many were."""
    R = sides.dtype.type
    s = first_of(e)
    tile = s // (TILE * TILE)
    frame, row, column = tile_corner(tile, view)
    row, column = row + s % (TILE * TILE) // TILE, column + s % TILE
    here = e + (column - s)
    zero, one = R(0.0), R(1.0)
    is_open = which[frame, row, here] < zero
    product = where(is_open, one, zero)
    number = product * zero
    if open_tile[tile] and anyl(is_open):
        x, y = view[2][here], view[3][row]
        for k in range(start[tile], start[tile + 1]):
            n = entry_triangle[k]
            if apart(n, row, column, column + width_of(e) - 1, box):
                continue
            d2 = counted_distance(x, y, n, sides, mate)
            near = is_open & (d2 <= reach * reach)
            if anyl(near):
                product = where(near, product * missed(d2, sharpness, sides), product)
                number = where(near, number + one, number)
    miss[frame, row, here] = product
    limit[frame, row, here] = where(number > R(knum), -one, reach * reach)


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
                    d2 = counted_distance(x, y, n, sides, mate)
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
def veil(r, height, miss, channel, planes):
    """Row r of all frames of the mask, 1 - miss, into a channel of the planes."""
    frame, i, width = r // height, r % height, miss.shape[2]
    for j in range(width):
        planes[frame, channel, i * width + j] = miss.dtype.type(1) - miss[frame, i, j]


@device
def veil_adjoint(r, miss, channel, adj_planes, pull):
    """pull = adj_miss miss in row r of all frames, with adj_miss = -adj_mask."""
    height, width = miss.shape[1], miss.shape[2]
    frame, i = r // height, r % height
    for j in range(width):
        pull[frame, i, j] = -adj_planes[frame, channel, i * width + j] * miss[frame, i, j]


@device
def soften_adjoint(e, view, entry_triangle, entry_tile, open_tile, box, sides, mate, sharpness, limit, pull, slots):
    """Cotangents of the corners of one entry's triangle from a stripe e of columns of its tile.

    pull: cotangent of miss times miss; d miss / d d^2 = miss sharpness p / (1 - p).
    """
    R = sides.dtype.type
    s = first_of(e)
    n, tile = entry_triangle[s // TILE], entry_tile[s // TILE]
    if not open_tile[tile]:
        return
    frame, top, left = tile_corner(tile, view)
    here = e + (left + s % TILE - s)
    x = view[2][here]
    zero = R(0.0)
    none = x * zero
    ax, ay, bx, by, cx, cy = none, none, none, none, none, none
    for row in range(max(top, box[n, 1]), min(top + TILE, box[n, 3] + 1)):
        w = pull[frame, row, here]
        if anyl(w != zero):
            y = view[3][row]
            d2, g = triangle_distance_adjoint(x, y, n, sides)
            counts = counted_distance(x, y, n, sides, mate) <= limit[frame, row, here]
            if anyl(counts):
                p = expv(-sharpness * d2)
                f = where(counts, w * sharpness * p / missed(d2, sharpness, sides), zero)
                f = f + f
                ax, ay, bx = ax + f * g[0], ay + f * g[1], bx + f * g[2]
                by, cx, cy = by + f * g[3], cx + f * g[4], cy + f * g[5]
    i = s // width_of(e)
    slots[i, 0], slots[i, 1], slots[i, 2] = total(ax), total(ay), total(bx)
    slots[i, 3], slots[i, 4], slots[i, 5] = total(by), total(cx), total(cy)
