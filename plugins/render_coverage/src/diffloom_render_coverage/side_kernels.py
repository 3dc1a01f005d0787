"""Sides of pieces: what they pass on of an image's cotangents as the lines that they lie on move.

As the edge from a to b moves by (1 - t) a' + t b', a side s from p to q changes the integral over the piece of a linear
function h by

    integral over s of h (v . n) ds,    n ds = (q_y - p_y, p_x - q_x)

which ``side_adjoint`` passes to a and b. Both pieces at a side do so; where they belong to one triangle the two parts
cancel.

A line on which two triangles intersect moves with all corners of both: see ``line_adjoint``.
"""

from __future__ import annotations

from diffloom_kernels import absolute, constant, device

from .triangle_kernels import EDGE


@device
def side_adjoint(p, i, j, left, top, first, second, stripes, group, outline, lists, pieces, slots):
    """Pass what the side from corner i to j of piece p does to the integral of h on to its edge.

    first, second: h at the two corners.
    """
    tag = pieces.tag[p, i]
    entry, k = tag // 3, tag % 3
    t, at = lists.triangle[entry], EDGE * (tag % 3)
    x0, y0, x1, y1 = pieces.x[p, i], pieces.y[p, i], pieces.x[p, j], pieces.y[p, j]
    ax, ay = outline[t, at] - left, outline[t, at + 1] - top
    nx, ny, scale = outline[t, at + 2], outline[t, at + 3], outline[t, at + 4]
    t0 = ((x0 - ax) * ny - (y0 - ay) * nx) * scale
    t1 = ((x1 - ax) * ny - (y1 - ay) * nx) * scale
    sixth, two = constant(x0, 1 / 6), constant(x0, 2)
    whole = (first + second) * constant(x0, 0.5)
    end = (two * first * t0 + first * t1 + second * t0 + two * second * t1) * sixth
    begin = whole - end
    dx, dy = x1 - x0, y1 - y0
    slot, a = entry * stripes + group, 3 * k
    b = a + 3 if k < 2 else 0
    slots[slot, 0, a] += dy * begin
    slots[slot, 0, a + 1] -= dx * begin
    slots[slot, 0, b] += dy * end
    slots[slot, 0, b + 1] -= dx * end


@device
def plane_adjoint(entry, x0, y0, x1, y1, left, top, first, second, factor, stripes, group, outline, lists, slots):
    """Pass factor times the integral, from (x0, y0) to (x1, y1), of h times the change of 1 / depth of an entry's
    triangle on to its corners.

    With the weights w of the corners and G the slope of 1 / depth, that change is the sum over the corners of
    w (-z' / z^2 - G . v'), as the corner's place moves by v' and its depth by z'.
    """
    t, slot = lists.triangle[entry], entry * stripes + group
    gx, gy, area = constant(x0, 0), constant(x0, 0), constant(x0, 0)
    one, sixth, two = constant(x0, 1), constant(x0, 1 / 6), constant(x0, 2)
    for k in range(3):
        at = EDGE * k
        gx += outline[t, at + 2] * outline[t, at + 5]
        gy += outline[t, at + 3] * outline[t, at + 5]
        d = outline[t, at + 2] * (x0 - (outline[t, at] - left)) + outline[t, at + 3] * (y0 - (outline[t, at + 1] - top))
        area += d / absolute(outline[t, at + 4])
    for k in range(3):
        at, corner = EDGE * k, 3 * ((k + 2) % 3)
        nx, ny, ax, ay = outline[t, at + 2], outline[t, at + 3], outline[t, at] - left, outline[t, at + 1] - top
        share = one / (absolute(outline[t, at + 4]) * area)
        w0 = (nx * (x0 - ax) + ny * (y0 - ay)) * share
        w1 = (nx * (x1 - ax) + ny * (y1 - ay)) * share
        weight = factor * sixth * (two * first * w0 + first * w1 + second * w0 + two * second * w1)
        inverse = outline[t, at + 5] / share
        slots[slot, 0, corner] -= weight * gx
        slots[slot, 0, corner + 1] -= weight * gy
        slots[slot, 0, corner + 2] -= weight * inverse * inverse


@device(inline=False)
def line_adjoint(p, i, j, left, top, first, second, stripes, group, outline, lists, pieces, slots):
    """Pass what the side from corner i to j of piece p, on the line where two triangles intersect, does to the integral
    of h on to both.

    The line is where L, the difference of their 1 / depth, is zero. It moves along its normal by -L' / |grad L|.
    """
    entry, partner = -2 - pieces.tag[p, i], pieces.partner[p, i]
    t, u = lists.triangle[entry], lists.triangle[partner]
    x0, y0, x1, y1 = pieces.x[p, i], pieces.y[p, i], pieces.x[p, j], pieces.y[p, j]
    dx, dy, zero = x1 - x0, y1 - y0, constant(x0, 0)
    gx, gy = zero, zero
    for k in range(3):
        at = EDGE * k
        gx += outline[t, at + 2] * outline[t, at + 5] - outline[u, at + 2] * outline[u, at + 5]
        gy += outline[t, at + 3] * outline[t, at + 5] - outline[u, at + 3] * outline[u, at + 5]
    across = gx * dy - gy * dx
    if across == zero:
        return
    factor = -(dx * dx + dy * dy) / across
    plane_adjoint(entry, x0, y0, x1, y1, left, top, first, second, factor, stripes, group, outline, lists, slots)
    plane_adjoint(partner, x0, y0, x1, y1, left, top, first, second, -factor, stripes, group, outline, lists, slots)


@device(inline=False)
def owner_adjoint(base, count, owner, left, top, h, hx, hy, mx, my, stripes, group, outline, lists, pieces, slots):
    """Pass on the cotangents of an owner's pieces; h + hx (x - mx) + hy (y - my): what a point of them counts."""
    for i in range(count):
        p = base + i
        if pieces.owner[p] != owner:
            continue
        n = pieces.count[p]
        for j in range(n):
            tag = pieces.tag[p, j]
            if tag != -1:
                k = j + 1 if j + 1 < n else 0
                first = h + hx * (pieces.x[p, j] - mx) + hy * (pieces.y[p, j] - my)
                second = h + hx * (pieces.x[p, k] - mx) + hy * (pieces.y[p, k] - my)
                if tag >= 0:
                    side_adjoint(p, j, k, left, top, first, second, stripes, group, outline, lists, pieces, slots)
                else:
                    line_adjoint(p, j, k, left, top, first, second, stripes, group, outline, lists, pieces, slots)
