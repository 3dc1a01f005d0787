"""Coverage: how much of each pixel the faces leave clear, which face is nearest, and the adjoint.

A face covers a pixel at signed squared distance d (negative inside) with probability p = 1 / (1 + exp(d / sigma)); what
all faces leave clear is the product of 1 - p = 1 / (1 + exp(-d / sigma)), and the silhouette is one minus that.
Faces are told by their number within the frame, held as a float.
"""

from __future__ import annotations

from diffloom_kernels import anyl, device, maximum, minimum, where
from diffloom_raster.bin_kernels import TILE, dealt, misses, tile_corner
from diffloom_raster.lane_kernels import alll, first_of, total, width_of
from diffloom_raster.power_kernels import expv

from .fragment_kernels import distance_adjoint, edges, is_inside, nearest_edge, weights


@device
def within(z, limit_depth):
    """Whether fragments lie no deeper than the limit."""
    return z <= limit_depth


@device
def cover(e, depths, limited, grid, mesh, fragments, blur, coverage):
    """Fill clear for the run e of pixels of the active tiles; it is 0 from where it would be lost beside 1.

    With depths: also nearest, the least depth of a fragment, and front, its face. Where only so many count: also hits,
    the number of fragments. With limited: only pixels that have a limit, and fragments within it.
    """
    outline, box, lists, limit = fragments.triangles.outline, fragments.triangles.box, fragments.lists, fragments.limit
    most = blur.most
    R = outline.dtype.type
    s = first_of(e)
    tile = lists.active[s // (TILE * TILE)]
    frame, top, left = tile_corner(tile, grid)
    row, column = top + s % (TILE * TILE) // TILE, left + s % TILE
    here = e + (column - s)
    if limited and not anyl(limit.depth[frame, row, here] < R(1e30)):
        return
    x, y = grid.columns[here], grid.rows[row]
    last = column + width_of(e) - 1
    one, zero = R(1.0), R(0.0)
    none = x * zero
    product, many, least, first = none + one, none, none + R(1e30), none - one
    begin, end = lists.start[tile], lists.start[tile + 1]
    may_stop = not depths and (most == 0 or end - begin <= most)
    for k in range(begin, end):
        t = lists.triangle[k]
        if misses(t, row, column, last, box):
            continue
        a, b, c = edges(outline, t, x, y)
        d, second, third = nearest_edge(a, b, c)
        inside = is_inside(a, b, c, outline)
        near = inside | (d < blur.reach_squared)
        if anyl(near):
            if depths:
                q, scale, z = weights(outline, t, a, b, c)
                face = R(t - mesh.frame_start[frame])
                if limited:
                    near = near & within(z, limit.depth[frame, row, here])
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
    """Cotangents of x, y of the corners of one entry's triangle, from a stripe e of columns of its tile.

    d alpha / d d = -p clear / sigma.
    """
    outline, box, lists, limit = fragments.triangles.outline, fragments.triangles.box, fragments.lists, fragments.limit
    R = outline.dtype.type
    s = first_of(e)
    n = dealt(s // TILE, lists.triangle.shape[0])
    if n >= lists.triangle.shape[0]:
        return
    t = lists.triangle[n]
    frame, top, left = tile_corner(lists.tile[n], grid)
    here = e + (left + s % TILE - s)
    x = grid.columns[here]
    zero, one, two = R(0.0), R(1.0), R(2.0)
    none = x * zero
    ax, ay, bx, by, cx, cy = none, none, none, none, none, none
    for row in range(maximum(top, box[t, 1]), minimum(top + TILE, box[t, 3] + 1)):
        weight = adj_alpha[frame, row, here] * clear[frame, row, here]
        if anyl(weight != zero):
            a, b, c = edges(outline, t, x, grid.rows[row])
            d, second, third = nearest_edge(a, b, c)
            inside = is_inside(a, b, c, outline)
            near = inside | (d < blur.reach_squared)
            if limited:
                q, scale, z = weights(outline, t, a, b, c)
                near = near & within(z, limit.depth[frame, row, here])
            if anyl(near):
                p = one / (one + expv(where(inside, -d, d) * blur.sharpness))
                force = where(near, two * p * weight * blur.sharpness, zero)
                g = distance_adjoint(a, b, c, second, third, where(inside, -force, force))
                ax, ay, bx, by, cx, cy = ax + g[0], ay + g[1], bx + g[2], by + g[3], cx + g[4], cy + g[5]
    i = (n * TILE + s % TILE) // width_of(e)
    slots[i, 0, 0], slots[i, 0, 1], slots[i, 0, 2] = total(ax), total(ay), zero
    slots[i, 0, 3], slots[i, 0, 4], slots[i, 0, 5] = total(bx), total(by), zero
    slots[i, 0, 6], slots[i, 0, 7], slots[i, 0, 8] = total(cx), total(cy), zero
