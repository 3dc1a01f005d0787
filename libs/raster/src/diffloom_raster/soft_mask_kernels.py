"""Soft mask: a measure of the distance from an uncovered pixel to the triangles around it (Chen et al. 2019, DIB-R).

A covered pixel has mask 1 and passes no gradient. Elsewhere each triangle within ``reach`` [px] of the pixel counts
with p = exp(-sharpness d^2), d [px] the distance from its nearest side, and mask = 1 - miss, miss = prod (1 - p). Of
more than ``most`` only the nearest count, together with those at the distance of the last of them, so that the mask
depends neither on the order of the faces nor on rounding. Two halves of a face cut at the near plane (``sibling``)
count once, the nearer.
"""

from __future__ import annotations

from diffloom_kernels import any_lane, device, launch, launch_runs, maximum, minimum, not_lanes, where

from .binning_kernels import TILE, count_cells, fill_tiles, is_outside_box, locate_stripe, locate_tile, record_entry
from .coverage_kernels import gather_point
from .lane_kernels import alll, expv, first_index, is_single, run_width, total
from .triangle_kernels import load_sides, triangle_distance, triangle_distance_adjoint

#: Squared distance of a triangle that does not count.
NOWHERE = 1e30
#: Lower bound of 1 - p, so that products can be divided by it.
LEAST = 1e-6
#: Factor up to which squared distances count as equal, for rounding in float32 and float64.
EQUAL_32, EQUAL_64 = 1.00001, 1.0000000000001


@device
def counted_distance(x, y, n, three, sides, sibling):
    """Return the squared distance [px^2] from triangle n, or NOWHERE where its face's other half is nearer."""
    R = sides.dtype.type
    d2 = triangle_distance(y, three)
    if sibling.shape[0] > 0 and sibling[n] >= 0:
        other = triangle_distance(y, load_sides(x, sibling[n], sides))
        farther = other < d2
        if sibling[n] < n:
            farther = other <= d2
        d2 = where(farther, R(NOWHERE), d2)
    return d2


@device
def miss_probability(d2, sharpness, like):
    """Return 1 - p."""
    R = like.dtype.type
    return maximum(R(1.0) - expv(-sharpness * d2), d2 * R(0.0) + R(LEAST))


@device
def equal_to(d2, like):
    """Return the largest squared distance that counts as equal to d2."""
    R = like.dtype.type
    if is_single(d2):
        return d2 * R(EQUAL_32)
    return d2 * R(EQUAL_64)


