"""Coverage: how much of each pixel the faces leave clear, which face is nearest, and the adjoint.

A face covers a pixel at signed squared distance d (negative inside) with probability p = 1 / (1 + exp(d / sigma)); what
all faces leave clear is the product of 1 - p = 1 / (1 + exp(-d / sigma)), and the silhouette is one minus that.
Faces are told by their number within the frame, held as a float.
"""

from __future__ import annotations

from diffloom.kernels import anyl, device, where
from diffloom.shading.kernels.powers import expv
from diffloom.shading.kernels.runs import alll, first_of, total, width_of
from diffloom.shading.kernels.tiles import TILE, dealt

from .fragments import distance_adjoint, edges, is_inside, nearest_edge, weights
from .pixels import misses, tile_corner


@device
def within(z, face, limit_depth, limit_face):
    """Whether fragments come no later than the limit in the order of depth, then face."""
    return (z < limit_depth) | ((z == limit_depth) & (face <= limit_face))


@device
def cover(e, wants, full, mesh, shape, lists, view, soft, limit, found):
    """Fill clear for the run e of pixels of the active tiles; it is 0 from where it would be lost beside 1.

    wants: (depths, most, limited). With depths: also nearest, the least depth of a fragment, and front, its face. With
    most > 0: also hits, the number of fragments. With limited: only pixels that have a limit, and fragments within it.
    """
    record, box, swapped = shape
    clear, nearest, front, hits = found
    R = record.dtype.type
    s = first_of(e)
    tile = lists[0][s // (TILE * TILE)]
    frame, top, left = tile_corner(tile, view)
    row, column = top + s % (TILE * TILE) // TILE, left + s % TILE
    here = e + (column - s)
    if wants[2] and not anyl(limit[0][frame, row, here] < R(1e30)):
        return
    x, y = view[2][here], view[3][row]
    last = column + width_of(e) - 1
    one, zero = R(1.0), R(0.0)
    none = x * zero
    product, many, least, first = none + one, none, none + R(1e30), none - one
    begin, end = lists[1][tile], lists[1][tile + 1]
    may_stop = not wants[0] and (wants[1] == 0 or end - begin <= wants[1])
    for k in range(begin, end):
        t = lists[2][k]
        if misses(t, row, column, last, box):
            continue
        a, b, c = edges(record, t, x, y)
        d, second, third = nearest_edge(a, b, c)
        inside = is_inside(a, b, c, record)
        near = inside | (d < soft[1])
        if anyl(near):
            if wants[0]:
                q, scale, z = weights(record, t, a, b, c)
                face = R(t - mesh[3][frame])
                if wants[2]:
                    near = near & within(z, face, limit[0][frame, row, here], limit[1][frame, row, here])
                closer = near & (z < least)
                least, first = where(closer, z, least), where(closer, face, first)
            many = many + where(near, one, zero)
            product = where(near, product * (one + expv(where(inside, d, -d) * soft[0])), product)
            if may_stop and alll(product > full):
                break
    clear[frame, row, here] = where(product > full, zero, one / product)
    if wants[0]:
        nearest[frame, row, here], front[frame, row, here] = least, first
    if wants[1] > 0 and not wants[2]:
        hits[frame, row, here] = many


@device
def cover_adjoint(e, limited, mesh, shape, lists, view, soft, limit, clear, adj_alpha, slots):
    """Cotangents of x, y of the corners of one entry's triangle, from a stripe e of columns of its tile.

    d alpha / d d = -p clear / sigma.
    """
    record, box, swapped = shape
    R = record.dtype.type
    s = first_of(e)
    n = dealt(s // TILE, lists[2].shape[0])
    if n >= lists[2].shape[0]:
        return
    t = lists[2][n]
    frame, top, left = tile_corner(lists[3][n], view)
    here = e + (left + s % TILE - s)
    x = view[2][here]
    zero, one, two = R(0.0), R(1.0), R(2.0)
    none = x * zero
    ax, ay, bx, by, cx, cy = none, none, none, none, none, none
    for row in range(max(top, box[t, 1]), min(top + TILE, box[t, 3] + 1)):
        weight = adj_alpha[frame, row, here] * clear[frame, row, here]
        if anyl(weight != zero):
            a, b, c = edges(record, t, x, view[3][row])
            d, second, third = nearest_edge(a, b, c)
            inside = is_inside(a, b, c, record)
            near = inside | (d < soft[1])
            if limited:
                q, scale, z = weights(record, t, a, b, c)
                face = R(t - mesh[3][frame])
                near = near & within(z, face, limit[0][frame, row, here], limit[1][frame, row, here])
            if anyl(near):
                p = one / (one + expv(where(inside, -d, d) * soft[0]))
                force = where(near, two * p * weight * soft[0], zero)
                g = distance_adjoint(a, b, c, second, third, where(inside, -force, force))
                ax, ay, bx, by, cx, cy = ax + g[0], ay + g[1], bx + g[2], by + g[3], cx + g[4], cy + g[5]
    i = (n * TILE + s % TILE) // width_of(e)
    slots[i, 0, 0], slots[i, 0, 1], slots[i, 0, 2] = total(ax), total(ay), zero
    slots[i, 0, 3], slots[i, 0, 4], slots[i, 0, 5] = total(bx), total(by), zero
    slots[i, 0, 6], slots[i, 0, 7], slots[i, 0, 8] = total(cx), total(cy), zero
