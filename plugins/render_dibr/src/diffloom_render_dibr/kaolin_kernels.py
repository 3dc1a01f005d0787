"""Weights, coverage, distances and the soft mask as Kaolin defines them.

Corners (x_i, y_i) lie on the plane [-1, 1]^2, x right and y up; pixel (i, j) has its centre at ((2j+1-W)/W,
(H-1-2i)/H). Heights z are negative in front of the camera and larger is nearer.

Weights are affine on the image, with a guard ``eps`` added to the area. Forward corners are scaled by ``multiplier``,
and backward not, which decides how much the guard weighs (records.Guard).

A triangle is a candidate at a pixel where the centre lies in its tight box, closed at the low and open at the high end;
depth is affine on the image; the first of equals wins.

The squared distance of a pixel, in scaled coordinates, is the smallest of six, the first among equals: from three lines
through the sides, which count only where the foot of the perpendicular lies between the ends (else they are set far
away), and from three corners. Which one it was is the *kind*: 1-3 for the sides, 4-6 for the corners.

Soft mask: a covered pixel has mask 1 and passes no gradient. Elsewhere the first ``most`` triangles, by index, whose
box grown by ``reach`` holds the pixel count with p = exp(-sharpness d^2 / multiplier^2), d in scaled coordinates, and
mask = 1 - miss, miss = prod (1 - p). All triangles count, shown or not.
"""

from __future__ import annotations

from diffloom_kernels import constant, device, exp, maximum, minimum, where
from diffloom_raster.kernels import TILE, load_corner, load_depth, locate_tile, set_box


@device
def _guard_area(area, eps):
    """Return area + eps, or area - eps for a negative area."""
    return area + where(area < constant(area, 0), -eps, eps)


@device
def affine_weights(px, py, corner, guard):
    """Return w (3) = E_i / (E_0 + E_1 + E_2 +- eps) in scaled coordinates."""
    multiplier = guard.multiplier
    x, y = px * multiplier, py * multiplier
    ax, ay = corner[0] * multiplier - x, corner[1] * multiplier - y
    bx, by = corner[2] * multiplier - x, corner[3] * multiplier - y
    cx, cy = corner[4] * multiplier - x, corner[5] * multiplier - y
    e0 = bx * cy - by * cx
    e1 = cx * ay - cy * ax
    e2 = ax * by - ay * bx
    n = _guard_area(e0 + e1 + e2, guard.eps)
    return (e0 / n, e1 / n, e2 / n)


@device
def affine_weights_adjoint(corner, w, eps, adj_w):
    """Return adj_corner (6) from adj_w (3), the pixel being sum w_i v_i.

    grad w_b = (e2_y, -e2_x) / det, grad w_c = (-e1_y, e1_x) / det, grad w_a = -(grad w_b + grad w_c) with e1 = b - a,
    e2 = c - a; the pixel does not move, hence d w_k / d v_i = -w_i grad w_k. The weights w_i of that product are
    computed again from the point, including the guard.
    """
    one = constant(adj_w[0], 1)
    e1x, e1y = corner[2] - corner[0], corner[3] - corner[1]
    e2x, e2y = corner[4] - corner[0], corner[5] - corner[1]
    s = w[0] * corner[0] + w[1] * corner[2] + w[2] * corner[4] - corner[0]
    t = w[0] * corner[1] + w[1] * corner[3] + w[2] * corner[5] - corner[1]
    det = _guard_area(e1x * e2y - e1y * e2x, eps)
    wb = (s * e2y - t * e2x) / det
    wc = (e1x * t - e1y * s) / det
    wa = one - wb - wc
    db, dc = adj_w[1] - adj_w[0], adj_w[2] - adj_w[0]
    gx = (db * e2y - dc * e1y) / det
    gy = (dc * e1x - db * e2x) / det
    return (-wa * gx, -wa * gy, -wb * gx, -wb * gy, -wc * gx, -wc * gy)


@device
def to_plane(i, grid, point):
    """Transform point i from pixels and depth to Kaolin's plane."""
    R = point.dtype.type
    point[i, 0] *= R(2.0) / R(grid.width)
    point[i, 1] *= R(-2.0) / R(grid.height)
    point[i, 2] = -point[i, 2]


