"""Pixels that show one whole layer of the surface, a run of them at a time; and which pixels do.

No torn edge (triangle_kernels.py) touches such a pixel. The number of layers is then the same all over it, and so the
sum of the areas that the triangles cover in it. Triangles are sorted into slabs, each deeper than the last: the first
slab that covers the pixel hides all slabs behind it. If it has one layer, no triangle hides another, and each counts,
clipped to the pixel. Everywhere else pixels are divided into pieces (mixed_kernels.py).

The part of a triangle in a pixel is measured by Green's theorem. With u(y) the place of an edge, held between the
pixel's sides,

    area = sum over edges of integral u dy,    moments = sums of integrals of u^2 / 2 dy and of y u dy,

y running over the part of the edge in the pixel's row. An edge moves the integral of a function h, linear in the pixel,
as a side of a piece does (piece_kernels.py); where two triangles meet, their parts add up to the difference of h. The
number of layers is constant, so any number may be taken off h for all triangles at once: it is the pixel's own colour,
so that little is left to cancel.
"""

from __future__ import annotations

from diffloom_kernels import (
    absolute,
    add3,
    any_lane,
    clamp,
    constant,
    device,
    dot3,
    maximum,
    minimum,
    mul3,
    not_lanes,
    where,
)
from diffloom_raster.kernels import (
    TILE,
    alll,
    corner_rows,
    first_index,
    interleave,
    is_outside_box,
    load_corner,
    load_depth,
    locate_pixels,
    locate_stripe,
    own_colour,
    own_colour_adjoint,
    perspective_weights,
    perspective_weights_adjoint,
    run_width,
    shade_fragment,
    shade_fragment_adjoint,
    shade_table_adjoint,
    total,
    value_rows,
)

from .triangle_kernels import EDGE, NEAR

#: Deeper than any depth.
NOTHING = 1e30


@device
def edge_distance(t, k, x, y, outline):
    """Distance of places from edge k of triangle t, positive inside."""
    at = EDGE * k
    return outline[t, at + 2] * (x - outline[t, at]) + outline[t, at + 3] * (y - outline[t, at + 1])


@device
def edge_margin(t, k, outline):
    """Distance from edge k within which the square of a pixel touches its line."""
    at = EDGE * k
    return constant(outline[t, at], 0.5) * (absolute(outline[t, at + 2]) + absolute(outline[t, at + 3]))


@device
def square_relation(t, x, y, outline):
    """Return masks of the pixels that may touch triangle t, and of those wholly inside it."""
    a, b = edge_distance(t, 0, x, y, outline), edge_distance(t, 1, x, y, outline)
    c = edge_distance(t, 2, x, y, outline)
    ma, mb, mc = edge_margin(t, 0, outline), edge_margin(t, 1, outline), edge_margin(t, 2, outline)
    return (a > -ma) & (b > -mb) & (c > -mc), (a >= ma) & (b >= mb) & (c >= mc)


@device
def touches_edge(t, k, x, y, touch, outline):
    """Return a mask of the pixels that edge k of triangle t touches, with a little to spare."""
    half = constant(x, 0.5) + constant(x, touch) * constant(x, 8)
    d, m = edge_distance(t, k, x, y, outline), edge_margin(t, k, outline) + touch * constant(touch, 8)
    ax, ay = outline[t, EDGE * k], outline[t, EDGE * k + 1]
    after = EDGE * ((k + 1) % 3)
    bx, by = outline[t, after], outline[t, after + 1]
    beside = (absolute(d) <= m) & (x >= minimum(ax, bx) - half) & (x <= maximum(ax, bx) + half)
    return beside & (y + half >= minimum(ay, by)) & (y - half <= maximum(ay, by))


