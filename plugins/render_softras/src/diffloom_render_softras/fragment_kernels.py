"""Fragments of a triangle at a run of pixels: distance, inside or not, weights of the corners, depth.

Triangles are set up with corners in the image, boxes of the pixels in reach, and half planes for the tiles. Edges are
01, 12, 20 and corners in such an order that their edge functions E are positive inside. The weights of the corners are
q_i = t_i / (t_0 + t_1 + t_2) with t_i = max(E_i, 0) / z_i, E_i belonging to the edge opposite of corner i: perspective
and clipping in one, without dividing by a sum that may vanish. Scaling all E_i changes nothing, so no area is needed.
"""

from __future__ import annotations

from diffloom_kernels import absolute, clamp, device, maximum, minimum, not_lanes, where
from diffloom_raster.kernels import corner_rows, pixel_range, set_plane, value_rows

#: Columns of a triangle's outline: x, y of corners 0, 1, 2; inverse squared lengths of edges 01, 12, 20; depths of the
#: corners; inverses of the divisors of their weights (the depths, or 1 without perspective); the least depth.
LENGTH, DEPTH, INVERSE, NEAREST, OUTLINE = 6, 9, 12, 15, 16


@device
def leave_out(t, box):
    """Give triangle t an empty box."""
    box[t, 0], box[t, 1], box[t, 2], box[t, 3] = 0, 0, -1, -1


@device
def outline_values(t, frame, swapped, surfacing):
    """Return rows of the values at the corners of triangle t of a frame, in the order of its outline."""
    i, j, k = value_rows(t, frame, surfacing)
    if swapped[t]:
        return k, j, i
    return i, j, k


@device
def outline_points(t, swapped, mesh):
    """Return points of triangle t, in the order of its outline."""
    i, j, k = corner_rows(t, mesh.points, mesh.faces)
    if swapped[t]:
        return k, j, i
    return i, j, k


@device
def fill_box(t, x0, y0, x1, y1, x2, y2, grid, reach, box):
    """Write the pixels whose centres lie in the triangle's box grown by reach; return False if the image has none of
    them.
    """
    left, right = pixel_range(
        minimum(x0, minimum(x1, x2)) - reach, maximum(x0, maximum(x1, x2)) + reach, grid.width
    )
    top, bottom = pixel_range(
        minimum(y0, minimum(y1, y2)) - reach, maximum(y0, maximum(y1, y2)) + reach, grid.height
    )
    if right < 0 or bottom < 0 or left >= grid.width or top >= grid.height:
        leave_out(t, box)
        return False
    box[t, 0], box[t, 1], box[t, 2], box[t, 3] = left, top, right, bottom
    return True