@device
def to_plane_adjoint(i, grid, adj_point):
    """Transform the cotangent of point i in place: the adjoint of to_plane."""
    R = adj_point.dtype.type
    adj_point[i, 0] *= R(2.0) / R(grid.width)
    adj_point[i, 1] *= R(-2.0) / R(grid.height)
    adj_point[i, 2] = -adj_point[i, 2]


@device
def plane_box(v, grown):
    """Return the lowest and highest x and y of triangle v, grown on each side."""
    return (
        minimum(minimum(v[0], v[2]), v[4]) - grown, maximum(maximum(v[0], v[2]), v[4]) + grown,
        minimum(minimum(v[1], v[3]), v[5]) - grown, maximum(maximum(v[1], v[3]), v[5]) + grown,
    )


@device
def box_holds(b, x, y):
    """Return True if (x, y) lies in a plane box, closed at the low and open at the high end."""
    return x >= b[0] and x < b[1] and y >= b[2] and y < b[3]


@device
def find_pixel_range(low, high, size):
    """Return the first and last pixel along an axis from -1 to 1, with one more at each end because pixels are tested
    exactly.
    """
    half, one = constant(low, 0.5) * constant(low, size), constant(low, 1)
    if not (high >= -one and low <= one):
        return 0, -1
    first = int((maximum(low, -one) + one) * half) - 1
    last = int((minimum(high, one) + one) * half) + 1
    return maximum(first, 0), minimum(last, size - 1)


@device
def kaolin_set_up(n, grid, near, point, mesh, reach, triangles):
    """Write pixel boxes that hold triangle n, ``inner`` without and ``box`` with reach, and planes that keep every
    tile.

    A triangle with a corner nearer than ``near`` is left out: nothing is cut here.
    """
    box, inner, planes = triangles.box, triangles.inner, triangles.planes
    v, z = load_corner(point, mesh, n), load_depth(point, mesh, n)
    b = plane_box(v, reach)
    j0, j1 = find_pixel_range(b[0], b[1], grid.width)
    i0, i1 = find_pixel_range(-b[3], -b[2], grid.height)
    if maximum(maximum(z[0], z[1]), z[2]) > -near:
        j1 = -1
    set_box(n, box, j0, i0, j1, i1)
    b = plane_box(v, constant(reach, 0))
    left, right = find_pixel_range(b[0], b[1], grid.width)
    top, bottom = find_pixel_range(-b[3], -b[2], grid.height)
    set_box(n, inner, left, top, -1 if j1 < j0 else right, bottom)
    for k in range(3):
        planes[n, 3 * k], planes[n, 3 * k + 1], planes[n, 3 * k + 2] = 0, 0, 1


@device
def kaolin_cover(tile, grid, mesh, lists, inner, point, valid, guard, nearest, coverage):
    """Write face_index of the pixels of a tile: the triangle with the largest affine z, -1 for none."""
    face_index, multiplier = coverage.face_index, guard.multiplier
    frame, top, left = locate_tile(tile, grid)
    bottom, right = minimum(top + TILE, grid.height), minimum(left + TILE, grid.width)
    zero = constant(guard.eps, 0)
    for i in range(top, bottom):
        for j in range(left, right):
            face_index[frame, i, j] = -1
    for k in range(lists.start[tile], lists.start[tile + 1]):
        n = lists.triangle[k]
        if valid.shape[0] > 0 and not valid[n]:
            continue
        v, z = load_corner(point, mesh, n), load_depth(point, mesh, n)
        b = scaled_box(plane_box(v, zero), multiplier)
        for i in range(maximum(top, inner[n, 1]), minimum(bottom, inner[n, 3] + 1)):
            for j in range(maximum(left, inner[n, 0]), minimum(right, inner[n, 2] + 1)):
                x, y = grid.columns[j], grid.rows[i]
                if box_holds(b, x * multiplier, y * multiplier):
                    w = affine_weights(x, y, v, guard)
                    if w[0] >= zero and w[1] >= zero and w[2] >= zero:
                        d = w[0] * z[0] + w[1] * z[1] + w[2] * z[2]
                        if face_index[frame, i, j] < 0 or d > nearest[frame, i, j]:
                            nearest[frame, i, j] = d
                            face_index[frame, i, j] = n
    record_shown(tile, frame, top, bottom, left, right, lists, coverage)