@device
def edge_moments(t, k, x, y, touch, outline):
    """Integrals of u, u^2 / 2 and y u along edge k of triangle t, for pixels at x in a row y."""
    zero, one, half = constant(y, 0), constant(y, 1), constant(y, 0.5)
    at, after = EDGE * k, EDGE * ((k + 1) % 3)
    ax, ay = outline[t, at], outline[t, at + 1] - y
    dx, dy = outline[t, after] - ax, outline[t, after + 1] - y - ay
    y0, y1 = clamp(ay, -half, half), clamp(ay + dy, -half, half)
    rise = y1 - y0
    slope = where(rise != zero, dx / where(rise != zero, dy, one), zero)
    run = slope * rise
    flat = absolute(run) <= touch
    pace = where(flat, zero, one / where(flat, one, run))
    left, right = x * zero - half, x * zero + half
    u0 = ax + slope * (y0 - ay) - x
    s = clamp((left - u0) * pace, x * zero, x * zero + one)
    r = clamp((right - u0) * pace, x * zero, x * zero + one)
    s, r = minimum(s, r), maximum(s, r)
    u1 = clamp(u0 + run, left, right)
    u0 = clamp(u0, left, right)
    middle, rest = r - s, one - r
    mean, third, sixth = (u0 + u1) * half, constant(y, 1 / 3), constant(y, 1 / 12)
    area = rise * (s * u0 + middle * mean + rest * u1)
    mx = half * rise * (s * u0 * u0 + middle * (u0 * u0 + u0 * u1 + u1 * u1) * third + rest * u1 * u1)
    my = s * u0 * (y0 + half * rise * s) + rest * u1 * (y0 + half * rise * (one + r))
    my = rise * (my + middle * (mean * (y0 + half * rise * (s + r)) + (u1 - u0) * middle * (rise * sixth)))
    return area, mx, my


@device
def clip(t, x, y, full, touch, outline):
    """Area and first moments, from the pixels' centres, of triangle t in pixels at x in a row y; full: which pixels lie
    in it as a whole."""
    zero, one = x * constant(y, 0), x * constant(y, 0) + constant(y, 1)
    if alll(full):
        return one, zero, zero
    sign = where(outline[t, 4] > constant(y, 0), constant(y, 1), constant(y, -1))
    a, b = edge_moments(t, 0, x, y, touch, outline), edge_moments(t, 1, x, y, touch, outline)
    c = edge_moments(t, 2, x, y, touch, outline)
    area = where(full, one, sign * (a[0] + b[0] + c[0]))
    return area, where(full, zero, sign * (a[1] + b[1] + c[1])), where(full, zero, sign * (a[2] + b[2] + c[2]))


@device
def middle_of(t, area, mx, my, x, y, seen, outline):
    """Area and centroid from the pixels' centres; where nothing is seen 1 and the middle of triangle t."""
    half, third = constant(y, 0.5), constant(y, 1 / 3)
    safe = where(seen, area, area * constant(y, 0) + constant(y, 1))
    cx = (outline[t, 0] + outline[t, EDGE] + outline[t, 2 * EDGE]) * third
    cy = (outline[t, 1] + outline[t, EDGE + 1] + outline[t, 2 * EDGE + 1]) * third
    return safe, where(seen, clamp(mx / safe, -half, half), cx - x), where(seen, clamp(my / safe, -half, half), cy - y)


@device
def cover(e, setup, scene, planes):
    """Fill the limits of the run e of pixels of the active tiles, and their coverage where it is known by that.

    The limit is 0 where nothing is shown, the depth behind which triangles are hidden where one layer covers the
    pixel, and MIXED where the pixel is divided into pieces.
    """
    outline, box, lists, limit = scene.triangles.outline, scene.triangles.box, scene.lists, scene.limit
    R = outline.dtype.type
    grid, touch = setup.frames.grid, setup.rules.touch
    tile, frame, row, here = locate_pixels(e, lists, grid)
    x, y = grid.columns[here], grid.rows[row]
    column, last = first_index(here), first_index(here) + run_width(e) - 1
    zero, one = x * R(0.0), x * R(0.0) + R(1.0)
    area, deepest = zero, zero
    torn, done = x < x, x < x
    end = lists.start[tile + 1]
    for k in range(lists.start[tile], end):
        t = lists.triangle[k]
        if not is_outside_box(t, row, column, last, box):
            near, full = square_relation(t, x, y, outline)
            if any_lane(near):
                part, mx, my = clip(t, x, y, full, touch, outline)
                area = area + where(near & not_lanes(done), part, zero)
            for edge in range(3):
                if scene.triangles.torn[t] & (1 << edge):
                    torn = torn | (touches_edge(t, edge, x, y, touch, outline) & not_lanes(done))
        if limit.ends[k]:
            behind = zero + (outline[lists.triangle[k + 1], NEAR] if k + 1 < end else R(NOTHING))
            covered = not_lanes(done) & not_lanes(torn) & (area > R(0.5))
            deepest = where(covered, behind, deepest)
            done = done | covered
            if alll(done | torn):
                break
    mixed = (torn & not_lanes(done)) | (area > R(1.5))
    limit.depth[frame, row, here] = where(mixed, -one, deepest)
    planes[frame, 3, row, here] = where(done, one, zero)


