"""Coverage: the part of each pixel that faces leave clear, the nearest face, and the adjoint (Liu et al. 2019,
SoftRas).

A face covers a pixel at signed squared distance d (negative inside) with probability p = 1 / (1 + exp(d / sigma)); the
clear part is the product of 1 - p = 1 / (1 + exp(-d / sigma)), and the silhouette is one minus that. Faces are named by
their number within the frame, stored as a float.

The depth of the last of the K nearest faces is found by bisection, for a run of pixels at once. Nothing is sorted. All
fragments as deep as the K-th count with it, so that where faces meet in an edge or coincide, neither rounding nor their
order decides which of them is seen.
"""

from __future__ import annotations

from diffloom_kernels import any_lane, device, maximum, minimum, where
from diffloom_raster.kernels import (
    TILE,
    alll,
    expv,
    first_index,
    interleave,
    is_outside_box,
    is_single,
    locate_pixels,
    locate_stripe,
    run_width,
    total,
)

from .fragment_kernels import distance_adjoint, edges, edges_in_reach, is_inside, weights

#: Depth that stands for no fragment.
NOTHING = 1e30
#: Factor up to which depths count as equal to the K-th, in float32 and float64: more than rounding errors.
EQUAL_32, EQUAL_64 = 1.00001, 1.00000001


@device
def is_within(z, limit_depth):
    """Return True where fragments lie no deeper than the limit."""
    return z <= limit_depth


@device
def cover(e, depths, limited, grid, mesh, fragments, blur, coverage):
    """Write clear for the run e of pixels of the active tiles; it is 0 from where it would be lost beside 1.

    With depths: also nearest, the least depth of a fragment, and front, its face. Where the number of faces is limited:
    also hits, the number of fragments. With limited: only pixels that have a limit, and fragments within it.
    """
    outline, box, lists, limit = fragments.triangles.outline, fragments.triangles.box, fragments.lists, fragments.limit
    most = blur.most
    R = outline.dtype.type
    tile, frame, row, here = locate_pixels(e, lists, grid)
    if limited and not any_lane(limit.depth[frame, row, here] < R(NOTHING)):
        return
    x, y = grid.columns[here], grid.rows[row]
    column, last = first_index(here), first_index(here) + run_width(e) - 1
    one, zero = R(1.0), R(0.0)
    none = x * zero
    product, many, least, first = none + one, none, none + R(NOTHING), none - one
    begin, end = lists.start[tile], lists.start[tile + 1]
    may_stop = not depths and (most == 0 or end - begin <= most)
    for k in range(begin, end):
        t = lists.triangle[k]
        if is_outside_box(t, row, column, last, box):
            continue
        a, b, c, d, second, third, inside, near = edges_in_reach(outline, t, x, y, blur)
        if any_lane(near):
            if depths:
                q, scale, z = weights(outline, t, a, b, c)
                face = R(t - mesh.frame_start[frame])
                if limited:
                    near = near & is_within(z, limit.depth[frame, row, here])
                closer = near & (z < least)
                least, first = where(closer, z, least), where(closer, face, first)
            many = many + where(near, one, zero)
            product = where(near, product * (one + expv(where(inside, d, -d) * blur.sharpness)), product)
            if may_stop and alll(product > blur.full):
                break
    coverage.clear[frame, row, here] = where(product > blur.full, zero, one / product)
    if depths:
        coverage.nearest[frame, row, here], coverage.front[frame, row, here] = least, first
    if most > 0 and not limited:
        coverage.hits[frame, row, here] = many