@device
def scaled_box(b, multiplier):
    """Return a plane box in scaled coordinates."""
    return (b[0] * multiplier, b[1] * multiplier, b[2] * multiplier, b[3] * multiplier)


@device
def record_shown(tile, frame, top, bottom, left, right, lists, coverage):
    """Write the flags of a tile with triangles that has uncovered pixels, and of the triangles that are shown."""
    open_pixels = False
    for i in range(top, bottom):
        for j in range(left, right):
            n = coverage.face_index[frame, i, j]
            open_pixels = open_pixels or n < 0
            if n >= 0:
                coverage.visible[n] = True
    coverage.open[tile] = open_pixels and lists.start[tile + 1] > lists.start[tile]


@device
def line_distance(px, py, ax, ay, bx, by, far):
    """Return (A x + B y + C)^2 / (A^2 + B^2 + 1e-7) where the foot lies between a and b, else ``far``."""
    A, B = by - ay, ax - bx
    C = bx * ay - ax * by
    u = A * px + B * py + C
    D = A * A + B * B + constant(px, 1e-7)
    fx, fy = px - A * u / D, py - B * u / D
    between = (fx - ax) * (fx - bx) + (fy - ay) * (fy - by) <= constant(px, 0)
    return where(between, u * u / D, far)


@device
def corner_distance(px, py, ax, ay):
    """Return |a - p|^2."""
    return (ax - px) * (ax - px) + (ay - py) * (ay - py)


@device
def kaolin_distance(px, py, corner, far):
    """Return the smallest of the six squared distances, and its kind."""
    best = line_distance(px, py, corner[0], corner[1], corner[2], corner[3], far)
    kind = 1
    d = line_distance(px, py, corner[2], corner[3], corner[4], corner[5], far)
    kind, best = where(d < best, 2, kind), where(d < best, d, best)
    d = line_distance(px, py, corner[4], corner[5], corner[0], corner[1], far)
    kind, best = where(d < best, 3, kind), where(d < best, d, best)
    d = corner_distance(px, py, corner[0], corner[1])
    kind, best = where(d < best, 4, kind), where(d < best, d, best)
    d = corner_distance(px, py, corner[2], corner[3])
    kind, best = where(d < best, 5, kind), where(d < best, d, best)
    d = corner_distance(px, py, corner[4], corner[5])
    kind, best = where(d < best, 6, kind), where(d < best, d, best)
    return best, kind


@device
def line_distance_adjoint(px, py, ax, ay, bx, by, d2):
    """Return the derivative of line_distance by a and b (4), where the foot lies between them.

    With u = A x + B y + C and D = A^2 + B^2 + 1e-7: by A 2 (x u - d^2 A) / D, by B 2 (y u - d^2 B) / D, by C 2 u / D.
    """
    two = constant(px, 2)
    A, B = by - ay, ax - bx
    C = bx * ay - ax * by
    u = A * px + B * py + C
    D = A * A + B * B + constant(px, 1e-7)
    gA = two * (px * u - d2 * A) / D
    gB = two * (py * u - d2 * B) / D
    gC = two * u / D
    return (gB - by * gC, bx * gC - gA, ay * gC - gB, gA - ax * gC)


@device
def kaolin_distance_adjoint(px, py, corner, far):
    """Return the squared distance, its kind, and its derivative by the corners (6)."""
    zero, two = constant(px, 0), constant(px, 2)
    d2, kind = kaolin_distance(px, py, corner, far)
    g0, g1, g2, g3, g4, g5 = zero, zero, zero, zero, zero, zero
    if kind == 1:
        g0, g1, g2, g3 = line_distance_adjoint(px, py, corner[0], corner[1], corner[2], corner[3], d2)
    elif kind == 2:
        g2, g3, g4, g5 = line_distance_adjoint(px, py, corner[2], corner[3], corner[4], corner[5], d2)
    elif kind == 3:
        g4, g5, g0, g1 = line_distance_adjoint(px, py, corner[4], corner[5], corner[0], corner[1], d2)
    elif kind == 4:
        g0, g1 = two * (corner[0] - px), two * (corner[1] - py)
    elif kind == 5:
        g2, g3 = two * (corner[2] - px), two * (corner[3] - py)
    else:
        g4, g5 = two * (corner[4] - px), two * (corner[5] - py)
    return d2, kind, (g0, g1, g2, g3, g4, g5)


