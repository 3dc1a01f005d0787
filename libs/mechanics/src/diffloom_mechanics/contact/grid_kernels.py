"""Values on a regular grid read through quadratic B-splines (27 nodes), so that value and gradient are continuous.

The nodes are the spline's coefficients, which reproduces planes exactly and rounds edges over one cell. ``size`` is the
number of nodes along each axis, ``start`` where the grid begins in ``values``. Sums over the nodes are written out axis
by axis: fewer products than 27 weights would take, and no tuple is read at a place that only a running program knows.
"""

from diffloom_kernels import constant, device, dot3, floor, mul3, sub3


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
def row_sums(at, z, values):
    """Value, first and second derivative along z over the three nodes from ``at`` on. z: what ``spline`` gave."""
    v = values[at], values[at + 1], values[at + 2]
    return dot3(z[0], v), dot3(z[1], v), dot3(z[2], v)


@device
def sheet_sums(at, stride, y, z, values):
    """Value and derivatives along y, z, yy, yz and zz over three rows from ``at`` on, ``stride`` nodes apart."""
    a, a_z, a_zz = row_sums(at, z, values)
    b, b_z, b_zz = row_sums(at + stride, z, values)
    c, c_z, c_zz = row_sums(at + stride + stride, z, values)
    row, row_z = (a, b, c), (a_z, b_z, c_z)
    return (
        dot3(y[0], row), dot3(y[1], row), dot3(y[0], row_z),
        dot3(y[2], row), dot3(y[1], row_z), dot3(y[0], (a_zz, b_zz, c_zz)),
    )


@device
def three_sheets(node, t, size, start, values):
    """``sheet_sums`` of the three sheets around ``node``, at offset t from it."""
    y, z = spline(t[1]), spline(t[2])
    at = start + ((node[0] - 1) * size[1] + node[1] - 1) * size[2] + node[2] - 1
    step = size[1] * size[2]
    return (
        sheet_sums(at, size[2], y, z, values),
        sheet_sums(at + step, size[2], y, z, values),
        sheet_sums(at + step + step, size[2], y, z, values),
    )


@device
def grid_value(p, origin, cell, size, start, values):
    """Value and gradient of the spline. The point must be inside the grid (inside_grid)."""
    node, t, inverse = grid_node(p, origin, cell)
    w, d, _ = spline(t[0])
    a, b, c = three_sheets(node, t, size, start, values)
    sheet = a[0], b[0], c[0]
    gradient = dot3(d, sheet), dot3(w, (a[1], b[1], c[1])), dot3(w, (a[2], b[2], c[2]))
    return dot3(w, sheet), mul3(gradient, inverse)


@device
def grid_hessian_times(p, origin, cell, size, start, values, v):
    """The spline's matrix of second derivatives times v."""
    node, t, inverse = grid_node(p, origin, cell)
    w, d, dd = spline(t[0])
    a, b, c = three_sheets(node, t, size, start, values)
    xx, xy, xz = dot3(dd, (a[0], b[0], c[0])), dot3(d, (a[1], b[1], c[1])), dot3(d, (a[2], b[2], c[2]))
    yy, yz, zz = dot3(w, (a[3], b[3], c[3])), dot3(w, (a[4], b[4], c[4])), dot3(w, (a[5], b[5], c[5]))
    return mul3((dot3((xx, xy, xz), v), dot3((xy, yy, yz), v), dot3((xz, yz, zz), v)), inverse * inverse)