@device
def set_up(t, grid, mesh, rules, screen, triangles):
    """Write outline, box and half planes of triangle t. Corners 0 and 2 change places where that makes the area
    positive.

    The edge between corners 2 and 0 may lie inside a face that was cut: an inverse length of 0 shrinks it to a corner
    that other edges have too.
    """
    R = screen.dtype.type
    outline, box, planes, swapped = triangles.outline, triangles.box, triangles.planes, triangles.swapped
    reach = rules.reach
    i, j, k = corner_rows(t, mesh.points, mesh.faces)
    area = (screen[j, 0] - screen[i, 0]) * (screen[k, 1] - screen[i, 1]) - (screen[j, 1] - screen[i, 1]) * (
        screen[k, 0] - screen[i, 0]
    )
    swapped[t] = area < R(0.0)
    # y points down, so a face turned to the camera has a negative area.
    if not absolute(area) > rules.least_area or (rules.cull and area > R(0.0)):
        leave_out(t, box)
        return
    if swapped[t]:
        i, k = k, i
    x0, y0, x1, y1, x2, y2 = screen[i, 0], screen[i, 1], screen[j, 0], screen[j, 1], screen[k, 0], screen[k, 1]
    if not fill_box(t, x0, y0, x1, y1, x2, y2, grid, reach, box):
        return
    outline[t, 0], outline[t, 1], outline[t, 2], outline[t, 3], outline[t, 4], outline[t, 5] = x0, y0, x1, y1, x2, y2
    outline[t, LENGTH] = R(1.0) / ((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0))
    outline[t, LENGTH + 1] = R(1.0) / ((x2 - x1) * (x2 - x1) + (y2 - y1) * (y2 - y1))
    outline[t, LENGTH + 2] = R(1.0) / ((x0 - x2) * (x0 - x2) + (y0 - y2) * (y0 - y2))
    if mesh.sibling.shape[0] > 0 and mesh.sibling[t] >= 0:
        outline[t, LENGTH + 2] = R(0.0)
    z0, z1, z2 = screen[i, 2], screen[j, 2], screen[k, 2]
    outline[t, DEPTH], outline[t, DEPTH + 1], outline[t, DEPTH + 2] = z0, z1, z2
    flat = rules.perspective == 0
    outline[t, INVERSE] = R(1.0) if flat else R(1.0) / z0
    outline[t, INVERSE + 1] = R(1.0) if flat else R(1.0) / z1
    outline[t, INVERSE + 2] = R(1.0) if flat else R(1.0) / z2
    outline[t, NEAREST] = minimum(z0, minimum(z1, z2))
    set_plane(t, 0, x0, y0, x1 - x0, y1 - y0, reach, planes)
    set_plane(t, 1, x1, y1, x2 - x1, y2 - y1, reach, planes)
    set_plane(t, 2, x2, y2, x0 - x2, y0 - y2, reach, planes)


#: Sum of weights [px^2/m] under which they are rounding errors.
THINNEST = 1e-20


@device
def edge(outline, t, a, b, inverse, x, y):
    """Return squared distance, E, the vector r from the nearest point, and its position s, for the edge from corner a
    to b.
    """
    R = outline.dtype.type
    ax, ay = outline[t, 2 * a], outline[t, 2 * a + 1]
    ex, ey = outline[t, 2 * b] - ax, outline[t, 2 * b + 1] - ay
    dx, dy = x - ax, y - ay
    s = clamp((dx * ex + dy * ey) * outline[t, inverse], R(0.0), R(1.0))
    rx, ry = dx - s * ex, dy - s * ey
    return rx * rx + ry * ry, dy * ex - dx * ey, rx, ry, s


@device
def edges(outline, t, x, y):
    """Return the three edges of triangle t for pixels at (x, y)."""
    return (
        edge(outline, t, 0, 1, LENGTH, x, y),
        edge(outline, t, 1, 2, LENGTH + 1, x, y),
        edge(outline, t, 2, 0, LENGTH + 2, x, y),
    )


@device
def nearest_edge(a, b, c):
    """Return the least squared distance, and True where it is that of the second or, before all, the third edge."""
    second = b[0] < a[0]
    d = where(second, b[0], a[0])
    third = c[0] < d
    return where(third, c[0], d), second, third


@device
def is_inside(a, b, c, outline):
    """Return True where all edge functions are positive."""
    zero = outline.dtype.type(0.0)
    return (a[1] > zero) & (b[1] > zero) & (c[1] > zero)


@device
def edges_in_reach(outline, t, x, y, blur):
    """Return the three edges, the least squared distance, flags for the second and third edge, and flags for the pixels
    that lie inside and within reach.
    """
    a, b, c = edges(outline, t, x, y)
    d, second, third = nearest_edge(a, b, c)
    inside = is_inside(a, b, c, outline)
    return a, b, c, d, second, third, inside, inside | (d < blur.reach_squared)