@device
def scale6(v, factor):
    """Return six numbers times a factor."""
    return (v[0] * factor, v[1] * factor, v[2] * factor, v[3] * factor, v[4] * factor, v[5] * factor)


@device
def grown_box(v, reach, multiplier):
    """Return the box of triangle v in scaled coordinates, grown by reach on each side."""
    b = scaled_box(plane_box(v, constant(reach, 0)), multiplier)
    grown = reach * multiplier
    return (b[0] - grown, b[1] + grown, b[2] - grown, b[3] + grown)


@device
def kaolin_soften(tile, grid, mesh, lists, point, face_index, falloff, multiplier, miss, last):
    """Write miss of the pixels of a tile, 0 where covered, and to last the last triangle that counted, -1 for none."""
    frame, top, left = locate_tile(tile, grid)
    sharpness, reach, most = falloff.sharpness, falloff.reach, falloff.most
    zero, one = constant(reach, 0), constant(reach, 1)
    square = multiplier * multiplier
    far = constant(reach, 4) * square
    for i in range(top, minimum(top + TILE, grid.height)):
        for j in range(left, minimum(left + TILE, grid.width)):
            covered = face_index[frame, i, j] >= 0
            miss[frame, i, j] = zero if covered else one
            last[frame, i, j] = -1
            count = most if covered else 0
            x, y = grid.columns[j] * multiplier, grid.rows[i] * multiplier
            k = lists.start[tile]
            while k < lists.start[tile + 1] and count < most:
                n = lists.triangle[k]
                v = load_corner(point, mesh, n)
                if box_holds(grown_box(v, reach, multiplier), x, y):
                    d2, kind = kaolin_distance(x, y, scale6(v, multiplier), far)
                    miss[frame, i, j] *= one - exp(-sharpness * d2 / square)
                    last[frame, i, j] = n
                    count += 1
                k += 1


@device
def kaolin_soften_adjoint(entry, grid, mesh, lists, open_tile, point, falloff, multiplier, last, adj_log_miss, slots):
    """Write cotangents of the corners of one entry's triangle from the pixels of its tile.

    adj_log_miss: cotangent of miss times miss; d miss / d p = -miss / (1 - p + 1e-7). The distance is scaled and the
    corner is not, hence the one division by the multiplier.
    """
    n, tile, sharpness, reach = lists.triangle[entry], lists.tile[entry], falloff.sharpness, falloff.reach
    if not open_tile[tile]:
        return
    frame, top, left = locate_tile(tile, grid)
    zero, one, tiny = constant(reach, 0), constant(reach, 1), constant(reach, 1e-7)
    square = multiplier * multiplier
    v = load_corner(point, mesh, n)
    b, u = grown_box(v, reach, multiplier), scale6(v, multiplier)
    g0, g1, g2, g3, g4, g5 = zero, zero, zero, zero, zero, zero
    for i in range(top, minimum(top + TILE, grid.height)):
        for j in range(left, minimum(left + TILE, grid.width)):
            if adj_log_miss[frame, i, j] != zero and n <= last[frame, i, j]:
                x, y = grid.columns[j] * multiplier, grid.rows[i] * multiplier
                if box_holds(b, x, y):
                    d2, kind, g = kaolin_distance_adjoint(x, y, u, constant(reach, 4) * square)
                    p = exp(-sharpness * d2 / square)
                    g = scale6(g, sharpness * adj_log_miss[frame, i, j] / (one - p + tiny) * p / multiplier)
                    g0, g1, g2, g3, g4, g5 = g0 + g[0], g1 + g[1], g2 + g[2], g3 + g[3], g4 + g[4], g5 + g[5]
    slots[entry, 0], slots[entry, 1], slots[entry, 2] = g0, g1, g2
    slots[entry, 3], slots[entry, 4], slots[entry, 5] = g3, g4, g5