@device
def shade(e, wants, setup, scene, shading, images):
    """Colour and depth of the pixels of run e that one layer covers."""
    outline, box, lists = scene.triangles.outline, scene.triangles.box, scene.lists
    R = outline.dtype.type
    grid, mesh, screen, planes = setup.frames.grid, setup.frames.mesh, scene.source.screen, images.planes
    tile, frame, row, here = locate_pixels(e, lists, grid)
    limit = scene.limit.depth[frame, row, here]
    if not any_lane(limit > R(0.0)):
        return
    x, y = grid.columns[here], grid.rows[row]
    column, last = first_index(here), first_index(here) + run_width(e) - 1
    zero, one = x * R(0.0), R(1.0)
    background = shading.background
    r, g, b, covered, depth = zero, zero, zero, zero, zero
    for k in range(lists.start[tile], lists.start[tile + 1]):
        t = lists.triangle[k]
        seen = limit > outline[t, NEAR]
        if not any_lane(seen):
            break
        if is_outside_box(t, row, column, last, box):
            continue
        near, full = square_relation(t, x, y, outline)
        seen = seen & near
        if not any_lane(seen):
            continue
        area, mx, my = clip(t, x, y, full, setup.rules.touch, outline)
        seen = seen & (area > setup.rules.least)
        if any_lane(seen):
            safe, mx, my = middle_of(t, area, mx, my, x, y, seen, outline)
            area = where(seen, area, zero)
            z = load_depth(screen, mesh, t)
            q = perspective_weights(x + mx, y + my, load_corner(screen, mesh, t), z)
            covered = covered + area
            depth = depth + area * dot3(q, z)
            if wants.colour:
                own, by_u, by_v = own_colour(q, value_rows(t, frame, shading.surfacing), frame, shading.surfacing)
                c = shade_fragment(t, own, q, corner_rows(t, mesh.points, mesh.faces), frame, shading.lighting)
                r, g, b = r + area * c[0], g + area * c[1], b + area * c[2]
    rest = one - covered
    shown = limit > R(0.0)
    if wants.colour:
        planes[frame, 0, row, here] = where(shown, r + rest * background[0], zero + background[0])
        planes[frame, 1, row, here] = where(shown, g + rest * background[1], zero + background[1])
        planes[frame, 2, row, here] = where(shown, b + rest * background[2], zero + background[2])
    if wants.deep:
        images.depth[frame, row, here] = where(shown, depth + rest * R(setup.far), zero + R(setup.far))


@device
def add9(a, b):
    """a + b."""
    return (
        a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5],
        a[6] + b[6], a[7] + b[7], a[8] + b[8],
    )  # fmt: skip


@device
def add_weighted(sums, q, adj):
    """Nine sums plus the cotangents of three rows mixed with q."""
    return (
        sums[0] + q[0] * adj[0], sums[1] + q[0] * adj[1], sums[2] + q[0] * adj[2],
        sums[3] + q[1] * adj[0], sums[4] + q[1] * adj[1], sums[5] + q[1] * adj[2],
        sums[6] + q[2] * adj[0], sums[7] + q[2] * adj[1], sums[8] + q[2] * adj[2],
    )  # fmt: skip


@device
def store9(slots, i, part, sums):
    """slots[i, part] = sums over the lanes."""
    slots[i, part, 0], slots[i, part, 1], slots[i, part, 2] = total(sums[0]), total(sums[1]), total(sums[2])
    slots[i, part, 3], slots[i, part, 4], slots[i, part, 5] = total(sums[3]), total(sums[4]), total(sums[5])
    slots[i, part, 6], slots[i, part, 7], slots[i, part, 8] = total(sums[6]), total(sums[7]), total(sums[8])