@device
def weights(outline, t, a, b, c):
    """Return q, 1 / sum of t_i, and the depth [m]."""
    R = outline.dtype.type
    zero = R(0.0)
    t0 = maximum(b[1], zero) * outline[t, INVERSE]
    t1 = maximum(c[1], zero) * outline[t, INVERSE + 1]
    t2 = maximum(a[1], zero) * outline[t, INVERSE + 2]
    # All E_i of a sliver may be rounded to 0: then its corners have equal weights.
    thin = not_lanes(t0 + t1 + t2 > R(THINNEST))
    t0 = where(thin, outline[t, INVERSE], t0)
    t1 = where(thin, outline[t, INVERSE + 1], t1)
    t2 = where(thin, outline[t, INVERSE + 2], t2)
    scale = R(1.0) / (t0 + t1 + t2)
    q0, q1, q2 = t0 * scale, t1 * scale, t2 * scale
    return (q0, q1, q2), scale, q0 * outline[t, DEPTH] + q1 * outline[t, DEPTH + 1] + q2 * outline[t, DEPTH + 2]


@device
def distance_adjoint(a, b, c, second, third, force):
    """Return cotangents (x, y) of the corners when that of the squared distance is -force / 2.

    d (r.r) / d start = -2 (1 - s) r and d (r.r) / d end = -2 s r, for the nearest edge; s is constant to first order.
    """
    none = force - force
    f2 = where(third, force, none)
    f1 = where(third, none, where(second, force, none))
    f0 = where(third, none, where(second, none, force))
    b0, b1, b2 = f0 * a[4], f1 * b[4], f2 * c[4]
    a0, a1, a2 = f0 - b0, f1 - b1, f2 - b2
    return (
        a0 * a[2] + b2 * c[2], a0 * a[3] + b2 * c[3],
        a1 * b[2] + b0 * a[2], a1 * b[3] + b0 * a[3],
        a2 * c[2] + b1 * b[2], a2 * c[3] + b1 * b[3],
    )  # fmt: skip


@device
def weights_adjoint(outline, t, x, y, a, b, c, q, scale, adj_q, adj_depth, perspective):
    """Return cotangents of x, y and depth of the corners for weights: (x0, y0, x1, y1, x2, y2, z0, z1, z2).

    adj_t_i = (adj_q_i - sum q_j adj_q_j) / sum t; E = (y - a_y)(b_x - a_x) - (x - a_x)(b_y - a_y) for the edge ab.
    """
    R = outline.dtype.type
    zero = R(0.0)
    g0 = adj_q[0] + adj_depth * outline[t, DEPTH]
    g1 = adj_q[1] + adj_depth * outline[t, DEPTH + 1]
    g2 = adj_q[2] + adj_depth * outline[t, DEPTH + 2]
    mean = q[0] * g0 + q[1] * g1 + q[2] * g2
    h0, h1, h2 = (g0 - mean) * scale, (g1 - mean) * scale, (g2 - mean) * scale
    i0, i1, i2 = outline[t, INVERSE], outline[t, INVERSE + 1], outline[t, INVERSE + 2]
    e0 = where(b[1] > zero, h0 * i0, zero)
    e1 = where(c[1] > zero, h1 * i1, zero)
    e2 = where(a[1] > zero, h2 * i2, zero)
    z0 = adj_depth * q[0] - e0 * b[1] * (i0 * perspective)
    z1 = adj_depth * q[1] - e1 * c[1] * (i1 * perspective)
    z2 = adj_depth * q[2] - e2 * a[1] * (i2 * perspective)
    x0, y0, x1 = x - outline[t, 0], y - outline[t, 1], x - outline[t, 2]
    y1, x2, y2 = y - outline[t, 3], x - outline[t, 4], y - outline[t, 5]
    return (
        e1 * y2 - e2 * y1, e2 * x1 - e1 * x2,
        e2 * y0 - e0 * y2, e0 * x2 - e2 * x0,
        e0 * y1 - e1 * y0, e1 * x0 - e0 * x1,
        z0, z1, z2,
    )  # fmt: skip
