"""List of the covered pixels, triangle by triangle, and features at them.

A triangle finds its pixels side by side, forward and backward, and nothing is searched or shared. Each triangle's part
is filled up to whole runs, the last pixel being repeated: a run of lanes never mixes triangles. The part of a large
triangle is cut into *chunks*, the work items of interpolation. counts, pixels, planes: see records.py; in the planes
the channels of a pixel lie side by side.

Features at a pixel are weighted sums of those at the three corners of its triangle,

    value = sum_c q_c feature_c,    depth = sum_c q_c z_c

with perspective-correct weights q, or affine ones where Kaolin is followed, whose z is minus the depth. Features come
by point and from rows of their own, which frames share or have each (records.Features). Values are stored channel by
channel, pixels in the order of the list, those by point first, and so are the weights for the adjoint.
"""

from __future__ import annotations

from diffloom_kernels import constant, device, generic, maximum, minimum, static
from diffloom_raster.kernels import (
    corner_rows,
    first_index,
    load_corner,
    load_depth,
    perspective_weights,
    perspective_weights_adjoint,
    run_width,
    total,
)

from .kaolin_kernels import affine_weights, affine_weights_adjoint

#: Number of pixels that parts are filled up to multiples of.
RUN = 8
#: Number of columns of a box from which finding a row's ends is faster than testing each pixel of the row.
WIDE = 16


@device
def write_frames(t, frame_start, frame):
    """Write t to frame[n] for the triangles n of frame t."""
    for n in range(frame_start[t], frame_start[t + 1]):
        frame[n] = t


@device
def row_ends(n, i, inner, edges, grid):
    """Return the first and last column that row i of triangle n may cover; edges is empty by Kaolin's rules."""
    columns, rows = grid.columns, grid.rows
    first, last = inner[n, 0], inner[n, 2]
    if edges.shape[0] == 0 or last - first < WIDE:
        return first, last
    left, right = columns[first], columns[last]
    low, high = left, right
    for k in range(3):
        dx, dy = edges[n, 4 * k + 2], edges[n, 4 * k + 3]
        if dy != constant(dy, 0):
            x = edges[n, 4 * k] + dx * (rows[i] - edges[n, 4 * k + 1]) / dy
            if dy > constant(dy, 0):
                high = minimum(high, x)
            else:
                low = maximum(low, x)
    # one more on each side for rounding, because the pixels' own triangles decide
    low, high = minimum(low, right), maximum(high, left)
    return maximum(first, first + int(low - left) - 1), minimum(last, first + int(high - left) + 2)


@device
def count_pixels(n, length, grid, inner, edges, coverage, counts):
    """Count the pixels that show triangle n: count[n]; filled up to runs: first[n + 1]; chunks of ``length``: chunk[n +
    1].
    """
    found, t = 0, counts.frame[n]
    if coverage.visible[n]:
        for i in range(inner[n, 1], inner[n, 3] + 1):
            begin, last = row_ends(n, i, inner, edges, grid)
            for j in range(begin, last + 1):
                found += 1 if coverage.face_index[t, i, j] == n else 0
    filled = (found + RUN - 1) // RUN * RUN
    counts.shown[n] = found
    counts.first[n + 1] = filled
    counts.chunk[n + 1] = (filled + length - 1) // length


@device
def running_sum(k, count):
    """Add count[n - 1] to count[n], from the first to the last."""
    count[0] = 0
    for n in range(1, count.shape[0]):
        count[n] += count[n - 1]


@device
def list_pixels(n, grid, inner, edges, face_index, pixels):
    """Write the pixels of triangle n: their position in its frame (filled up to tiles), their centres, their chunks'
    owner.
    """
    first, chunk, spot, xs, ys = pixels.counts.first, pixels.counts.chunk, pixels.spot, pixels.x, pixels.y
    if pixels.counts.shown[n] == 0:
        return
    k, t = first[n], pixels.counts.frame[n]
    for i in range(inner[n, 1], inner[n, 3] + 1):
        begin, last = row_ends(n, i, inner, edges, grid)
        for j in range(begin, last + 1):
            if face_index[t, i, j] == n:
                spot[k] = i * face_index.shape[2] + j
                xs[k], ys[k] = grid.columns[j], grid.rows[i]
                k += 1
    for m in range(k, first[n + 1]):
        spot[m], xs[m], ys[m] = spot[k - 1], xs[k - 1], ys[k - 1]
    for c in range(chunk[n], chunk[n + 1]):
        pixels.owner[c] = n


@device
def chunk_pixels(c, length, pixels):
    """Return triangle, begin and end of chunk c in the list."""
    first, chunk = pixels.counts.first, pixels.counts.chunk
    n = pixels.owner[c]
    begin = first[n] + (c - chunk[n]) * length
    return n, begin, minimum(begin + length, first[n + 1])


# Three channels, those of an image, are a separate case that needs no loop.