@device
def edge_adjoint(t, k, x, y, seen, h, hx, hy, mx, my, touch, outline):
    """Cotangents (x, y) of the ends of edge k of triangle t, from its part in each pixel.

    h + hx (u - mx) + hy (v - my): what a point (u, v) from the pixel's centre counts.
    """
    zero, one, half = constant(y, 0), constant(y, 1), constant(y, 0.5)
    at, after = EDGE * k, EDGE * ((k + 1) % 3)
    ax, ay = outline[t, at], outline[t, at + 1] - y
    dx, dy = outline[t, after] - ax, outline[t, after + 1] - y - ay
    sign = where(outline[t, 4] > zero, one, -one)
    level, upright = absolute(dy) <= touch, absolute(dx) <= touch
    down = where(level, zero, one / where(level, one, dy))
    inside = absolute(ay) <= half
    v0, v1 = (-half - ay) * down, (half - ay) * down
    low = where(level, where(inside, zero, one), minimum(v0, v1))
    high = where(level, where(inside, one, zero), maximum(v0, v1))
    across = where(upright, zero, one / where(upright, one, dx))
    ux = ax - x
    within = absolute(ux) <= half
    u0, u1 = (-half - ux) * across, (half - ux) * across
    none, all_of_it = ux * zero, ux * zero + one
    # an upright edge is inside as a whole or not at all
    u_low = where(within, none, all_of_it) if upright else minimum(u0, u1)
    u_high = where(within, all_of_it, none) if upright else maximum(u0, u1)
    begin = maximum(maximum(u_low, none), none + low)
    end = minimum(minimum(u_high, all_of_it), none + high)
    width = where(seen, maximum(end - begin, none), none)
    start, change = h + hx * (ux - mx) + hy * (ay - my), hx * dx + hy * dy
    whole = width * (start + change * (begin + end) * half)
    second = width * (
        start * (begin + end) * half + change * (begin * begin + begin * end + end * end) * constant(y, 1 / 3)
    )
    first = whole - second
    nx, ny = sign * dy, -sign * dx
    return nx * first, ny * first, nx * second, ny * second


