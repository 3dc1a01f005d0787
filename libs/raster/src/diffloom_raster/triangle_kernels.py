"""Triangles set up for rasterising, and the distance of pixels from their sides.

Points are (x, y, depth): pixels from the middle of the image, right and down, and metres ahead of the camera. edges:
(triangles, 17), of the sides 12, 20 and 01 in turn an end point x, y and the direction dx, dy, such that dx (py - y) -
dy (px - x) is positive inside; then three factors that make 1 / depth of those edge functions, the largest 1 / depth of
the corners, and 1 if the triangle is seen from its front (else 0). A side shared by two triangles is evaluated from one
end point by both: their edge functions are exact opposites, and no pixel between neighbours is missed by both. sides:
(triangles, 9), the corners x, y and the inverse squared lengths of the sides 01, 12, 20.

The squared distance of a pixel p outside of a triangle is
    d^2 = min over the three sides of |a + t (b - a) - p|^2 with t in [0, 1].
The nearest point is optimal or clamped, so t is a constant to the derivative:
    d d^2 / d a = 2 (1 - t) (nearest - p),    d d^2 / d b = 2 t (nearest - p).
Pixels come as columns x, whose part of the work (``load_sides``) is done once, and then row by row.
"""

from __future__ import annotations

from diffloom_kernels import clamp, constant, device, maximum, minimum, sqrt, where

EDGES = 17
"""Number of columns of the table of edges."""
SIDES = 9
"""Number of columns of the table of sides."""
LENGTH = 6
"""First column of the inverse lengths in the table of sides."""


@device
def set_box(n, box, left, top, right, bottom):
    """Write box[n]; a box without pixels becomes empty."""
    empty = right < left or bottom < top
    box[n, 0], box[n, 1] = 0 if empty else left, 0 if empty else top
    box[n, 2], box[n, 3] = -1 if empty else right, -1 if empty else bottom


@device
def corner_rows(n, count, faces):
    """Return rows of the points that triangle n joins; faces repeat every ``count`` points."""
    f, shift = n % faces.shape[0], n // faces.shape[0] * count
    return faces[f, 0] + shift, faces[f, 1] + shift, faces[f, 2] + shift


@device
def load_corner(point, mesh, n):
    """Return (x0, y0, x1, y1, x2, y2) of triangle n. point: rows (x, y, depth)."""
    a, b, c = corner_rows(n, mesh.points, mesh.faces)
    return (point[a, 0], point[a, 1], point[b, 0], point[b, 1], point[c, 0], point[c, 1])


@device
def load_depth(point, mesh, n):
    """Return the depths (z0, z1, z2) of the corners of triangle n."""
    a, b, c = corner_rows(n, mesh.points, mesh.faces)
    return (point[a, 2], point[b, 2], point[c, 2])


@device
def pixel_range(low, high, size):
    """Return the first and last row or column whose centre lies in [low, high]."""
    half, margin = constant(low, 0.5), constant(low, size) * constant(low, 0.5)
    # coordinates outside of the image may be too large for an integer
    limit = margin + constant(low, 1)
    a = minimum(maximum(low, -limit), limit) + margin - half
    b = minimum(maximum(high, -limit), limit) + margin - half
    first, last = int(a), int(b)
    first += 1 if constant(low, first) < a else 0
    last -= 1 if constant(low, last) > b else 0
    return maximum(first, 0), minimum(last, size - 1)


@device
def twice_area(v):
    """Return twice the signed area; negative for a face seen from its front, since y runs down."""
    return (v[2] - v[0]) * (v[5] - v[1]) - (v[3] - v[1]) * (v[4] - v[0])


@device
def set_plane(n, k, x, y, dx, dy, reach, planes):
    """Write half plane k of triangle n, which holds the pixels within ``reach`` of it, with a small margin for
    rounding.

    It lies on the inner side of the line through (x, y) along (dx, dy), moved outwards by ``reach``.
    """
    planes[n, 3 * k], planes[n, 3 * k + 1] = -dy, dx
    planes[n, 3 * k + 2] = dy * x - dx * y + sqrt(dx * dx + dy * dy) * (reach + constant(x, 0.01))


@device
def note_side(n, k, ax, ay, bx, by, sign, reach, edges, planes):
    """Write side k of triangle n: its edge function, and the half plane of the pixels within reach of it."""
    turned = (ax > bx) | ((ax == bx) & (ay > by))
    x, y = where(turned, bx, ax), where(turned, by, ay)
    dx, dy = sign * (bx - ax), sign * (by - ay)
    edges[n, 4 * k], edges[n, 4 * k + 1], edges[n, 4 * k + 2], edges[n, 4 * k + 3] = x, y, dx, dy
    set_plane(n, k, x, y, dx, dy, reach, planes)


@device
def inverse_square(dx, dy):
    """Return 1 / (dx^2 + dy^2), 0 for no length."""
    square = dx * dx + dy * dy
    return where(square > constant(dx, 0), constant(dx, 1) / square, constant(dx, 0))