@device
def cover_adjoint(e, limited, grid, mesh, fragments, blur, clear, adj_alpha, slots):
    """Write cotangents of x, y of the corners of one entry's triangle, from a stripe e of columns of its tile.

    d alpha / d d = -p clear / sigma.
    """
    outline, box, lists, limit = fragments.triangles.outline, fragments.triangles.box, fragments.lists, fragments.limit
    R = outline.dtype.type
    s = first_index(e)
    n = interleave(s // TILE, lists.triangle.shape[0])
    if n >= lists.triangle.shape[0]:
        return
    t = lists.triangle[n]
    frame, top, here = locate_stripe(e, lists.tile[n], grid)
    x = grid.columns[here]
    zero, one, two = R(0.0), R(1.0), R(2.0)
    none = x * zero
    ax, ay, bx, by, cx, cy = none, none, none, none, none, none
    for row in range(maximum(top, box[t, 1]), minimum(top + TILE, box[t, 3] + 1)):
        weight = adj_alpha[frame, row, here] * clear[frame, row, here]
        if any_lane(weight != zero):
            a, b, c, d, second, third, inside, near = edges_in_reach(outline, t, x, grid.rows[row], blur)
            if limited:
                q, scale, z = weights(outline, t, a, b, c)
                near = near & is_within(z, limit.depth[frame, row, here])
            if any_lane(near):
                p = one / (one + expv(where(inside, -d, d) * blur.sharpness))
                force = where(near, two * p * weight * blur.sharpness, zero)
                g = distance_adjoint(a, b, c, second, third, where(inside, -force, force))
                ax, ay, bx, by, cx, cy = ax + g[0], ay + g[1], bx + g[2], by + g[3], cx + g[4], cy + g[5]
    i = (n * TILE + s % TILE) // run_width(e)
    slots[i, 0, 0], slots[i, 0, 1], slots[i, 0, 2] = total(ax), total(ay), zero
    slots[i, 0, 3], slots[i, 0, 4], slots[i, 0, 5] = total(bx), total(by), zero
    slots[i, 0, 6], slots[i, 0, 7], slots[i, 0, 8] = total(cx), total(cy), zero


@device
def record_depths(row, column, own, here, begin, end, grid, outline, box, lists, blur, depths):
    """Write depths of the fragments of a run of pixels to depths[entry, own], NOTHING for none; return the largest."""
    R = outline.dtype.type
    x, y = grid.columns[here], grid.rows[row]
    deepest = x * R(0.0)
    for k in range(begin, end):
        t = lists.triangle[k]
        z = x * R(0.0) + R(NOTHING)
        if not is_outside_box(t, row, column, column + run_width(own) - 1, box):
            a, b, c, d, second, third, inside, near = edges_in_reach(outline, t, x, y, blur)
            q, scale, depth = weights(outline, t, a, b, c)
            z = where(near, depth, z)
            deepest = where(near, maximum(deepest, depth), deepest)
        depths[k, own] = z
    return deepest


@device
def bisect(own, begin, end, most, high, depths):
    """Return the least depth that at least ``most`` fragments do not exceed."""
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
    """Return the largest depth that counts as equal."""
    R = like.dtype.type
    if is_single(depth):
        return depth * R(EQUAL_32)
    return depth * R(EQUAL_64)


@device
def limit_depths(e, grid, fragments, blur, hits, depths):
    """Write limits for a stripe e of columns of an active tile, where a pixel has more fragments than count."""
    outline, box, lists, limit = fragments.triangles.outline, fragments.triangles.box, fragments.lists, fragments.limit
    most = blur.most
    R = depths.dtype.type
    s = first_index(e)
    tile = lists.active[s // TILE]
    frame, top, here = locate_stripe(e, tile, grid)
    own = e + (s % TILE - s)
    begin, end = lists.start[tile], lists.start[tile + 1]
    for row in range(top, top + TILE):
        crowded = hits[frame, row, here] > R(most)
        if any_lane(crowded):
            deepest = record_depths(
                row, first_index(here), own, here, begin, end, grid, outline, box, lists, blur, depths
            )
            depth = equal_to(bisect(own, begin, end, most, deepest, depths), depths)
            limit.depth[frame, row, here] = where(crowded, depth, R(NOTHING))


@device
def find_hard_index(e, grid, mesh, triangles, lists, index):
    """Write the nearest triangle of the frame that holds the pixel's centre to index[frame, row, column], -1 for
    none.
    """
    outline, box = triangles.outline, triangles.box
    R = outline.dtype.type
    tile, frame, row, here = locate_pixels(e, lists, grid)
    x, y = grid.columns[here], grid.rows[row]
    column, last = first_index(here), first_index(here) + run_width(e) - 1
    least, face = x * R(0.0) + R(NOTHING), x * R(0.0) - R(1.0)
    for k in range(lists.start[tile], lists.start[tile + 1]):
        t = lists.triangle[k]
        if is_outside_box(t, row, column, last, box):
            continue
        a, b, c = edges(outline, t, x, y)
        inside = is_inside(a, b, c, outline)
        if any_lane(inside):
            q, scale, z = weights(outline, t, a, b, c)
            closer = inside & (z < least)
            least, face = where(closer, z, least), where(closer, R(t - mesh.frame_start[frame]), face)
    index[frame, row, here] = face