@device
def soften(e, grid, lists, open_tile, box, sides, sibling, which, falloff, mask):
    """Write the mask of a stripe e of columns of a tile, miss 0 where covered; limit is -1 where too many were counted.
    """
    miss, limit, sharpness = mask.miss, mask.limit, falloff.sharpness
    R = sides.dtype.type
    s = first_index(e)
    tile, width = s // TILE, run_width(e)
    frame, top, here = locate_stripe(e, tile, grid)
    column = first_index(here)
    zero, one, reach2 = R(0.0), R(1.0), falloff.reach * falloff.reach
    x = grid.columns[here]
    open_rows = 0
    for row in range(top, top + TILE):
        is_open = which[frame, row, here] < zero
        miss[frame, row, here] = where(is_open, one, zero)
        if any_lane(is_open):
            open_rows |= 1 << (row - top)
    if not open_tile[tile]:
        return
    # limit counts first
    for row in range(top, top + TILE):
        limit[frame, row, here] = x * zero
    for k in range(lists.start[tile], lists.start[tile + 1]):
        n = lists.triangle[k]
        bits = 0
        if column + width > box[n, 0] and column <= box[n, 2]:
            three = load_sides(x, n, sides)
            for row in range(maximum(top, box[n, 1]), minimum(top + TILE, box[n, 3] + 1)):
                if open_rows >> (row - top) & 1:
                    d2 = counted_distance(x, grid.rows[row], n, three, sides, sibling)
                    near = (which[frame, row, here] < zero) & (d2 <= reach2)
                    if any_lane(near):
                        product, number = miss[frame, row, here], limit[frame, row, here]
                        miss[frame, row, here] = where(near, product * miss_probability(d2, sharpness, sides), product)
                        limit[frame, row, here] = where(near, number + one, number)
                        bits |= 1 << (row - top)
        mask.touched[(k * TILE + s % TILE) // width] = bits
    for row in range(top, top + TILE):
        limit[frame, row, here] = where(limit[frame, row, here] > R(falloff.most), -one, reach2)


@device
def choose_nearest(e, grid, lists, open_tile, box, sides, sibling, falloff, near, mask):
    """Write, where too many triangles were counted, the limit that keeps the nearest, and the new miss.

    e is a stripe of columns of a tile. near: scratch, (entries, TILE).
    """
    miss, limit, sharpness = mask.miss, mask.limit, falloff.sharpness
    R = sides.dtype.type
    s = first_index(e)
    tile = s // TILE
    if not open_tile[tile]:
        return
    frame, top, here = locate_stripe(e, tile, grid)
    column, own = first_index(here), e + (s % TILE - s)
    x = grid.columns[here]
    for row in range(top, top + TILE):
        crowded = limit[frame, row, here] < R(0.0)
        if any_lane(crowded):
            y = grid.rows[row]
            for k in range(lists.start[tile], lists.start[tile + 1]):
                n = lists.triangle[k]
                d2 = x * R(0.0) + R(NOWHERE)
                if not is_outside_box(n, row, column, column + run_width(e) - 1, box):
                    d2 = counted_distance(x, y, n, load_sides(x, n, sides), sides, sibling)
                near[k, own] = d2
            last = bisect(own, crowded, lists.start[tile], lists.start[tile + 1], falloff, near)
            last = equal_to(last, sides)
            product = x * R(0.0) + R(1.0)
            for k in range(lists.start[tile], lists.start[tile + 1]):
                d2 = near[k, own]
                counts = d2 <= last
                if any_lane(counts & crowded):
                    product = where(counts, product * miss_probability(d2, sharpness, sides), product)
            miss[frame, row, here] = where(crowded, product, miss[frame, row, here])
            limit[frame, row, here] = where(crowded, last, limit[frame, row, here])


@device
def bisect(own, crowded, begin, end, falloff, near):
    """Return the least squared distance that ``most`` of the recorded ones do not exceed, found by bisection.

    Distances equal to it, and no further ones, also count.
    """
    R = near.dtype.type
    zero, one = R(0.0), R(1.0)
    low = near[begin, own] * zero
    high = low + falloff.reach * falloff.reach
    for _ in range(100):
        middle = (low + high) * R(0.5)
        number = low * zero
        for k in range(begin, end):
            number = number + where(near[k, own] <= middle, one, zero)
        enough = number >= R(falloff.most)
        high = where(enough, middle, high)
        low = where(enough, low, middle)
        # bisection cannot separate equal distances any further
        if alll(not_lanes(crowded) | (number == R(falloff.most)) | (equal_to(low, near) >= high)):
            break
    return high


@device
def miss_adjoint(tile, grid, open_tile, miss, adj_planes, adj_log_miss):
    """Write the cotangent of log miss, adj_miss miss, in a tile with uncovered pixels.

    adj_miss = -adj_mask, the last channel of the planes (frames, pixels x channels).
    """
    if not open_tile[tile]:
        return
    frame, top, left = locate_tile(tile, grid)
    width = miss.shape[2]
    stride = adj_planes.shape[1] // (miss.shape[1] * width)
    for i in range(top, top + TILE):
        for j in range(left, left + TILE):
            adj_log_miss[frame, i, j] = -adj_planes[frame, (i * width + j) * stride + stride - 1] * miss[frame, i, j]


@device
def soften_adjoint(e, grid, lists, open_tile, sides, sibling, falloff, mask, adj_log_miss, slots):
    """Write cotangents of the corners of one entry's triangle from a stripe e of columns of its tile, if it touches
    that.

    With w the cotangent of log miss: adj_d^2 = w sharpness p / (1 - p), and 0 where 1 - p is at its lower bound.
    """
    R = sides.dtype.type
    s = first_index(e)
    i = s // run_width(e)
    n, tile, sharpness = lists.triangle[s // TILE], lists.tile[s // TILE], falloff.sharpness
    if not open_tile[tile] or mask.touched[i] == 0:
        return
    frame, top, here = locate_stripe(e, tile, grid)
    x = grid.columns[here]
    zero = R(0.0)
    none = x * zero
    ax, ay, bx, by, cx, cy = none, none, none, none, none, none
    three = load_sides(x, n, sides)
    for k in range(TILE):
        if mask.touched[i] >> k & 1 == 0:
            continue
        row = top + k
        w = adj_log_miss[frame, row, here]
        if any_lane(w != zero):
            d2, g = triangle_distance_adjoint(grid.rows[row], three)
            if sibling.shape[0] > 0:
                d2 = counted_distance(x, grid.rows[row], n, three, sides, sibling)
            p = expv(-sharpness * d2)
            clear = miss_probability(d2, sharpness, sides)
            counts = (d2 <= mask.limit[frame, row, here]) & (clear > R(LEAST))
            f = where(counts, w * sharpness * p / clear, zero)
            f = f + f
            ax, ay, bx = ax + f * g[0], ay + f * g[1], bx + f * g[2]
            by, cx, cy = by + f * g[3], cx + f * g[4], cy + f * g[5]
    slots[i, 0], slots[i, 1], slots[i, 2] = total(ax), total(ay), total(bx)
    slots[i, 3], slots[i, 4], slots[i, 5] = total(by), total(cx), total(cy)


@device
def record_touching(entry, stripes, lists, open_tile, touched, box, grid, cells, near_open):
    """Record an entry of the mask: its cell (record_entry), and its triangle in ``near_open``.

    touched: see records.Mask; where it is empty, every entry of an open tile counts.
    """
    if not open_tile[lists.tile[entry]]:
        return
    counts = touched.shape[0] == 0
    for i in range(entry * stripes, (entry + 1) * stripes):
        counts = counts or touched[i] != 0
    if counts:
        record_entry(entry, lists, box, grid, cells)
        near_open[lists.triangle[entry]] = True


@device
def sum_mask_slots(n, stripes, box, cells, near_open, touched, slots):
    """Return sums (6) over the entries of triangle n: cotangents of x and y of its corners."""
    o = slots.dtype.type(0)
    ax, ay, bx, by, cx, cy = o, o, o, o, o, o
    if near_open[n]:
        for cell in range(cells.first[n], cells.first[n] + count_cells(n, box)):
            entry = cells.entry[cell] - 1
            for i in range(entry * stripes, (entry + 1) * stripes if entry >= 0 else entry * stripes):
                if touched.shape[0] == 0 or touched[i] != 0:
                    ax, ay, bx = ax + slots[i, 0], ay + slots[i, 1], bx + slots[i, 2]
                    by, cx, cy = by + slots[i, 3], cx + slots[i, 4], cy + slots[i, 5]
    return ax, ay, bx, by, cx, cy


@device
def gather_mask(n, stripes, box, cells, near_open, touched, slots, adj_corners):
    """Write the sums of triangle n to adj_corners[n, corner]: x, y and 0."""
    g = sum_mask_slots(n, stripes, box, cells, near_open, touched, slots)
    for c in range(3):
        adj_corners[n, c, 0], adj_corners[n, c, 1] = g[2 * c], g[2 * c + 1]
        adj_corners[n, c, 2] = adj_corners.dtype.type(0)


def mask_pixels(frames, falloff, triangles, count, lists, open_tile, which, near, mask):
    """Pipeline: compute the mask where ``which`` is negative."""
    fill_tiles(frames, triangles.box, triangles.planes, count, lists)
    runs, box, sides, sibling = open_tile.shape[0] * TILE, triangles.box, triangles.sides, frames.mesh.sibling
    launch_runs(runs, soften, frames.grid, lists, open_tile, box, sides, sibling, which, falloff, mask)
    launch_runs(runs, choose_nearest, frames.grid, lists, open_tile, box, sides, sibling, falloff, near, mask)


def mask_pixels_adjoint(
    stripes, frames, falloff, corners, triangles, lists, open_tile, mask, adj_mask, cells, near_open, cotangents,
):
    """Pipeline: compute the cotangent of the points on the screen. cotangents: see records.MaskAdjoint."""
    grid, mesh = frames.grid, frames.mesh
    launch(open_tile.shape[0], miss_adjoint, grid, open_tile, mask.miss, adj_mask, cotangents.adj_log_miss)
    launch(lists.triangle.shape[0], record_touching, stripes, lists, open_tile, mask.touched, triangles.box, grid,
           cells, near_open)
    launch_runs(lists.triangle.shape[0] * TILE, soften_adjoint, grid, lists, open_tile, triangles.sides, mesh.sibling,
                falloff, mask, cotangents.adj_log_miss, cotangents.slots)
    launch(near_open.shape[0], gather_mask, stripes, triangles.box, cells, near_open, mask.touched, cotangents.slots,
           cotangents.corners)
    launch(cotangents.screen.shape[0], gather_point, mesh, corners, cotangents.corners, cotangents.screen)