@device
def set_up_triangle(n, grid, mesh, point, valid, cull, reach, triangles):
    """Write all fields of triangle n.

    valid: (triangles,) True for those to draw, or empty for all. cull: 1 to leave out triangles turned away.
    """
    box, inner, planes = triangles.box, triangles.inner, triangles.planes
    edges, sides = triangles.edges, triangles.sides
    v, z = load_corner(point, mesh, n), load_depth(point, mesh, n)
    zero, one = constant(reach, 0), constant(reach, 1)
    area = twice_area(v)
    left, right = minimum(minimum(v[0], v[2]), v[4]), maximum(maximum(v[0], v[2]), v[4])
    top, bottom = minimum(minimum(v[1], v[3]), v[5]), maximum(maximum(v[1], v[3]), v[5])
    j0, j1 = pixel_range(left - reach, right + reach, grid.width)
    i0, i1 = pixel_range(top - reach, bottom + reach, grid.height)
    if (valid.shape[0] > 0 and not valid[n]) or (cull != 0 and area >= zero):
        j1 = -1
    set_box(n, box, j0, i0, j1, i1)
    set_box(n, inner, 0, 0, -1, -1)
    if j1 < j0 or i1 < i0:
        return
    if area != zero:
        j0, j1 = pixel_range(left, right, grid.width)
        i0, i1 = pixel_range(top, bottom, grid.height)
        set_box(n, inner, j0, i0, j1, i1)
    sign = where(area > zero, one, -one)
    note_side(n, 0, v[2], v[3], v[4], v[5], sign, reach, edges, planes)
    note_side(n, 1, v[4], v[5], v[0], v[1], sign, reach, edges, planes)
    note_side(n, 2, v[0], v[1], v[2], v[3], sign, reach, edges, planes)
    scale = one / where(area != zero, sign * area, one)
    edges[n, 12], edges[n, 13], edges[n, 14] = scale / z[0], scale / z[1], scale / z[2]
    edges[n, 15] = one / minimum(minimum(z[0], z[1]), z[2])
    edges[n, 16] = where(area < zero, one, zero)
    for k in range(6):
        sides[n, k] = v[k]
    sides[n, LENGTH] = inverse_square(v[2] - v[0], v[3] - v[1])
    sides[n, LENGTH + 1] = inverse_square(v[4] - v[2], v[5] - v[3])
    sides[n, LENGTH + 2] = inverse_square(v[0] - v[4], v[1] - v[5])


@device
def side_of(x, n, a, b, k, sides):
    """Return side ab of triangle n to the columns x: x - ax, ay, the direction, and t = (along at ay) + (rise) (y -
    ay).
    """
    ax, ay = sides[n, 2 * a], sides[n, 2 * a + 1]
    dx, dy = sides[n, 2 * b] - ax, sides[n, 2 * b + 1] - ay
    inverse, px = sides[n, LENGTH + k], x - ax
    return px, ay, dx, dy, px * (dx * inverse), dy * inverse


@device
def load_sides(x, n, sides):
    """Return the three sides of triangle n to the columns x."""
    return side_of(x, n, 0, 1, 0, sides), side_of(x, n, 1, 2, 1, sides), side_of(x, n, 2, 0, 2, sides)


@device
def side_distance(y, side):
    """Return the squared distance in row y, the vector from the pixel to the nearest point (rx, ry), and t."""
    px, ay, dx, dy, along, rise = side
    py = y - ay
    t = clamp(along + rise * py, constant(ay, 0), constant(ay, 1))
    rx, ry = t * dx - px, t * dy - py
    return rx * rx + ry * ry, rx, ry, t


@device
def triangle_distance(y, three):
    """Return the squared distance in row y from the nearest of a triangle's sides."""
    d0, rx, ry, t = side_distance(y, three[0])
    d1, rx, ry, t = side_distance(y, three[1])
    d2, rx, ry, t = side_distance(y, three[2])
    d0 = where(d1 < d0, d1, d0)
    return where(d2 < d0, d2, d0)


@device
def triangle_distance_adjoint(y, three):
    """Return d^2, and half its derivative by the corners (6); ties go to the first side, as in triangle_distance."""
    zero, one = constant(y, 0), constant(y, 1)
    d0, rx0, ry0, t0 = side_distance(y, three[0])
    d1, rx1, ry1, t1 = side_distance(y, three[1])
    d2, rx2, ry2, t2 = side_distance(y, three[2])
    second = d1 < d0
    d = where(second, d1, d0)
    third = d2 < d
    d = where(third, d2, d)
    rx = where(third, rx2, where(second, rx1, rx0))
    ry = where(third, ry2, where(second, ry1, ry0))
    # weights of the corners in the nearest point
    u0 = where(third, t2, where(second, zero, one - t0))
    u1 = where(third, zero, where(second, one - t1, t0))
    u2 = where(third, one - t2, where(second, t1, zero))
    return d, (u0 * rx, u0 * ry, u1 * rx, u1 * ry, u2 * rx, u2 * ry)
