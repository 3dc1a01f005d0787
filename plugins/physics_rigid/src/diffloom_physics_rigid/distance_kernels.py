"""Signed distance and outward normal of a body's shape at a point in its frame, and the transpose.

Shapes are spheres, boxes, capsules along y, and meshes as a grid of distances. A grid is read through quadratic
B-splines (27 nodes), so that distance and normal are continuous; its nodes are the spline's coefficients, which
reproduces planes exactly and rounds edges over one cell. ``shapes`` is the tuple (kind, dims, grid_start, grid_size,
grid_origin, grid_cell, grid_values).
"""

from diffloom.kernels import (
    absolute,
    add3,
    clamp,
    constant,
    device,
    dot3,
    floor,
    ld3,
    mul3,
    sqrt,
    sub3,
    where,
)

SPHERE = 0
BOX = 1
CAPSULE = 2
GRID = 3


@device
def length_and_way(d):
    """|d| and d/|d|; upwards for d = 0."""
    zero = constant(d[0], 0)
    one = constant(d[0], 1)
    length = sqrt(dot3(d, d))
    inverse = one / where(length > zero, length, one)
    return length, (d[0] * inverse, where(length > zero, d[1] * inverse, one), d[2] * inverse)


@device
def length_and_way_vjp(d, adj_length, adj_way):
    """Cotangent of d: n adj_length + (adj_way - n (n.adj_way)) / |d|; zero for d = 0."""
    zero = constant(d[0], 0)
    one = constant(d[0], 1)
    length, n = length_and_way(d)
    inverse = where(length > zero, one, zero) / where(length > zero, length, one)
    return add3(mul3(n, adj_length), mul3(sub3(adj_way, mul3(n, dot3(n, adj_way))), inverse))


@device
def beyond(x, half):
    """How far x lies outside [-half, half], with sign; 0 inside."""
    return x - clamp(x, -half, half)


@device
def box_axis(p, half):
    """0, 1 or 2: the axis along which the inside point p is nearest to a face."""
    dx = absolute(p[0]) - half[0]
    dy = absolute(p[1]) - half[1]
    dz = absolute(p[2]) - half[2]
    if dy > dx:
        return 2 if dz > dy else 1
    return 2 if dz > dx else 0


@device
def shape_distance(b, p, shapes):
    """Distance of p from the surface of shape b, negative inside, and the unit normal there."""
    kind, dims = shapes[0][b], ld3(shapes[1], b)
    zero = constant(p[0], 0)
    one = constant(p[0], 1)
    if kind == SPHERE:
        length, n = length_and_way(p)
        return length - dims[0], n
    if kind == CAPSULE:
        length, n = length_and_way((p[0], beyond(p[1], dims[1]), p[2]))
        return length - dims[0], n
    if kind == BOX:
        d = (beyond(p[0], dims[0]), beyond(p[1], dims[1]), beyond(p[2], dims[2]))
        length, n = length_and_way(d)
        if length > zero:
            return length, n
        axis = box_axis(p, dims)
        if axis == 0:
            return absolute(p[0]) - dims[0], (where(p[0] < zero, -one, one), zero, zero)
        if axis == 1:
            return absolute(p[1]) - dims[1], (zero, where(p[1] < zero, -one, one), zero)
        return absolute(p[2]) - dims[2], (zero, zero, where(p[2] < zero, -one, one))
    value, g = grid_value(b, p, shapes)
    _, n = length_and_way(g)
    return value, n


@device
def shape_distance_adjoint(b, p, shapes, adj_distance, adj_normal):
    """Cotangent of p, in the same branch."""
    kind, dims = shapes[0][b], ld3(shapes[1], b)
    zero = constant(p[0], 0)
    if kind == SPHERE:
        return length_and_way_vjp(p, adj_distance, adj_normal)
    if kind == CAPSULE:
        y = beyond(p[1], dims[1])
        a = length_and_way_vjp((p[0], y, p[2]), adj_distance, adj_normal)
        return (a[0], where(y == zero, zero, a[1]), a[2])
    if kind == BOX:
        d = (beyond(p[0], dims[0]), beyond(p[1], dims[1]), beyond(p[2], dims[2]))
        if dot3(d, d) > zero:
            a = length_and_way_vjp(d, adj_distance, adj_normal)
            return (where(d[0] == zero, zero, a[0]), where(d[1] == zero, zero, a[1]), where(d[2] == zero, zero, a[2]))
        axis = box_axis(p, dims)
        a_x = where(p[0] < zero, -adj_distance, adj_distance)
        a_y = where(p[1] < zero, -adj_distance, adj_distance)
        a_z = where(p[2] < zero, -adj_distance, adj_distance)
        return (a_x if axis == 0 else zero, a_y if axis == 1 else zero, a_z if axis == 2 else zero)
    value, g = grid_value(b, p, shapes)
    a_g = length_and_way_vjp(g, zero, adj_normal)
    return add3(mul3(g, adj_distance), grid_hessian_times(b, p, shapes, a_g))