@device
def put_pixels(c, channels, stride, length, pixels, value, planes):
    """Write value[d, pixel] to planes[frame, spot stride + d] for the pixels of chunk c."""
    n, begin, end = chunk_pixels(c, length, pixels)
    counts, spot = pixels.counts, pixels.spot
    t, end = counts.frame[n], minimum(end, counts.first[n] + counts.shown[n])
    if channels == 3:
        for k in range(begin, end):
            at = spot[k] * stride
            planes[t, at], planes[t, at + 1], planes[t, at + 2] = value[0, k], value[1, k], value[2, k]
        return
    for k in range(begin, end):
        for d in range(channels):
            planes[t, spot[k] * stride + d] = value[d, k]


@device
def put_pixels_adjoint(c, channels, stride, length, pixels, adj_planes, adj_value):
    """Write adj_planes[frame, spot stride + d] to adj_value[d, pixel]: the adjoint of put_pixels; pixels that fill up
    get 0.
    """
    n, begin, end = chunk_pixels(c, length, pixels)
    counts, spot = pixels.counts, pixels.spot
    t, real = counts.frame[n], minimum(end, counts.first[n] + counts.shown[n])
    if channels == 3:
        for k in range(begin, real):
            at = spot[k] * stride
            adj_value[0, k], adj_value[1, k] = adj_planes[t, at], adj_planes[t, at + 1]
            adj_value[2, k] = adj_planes[t, at + 2]
    else:
        for k in range(begin, real):
            for d in range(channels):
                adj_value[d, k] = adj_planes[t, spot[k] * stride + d]
    for k in range(real, end):
        for d in range(channels):
            adj_value[d, k] = adj_value.dtype.type(0)


@device
def fill_background(r, face_index, miss, made):
    """Write row r of all frames where nothing is shown: the ground's channels, and far, its last; and the mask
    everywhere.
    """
    height, width = face_index.shape[1], face_index.shape[2]
    frame, i = r // height, r % height
    channels, ground, planes = made.channels, made.ground, made.colour
    stride, one = channels + made.soft, planes.dtype.type(1)
    if channels == 3:
        red, green, blue = ground[0], ground[1], ground[2]
        for j in range(width):
            if face_index[frame, i, j] < 0:
                at = (i * width + j) * stride
                planes[frame, at], planes[frame, at + 1], planes[frame, at + 2] = red, green, blue
    else:
        for j in range(width):
            if face_index[frame, i, j] < 0:
                for d in range(channels):
                    planes[frame, (i * width + j) * stride + d] = ground[d]
    if made.deep:
        far = ground[channels]
        for j in range(width):
            if face_index[frame, i, j] < 0:
                made.depth[frame, i * width + j] = far
    if made.soft:
        for j in range(width):
            planes[frame, (i * width + j) * stride + channels] = one - miss[frame, i, j]


@generic
def interpolate(e, rules, length, mesh, pixels, point, features, values):
    """Write weights, values and depth of the pixels of a chunk."""
    xs, ys, weight, value = pixels.x, pixels.y, values.weight, values.value
    by_point, own, own_width = features.by_point, features.own, features.width
    width = run_width(e)
    n, begin, end = chunk_pixels(first_index(e) // width, length, pixels)
    v, z = load_corner(point, mesh, n), load_depth(point, mesh, n)
    a, b, c = corner_rows(n, mesh.points, mesh.faces)
    r, s, t = corner_rows(n, features.stride, features.own_index)
    r, s, t = r * own_width, s * own_width, t * own_width
    channels = by_point.shape[1]
    here = e + (begin - first_index(e))
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
    """Return cotangents (3) of a channel's features at the corners: sums over the runs of a chunk that begin at
    ``here``.
    """
    s0, s1, s2 = weight[0, here] * zero, weight[0, here] * zero, weight[0, here] * zero
    for k in range(runs):
        h = adj_value[d, here]
        s0, s1, s2 = s0 + weight[0, here] * h, s1 + weight[1, here] * h, s2 + weight[2, here] * h
        here = here + run_width(here)
    return total(s0), total(s1), total(s2)


@generic
def interpolate_adjoint(e, rules, length, mesh, pixels, point, features, weight, adjoint, slots):
    """Write cotangents of the corners of a chunk's triangle: x, y, z in the slots, and of the features there."""
    xs, ys, by_point, own, own_width = pixels.x, pixels.y, features.by_point, features.own, features.width
    adj_value, adj_depth, slot_place = adjoint.value, adjoint.depth, slots.place
    width = run_width(e)
    item = first_index(e) // width
    n, begin, end = chunk_pixels(item, length, pixels)
    v, z = load_corner(point, mesh, n), load_depth(point, mesh, n)
    a, b, c = corner_rows(n, mesh.points, mesh.faces)
    r, s, t = corner_rows(n, features.stride, features.own_index)
    r, s, t = r * own_width, s * own_width, t * own_width
    channels = by_point.shape[1]
    zero = constant(rules.guard.eps, 0)
    here = e + (begin - first_index(e))
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