@device
def shade_adjoint(e, wants, setup, scene, shading, images, adjoint, slots):
    """Cotangents from a stripe e of columns of one entry's tile, for pixels that one layer covers.

    slots[entry stripe]: those of the triangle's corners, nine each: x, y, depth; values; normals; positions.
    """
    outline, box, lists = scene.triangles.outline, scene.triangles.box, scene.lists
    R = outline.dtype.type
    grid, mesh, screen, touch = setup.frames.grid, setup.frames.mesh, scene.source.screen, setup.rules.touch
    s = first_index(e)
    n = interleave(s // TILE, lists.triangle.shape[0])
    if n >= lists.triangle.shape[0]:
        return
    i = (n * TILE + s % TILE) // run_width(e)
    t = lists.triangle[n]
    frame, top, here = locate_stripe(e, lists.tile[n], grid)
    x = grid.columns[here]
    o, zero = x * R(0.0), R(0.0)
    lit = shading.lighting.shading > 0 and wants.colour
    places = values = normals = positions = (o, o, o, o, o, o, o, o, o)
    value_at, point_at = value_rows(t, frame, shading.surfacing), corner_rows(t, mesh.points, mesh.faces)
    v, z = load_corner(screen, mesh, t), load_depth(screen, mesh, t)
    for row in range(maximum(top, box[t, 1]), minimum(top + TILE, box[t, 3] + 1)):
        seen = scene.limit.depth[frame, row, here] > outline[t, NEAR]
        if not any_lane(seen):
            continue
        y = grid.rows[row]
        near, full = square_relation(t, x, y, outline)
        seen = seen & near
        if not any_lane(seen):
            continue
        g, gd = (o, o, o), o
        if wants.colour:
            planes = adjoint.planes
            g = planes[frame, 0, row, here], planes[frame, 1, row, here], planes[frame, 2, row, here]
        if wants.deep:
            gd = adjoint.depth[frame, row, here]
        if not any_lane((g[0] != zero) | (g[1] != zero) | (g[2] != zero) | (gd != zero)):
            continue
        area, mx, my = clip(t, x, y, full, touch, outline)
        seen = seen & (area > setup.rules.least)
        if not any_lane(seen):
            continue
        safe, mx, my = middle_of(t, area, mx, my, x, y, seen, outline)
        area = where(seen, area, o)
        q = perspective_weights(x + mx, y + my, v, z)
        weight = gd * area
        adj_q, adj_z = (weight * z[0], weight * z[1], weight * z[2]), mul3(q, weight)
        h = o
        if wants.deep:
            h = gd * (dot3(q, z) - images.depth[frame, row, here])
        if wants.colour:
            colour, by_u, by_v = own_colour(q, value_at, frame, shading.surfacing)
            shown, adj_own = colour, mul3(g, area)
            if lit:
                adj_lit = adj_own
                shown, adj_own, adj_position, adj_normal, adj_eye, by_light = shade_fragment_adjoint(
                    t, colour, q, point_at, frame, shading.lighting, adj_lit
                )
                adj_q = add3(adj_q, by_light)
                positions = add_weighted(positions, q, adj_position)
                normals = add_weighted(normals, q, adj_normal)
                if wants.table:
                    shade_table_adjoint(
                        t, i, colour, q, point_at, frame, shading.lighting, adj_lit, adj_eye, adjoint.table
                    )
            adj_value, by_value = own_colour_adjoint(adj_own, by_u, by_v, value_at, shading.surfacing)
            values = add_weighted(values, q, adj_value)
            adj_q = add3(adj_q, by_value)
            made = images.planes
            h = h + g[0] * (shown[0] - made[frame, 0, row, here]) + g[1] * (shown[1] - made[frame, 1, row, here])
            h = h + g[2] * (shown[2] - made[frame, 2, row, here])
        c, cz = perspective_weights_adjoint(x + mx, y + my, v, z, adj_q)
        places = add9(
            places, (c[0], c[1], cz[0] + adj_z[0], c[2], c[3], cz[1] + adj_z[1], c[4], c[5], cz[2] + adj_z[2])
        )
        if not alll(full):
            # a place that moves with all corners changes nothing
            hx, hy = -(c[0] + c[2] + c[4]) / safe, -(c[1] + c[3] + c[5]) / safe
            a = edge_adjoint(t, 0, x, y, seen, h, hx, hy, mx, my, touch, outline)
            b = edge_adjoint(t, 1, x, y, seen, h, hx, hy, mx, my, touch, outline)
            c = edge_adjoint(t, 2, x, y, seen, h, hx, hy, mx, my, touch, outline)
            places = add9(
                places,
                (a[0] + c[2], a[1] + c[3], o, b[0] + a[2], b[1] + a[3], o, c[0] + b[2], c[1] + b[3], o),
            )
    store9(slots, i, 0, places)
    if wants.colour:
        store9(slots, i, 1, values)
    if lit:
        store9(slots, i, 2, normals)
        store9(slots, i, 3, positions)


@device
def find_index(e, grid, mesh, triangles, lists, index):
    """index[frame, row, column]: the nearest triangle of the frame that holds the centre, -1 for none; the one of least
    number where several are as near."""
    outline, box = triangles.outline, triangles.box
    R = outline.dtype.type
    tile, frame, row, here = locate_pixels(e, lists, grid)
    x, y = grid.columns[here], grid.rows[row]
    column, last = first_index(here), first_index(here) + run_width(e) - 1
    zero = R(0.0)
    best, face = x * zero, x * zero - R(1.0)
    for k in range(lists.start[tile], lists.start[tile + 1]):
        t = lists.triangle[k]
        if is_outside_box(t, row, column, last, box):
            continue
        a, b = edge_distance(t, 0, x, y, outline), edge_distance(t, 1, x, y, outline)
        c = edge_distance(t, 2, x, y, outline)
        inside = (a >= zero) & (b >= zero) & (c >= zero)
        if any_lane(inside):
            d = a * outline[t, 5] + b * outline[t, EDGE + 5] + c * outline[t, 2 * EDGE + 5]
            number = R(t - mesh.frame_start[frame])
            closer = inside & ((d > best) | ((d == best) & (number < face)))
            best, face = where(closer, d, best), where(closer, number, face)
    index[frame, row, here] = face