@device
def grid_node(b, p, shapes):
    """Place of p in the grid of shape b: nearest node per axis, offset from it in cells (-1/2..1/2), 1/cell."""
    origin = ld3(shapes[4], b)
    inverse = constant(p[0], 1) / shapes[5][b]
    half = constant(p[0], 0.5)
    s = mul3(sub3(p, origin), inverse)
    c = (floor(s[0] + half), floor(s[1] + half), floor(s[2] + half))
    return (int(c[0]), int(c[1]), int(c[2])), sub3(s, c), inverse


@device
def inside_grid(b, node, shapes):
    """Whether the 27 nodes around ``node`` exist."""
    size = shapes[3]
    return (
        node[0] >= 1 and node[1] >= 1 and node[2] >= 1
        and node[0] < size[b, 0] - 1 and node[1] < size[b, 1] - 1 and node[2] < size[b, 2] - 1
    )


@device
def may_touch(b, p, shapes, limit):
    """False when p is certainly farther than ``limit`` from shape b: outside the grid, or its node says so."""
    if shapes[0][b] != GRID:
        return True
    node, _, _ = grid_node(b, p, shapes)
    if not inside_grid(b, node, shapes):
        return False
    size = shapes[3]
    at = shapes[2][b] + (node[0] * size[b, 1] + node[1]) * size[b, 2] + node[2]
    # The spline is a mean over nodes at most a cell's diagonal (1.74 cells) away, and distances change no faster.
    return shapes[6][at] - constant(p[0], 1.8) * shapes[5][b] < limit


@device
def spline(t):
    """Weights of the three nodes around, their first and second derivatives, at offset t from the middle one."""
    half = constant(t, 0.5)
    one = constant(t, 1)
    a = half - t
    c = half + t
    return (half * a * a, constant(t, 0.75) - t * t, half * c * c), (-a, -(t + t), c), (one, -(one + one), one)


@device
def grid_value(b, p, shapes):
    """Value and gradient of the spline. The point must be inside the grid (may_touch)."""
    zero = constant(p[0], 0)
    node, t, inverse = grid_node(b, p, shapes)
    size, values = shapes[3], shapes[6]
    wx, dx, _ = spline(t[0])
    wy, dy, _ = spline(t[1])
    wz, dz, _ = spline(t[2])
    value = zero
    gx = zero
    gy = zero
    gz = zero
    for i in range(3):
        for j in range(3):
            at = shapes[2][b] + ((node[0] - 1 + i) * size[b, 1] + node[1] - 1 + j) * size[b, 2] + node[2] - 1
            v0, v1, v2 = values[at], values[at + 1], values[at + 2]
            line = wz[0] * v0 + wz[1] * v1 + wz[2] * v2
            slope = dz[0] * v0 + dz[1] * v1 + dz[2] * v2
            value += wx[i] * wy[j] * line
            gx += dx[i] * wy[j] * line
            gy += wx[i] * dy[j] * line
            gz += wx[i] * wy[j] * slope
    return value, (gx * inverse, gy * inverse, gz * inverse)


@device
def grid_hessian_times(b, p, shapes, a):
    """The spline's matrix of second derivatives times a."""
    zero = constant(p[0], 0)
    node, t, inverse = grid_node(b, p, shapes)
    size, values = shapes[3], shapes[6]
    wx, dx, ddx = spline(t[0])
    wy, dy, ddy = spline(t[1])
    wz, dz, ddz = spline(t[2])
    xx = zero
    yy = zero
    zz = zero
    xy = zero
    xz = zero
    yz = zero
    for i in range(3):
        for j in range(3):
            at = shapes[2][b] + ((node[0] - 1 + i) * size[b, 1] + node[1] - 1 + j) * size[b, 2] + node[2] - 1
            v0, v1, v2 = values[at], values[at + 1], values[at + 2]
            line = wz[0] * v0 + wz[1] * v1 + wz[2] * v2
            slope = dz[0] * v0 + dz[1] * v1 + dz[2] * v2
            bend = ddz[0] * v0 + ddz[1] * v1 + ddz[2] * v2
            xx += ddx[i] * wy[j] * line
            yy += wx[i] * ddy[j] * line
            zz += wx[i] * wy[j] * bend
            xy += dx[i] * dy[j] * line
            xz += dx[i] * wy[j] * slope
            yz += wx[i] * dy[j] * slope
    s = inverse * inverse
    return (
        s * (xx * a[0] + xy * a[1] + xz * a[2]),
        s * (xy * a[0] + yy * a[1] + yz * a[2]),
        s * (xz * a[0] + yz * a[1] + zz * a[2]),
    )
