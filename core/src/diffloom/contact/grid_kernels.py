"""Values on a regular grid read through quadratic B-splines (27 nodes), so that value and gradient are continuous.

The nodes are the spline's coefficients, which reproduces planes exactly and rounds edges over one cell. ``size`` is the
number of nodes along each axis, ``start`` where the grid begins in ``values``.
"""

from diffloom.kernels import constant, device, floor, mul3, sub3


@device
def grid_node(p, origin, cell):
    """Place of p in a grid: nearest node per axis, offset from it in cells (-1/2..1/2), 1/cell."""
    inverse = constant(p[0], 1) / cell
    half = constant(p[0], 0.5)
    s = mul3(sub3(p, origin), inverse)
    c = (floor(s[0] + half), floor(s[1] + half), floor(s[2] + half))
    return (int(c[0]), int(c[1]), int(c[2])), sub3(s, c), inverse


@device
def inside_grid(node, size):
    """Whether the 27 nodes around ``node`` exist."""
    return (
        node[0] >= 1 and node[1] >= 1 and node[2] >= 1
        and node[0] < size[0] - 1 and node[1] < size[1] - 1 and node[2] < size[2] - 1
    )


@device
def spline(t):
    """Weights of the three nodes around, their first and second derivatives, at offset t from the middle one."""
    half = constant(t, 0.5)
    one = constant(t, 1)
    a = half - t
    c = half + t
    return (half * a * a, constant(t, 0.75) - t * t, half * c * c), (-a, -(t + t), c), (one, -(one + one), one)


@device
def grid_value(p, origin, cell, size, start, values):
    """Value and gradient of the spline. The point must be inside the grid (inside_grid)."""
    zero = constant(p[0], 0)
    node, t, inverse = grid_node(p, origin, cell)
    wx, dx, _ = spline(t[0])
    wy, dy, _ = spline(t[1])
    wz, dz, _ = spline(t[2])
    value = zero
    gx = zero
    gy = zero
    gz = zero
    for i in range(3):
        for j in range(3):
            at = start + ((node[0] - 1 + i) * size[1] + node[1] - 1 + j) * size[2] + node[2] - 1
            v0, v1, v2 = values[at], values[at + 1], values[at + 2]
            line = wz[0] * v0 + wz[1] * v1 + wz[2] * v2
            slope = dz[0] * v0 + dz[1] * v1 + dz[2] * v2
            value += wx[i] * wy[j] * line
            gx += dx[i] * wy[j] * line
            gy += wx[i] * dy[j] * line
            gz += wx[i] * wy[j] * slope
    return value, (gx * inverse, gy * inverse, gz * inverse)


@device
def grid_hessian_times(p, origin, cell, size, start, values, a):
    """The spline's matrix of second derivatives times a."""
    zero = constant(p[0], 0)
    node, t, inverse = grid_node(p, origin, cell)
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
            at = start + ((node[0] - 1 + i) * size[1] + node[1] - 1 + j) * size[2] + node[2] - 1
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
