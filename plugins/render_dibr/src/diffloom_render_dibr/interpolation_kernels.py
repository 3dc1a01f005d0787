"""Features at covered pixels: a weighted sum of what the three corners of the triangle carry.

    value = sum_c q_c feature_c,    depth = sum_c q_c z_c

with perspective-correct weights q, or affine ones where Kaolin is followed, whose z is minus the depth. Features come
by point and from rows of their own, which frames share or have each (records.Features). Values are stored channel by
channel, pixels in the order of the list (listing_kernels.py), those by point first; so are the weights, for the
adjoint. A work item e stands for a chunk of the list, and goes through it run by run.
"""

from __future__ import annotations

from diffloom_kernels import constant, device, generic, static
from diffloom_raster.interpolate_kernels import perspective_weights, perspective_weights_adjoint
from diffloom_raster.lane_kernels import first_of, total, width_of
from diffloom_raster.triangle_kernels import corner_rows, load_corner, load_depth

from .kaolin_weight_kernels import affine_weights, affine_weights_adjoint
from .listing_kernels import chunk_pixels


@generic
def interpolate(e, rules, length, mesh, pixels, point, features, values):
    """Weights, values and depth of the pixels of a chunk."""
    xs, ys, weight, value = pixels.x, pixels.y, values.weight, values.value
    by_point, own, own_width = features.by_point, features.own, features.width
    width = width_of(e)
    n, begin, end = chunk_pixels(first_of(e) // width, length, pixels)
    v, z = load_corner(point, mesh, n), load_depth(point, mesh, n)
    a, b, c = corner_rows(n, mesh.points, mesh.faces)
    r, s, t = corner_rows(n, features.stride, features.own_index)
    r, s, t = r * own_width, s * own_width, t * own_width
    channels = by_point.shape[1]
    here = e + (begin - first_of(e))
    for k in range(begin, end, width):
        if static(rules.kaolin):
            q = affine_weights(xs[here], ys[here], v, rules.guard)
        else:
            q = perspective_weights(xs[here], ys[here], v, z)
        weight[0, here], weight[1, here], weight[2, here] = q[0], q[1], q[2]
        deep = q[0] * z[0] + q[1] * z[1] + q[2] * z[2]
        values.depth[0, here] = -deep if static(rules.kaolin) else deep
        for d in range(channels):
            value[d, here] = q[0] * by_point[a, d] + q[1] * by_point[b, d] + q[2] * by_point[c, d]
        for d in range(own_width):
            value[channels + d, here] = q[0] * own[r + d] + q[1] * own[s + d] + q[2] * own[t + d]
        here = here + width


@device
def feature_sums(here, runs, d, weight, adj_value, zero):
    """Cotangents (3) of a channel's features at the corners: sums over the runs of a chunk that begin at ``here``."""
    s0, s1, s2 = weight[0, here] * zero, weight[0, here] * zero, weight[0, here] * zero
    for k in range(runs):
        h = adj_value[d, here]
        s0, s1, s2 = s0 + weight[0, here] * h, s1 + weight[1, here] * h, s2 + weight[2, here] * h
        here = here + width_of(here)
    return total(s0), total(s1), total(s2)


@generic
def interpolate_adjoint(e, rules, length, mesh, pixels, point, features, weight, adjoint, slots):
    """Cotangents of the corners of a chunk's triangle: x, y, z in the slots, and of the features there."""
    xs, ys, by_point, own, own_width = pixels.x, pixels.y, features.by_point, features.own, features.width
    adj_value, adj_depth, slot_place = adjoint.value, adjoint.depth, slots.place
    width = width_of(e)
    item = first_of(e) // width
    n, begin, end = chunk_pixels(item, length, pixels)
    v, z = load_corner(point, mesh, n), load_depth(point, mesh, n)
    a, b, c = corner_rows(n, mesh.points, mesh.faces)
    r, s, t = corner_rows(n, features.stride, features.own_index)
    r, s, t = r * own_width, s * own_width, t * own_width
    channels = by_point.shape[1]
    zero = constant(rules.guard.eps, 0)
    here = e + (begin - first_of(e))
    for d in range(channels):
        f = feature_sums(here, (end - begin) // width, d, weight, adj_value, zero)
        slots.point[item, 0, d], slots.point[item, 1, d], slots.point[item, 2, d] = f[0], f[1], f[2]
    for d in range(own_width):
        f = feature_sums(here, (end - begin) // width, channels + d, weight, adj_value, zero)
        slot = 3 * item * own_width + d
        slots.own[slot], slots.own[slot + own_width], slots.own[slot + 2 * own_width] = f[0], f[1], f[2]
    o = xs[here] * zero
    g0, g1, g2, g3, g4, g5, z0, z1, z2 = o, o, o, o, o, o, o, o, o
    for k in range(begin, end, width):
        q0, q1, q2 = o, o, o
        if adj_depth.shape[1] > 0:
            h = -adj_depth[0, here] if static(rules.kaolin) else adj_depth[0, here]
            q0, q1, q2 = h * z[0], h * z[1], h * z[2]
            z0, z1, z2 = z0 + h * weight[0, here], z1 + h * weight[1, here], z2 + h * weight[2, here]
        for d in range(channels):
            h = adj_value[d, here]
            q0, q1, q2 = q0 + h * by_point[a, d], q1 + h * by_point[b, d], q2 + h * by_point[c, d]
        for d in range(own_width):
            h = adj_value[channels + d, here]
            q0, q1, q2 = q0 + h * own[r + d], q1 + h * own[s + d], q2 + h * own[t + d]
        if static(rules.kaolin):
            w = (weight[0, here], weight[1, here], weight[2, here])
            g = affine_weights_adjoint(v, w, rules.guard.eps, (q0, q1, q2))
        else:
            g, h3 = perspective_weights_adjoint(xs[here], ys[here], v, z, (q0, q1, q2))
            z0, z1, z2 = z0 + h3[0], z1 + h3[1], z2 + h3[2]
        g0, g1, g2, g3, g4, g5 = g0 + g[0], g1 + g[1], g2 + g[2], g3 + g[3], g4 + g[4], g5 + g[5]
        here = here + width
    slot_place[item, 0, 0], slot_place[item, 0, 1], slot_place[item, 0, 2] = total(g0), total(g1), total(z0)
    slot_place[item, 1, 0], slot_place[item, 1, 1], slot_place[item, 1, 2] = total(g2), total(g3), total(z1)
    slot_place[item, 2, 0], slot_place[item, 2, 1], slot_place[item, 2, 2] = total(g4), total(g5), total(z2)
