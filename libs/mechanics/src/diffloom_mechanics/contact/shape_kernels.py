"""Signed distance and outward normal of shapes at a point in their own frame, and the adjoints.

A distance is negative inside. Each adjoint takes the cotangents of the distance and of the normal, so that the
curvature of a surface is in the derivative of a contact force, and returns those of the point and of the sizes.

Meshes are values on a regular grid, read through quadratic B-splines (27 nodes), so that value and gradient are
continuous. The nodes are the spline's coefficients, which reproduces planes exactly and rounds edges over one cell.
``size`` is the number of nodes along each axis, ``start`` the index of the grid's first value in ``values``. Sums over
the nodes are written out axis by axis, which takes fewer products than 27 weights, and indexes no tuple by a run-time
value.

``shapes`` of bodies is the tuple (kind, dims, grid_start, grid_size, grid_origin, grid_cell, grid_values).
"""

from diffloom_kernels import absolute, add3, clamp, constant, device, dot3, floor, ld3, mul3, sqrt, sub3, where


@device
def length_and_direction(d):
    """|d| and d/|d|; upwards for d = 0."""
    zero = constant(d[0], 0)
    one = constant(d[0], 1)
    length = sqrt(dot3(d, d))
    inverse = one / where(length > zero, length, one)
    return length, (d[0] * inverse, where(length > zero, d[1] * inverse, one), d[2] * inverse)


@device
def length_and_direction_adjoint(d, adj_length, adj_direction):
    """Cotangent of d: n adj_length + (adj_direction - n (n.adj_direction)) / |d|; zero for d = 0."""
    zero = constant(d[0], 0)
    one = constant(d[0], 1)
    length, n = length_and_direction(d)
    inverse = where(length > zero, one, zero) / where(length > zero, length, one)
    return add3(mul3(n, adj_length), mul3(sub3(adj_direction, mul3(n, dot3(n, adj_direction))), inverse))


@device
def sphere_shape(p, radius):
    """|p| - radius."""
    length, n = length_and_direction(p)
    return length - radius, n


@device
def sphere_shape_adjoint(p, radius, adj_distance, adj_normal):
    """Cotangents of p and radius."""
    return length_and_direction_adjoint(p, adj_distance, adj_normal), -adj_distance


@device
def plane_shape(p, normal):
    """normal.p, with a normal of length 1."""
    return dot3(normal, p), normal


@device
def plane_shape_adjoint(p, normal, adj_distance, adj_normal):
    """Cotangents of p and normal."""
    return mul3(normal, adj_distance), add3(mul3(p, adj_distance), adj_normal)


@device
def beyond(x, half):
    """Signed distance of x outside [-half, half]; 0 inside."""
    return x - clamp(x, -half, half)


@device
def against(x, a):
    """-a times the sign of x, 0 for x = 0: the cotangent of the side that x lies beyond."""
    zero = constant(x, 0)
    return where(x > zero, -a, where(x < zero, a, zero))


@device
def capsule_shape(p, radius, half):
    """Distance from the segment of length 2 half along y, minus the radius."""
    length, n = length_and_direction((p[0], beyond(p[1], half), p[2]))
    return length - radius, n


@device
def capsule_shape_adjoint(p, radius, half, adj_distance, adj_normal):
    """Cotangents of p, radius and half."""
    y = beyond(p[1], half)
    a = length_and_direction_adjoint((p[0], y, p[2]), adj_distance, adj_normal)
    return (a[0], where(y == constant(y, 0), y, a[1]), a[2]), -adj_distance, against(y, a[1])


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
def box_shape(p, half):
    """Distance from the box [-half, half]; inside it, from the nearest face."""
    zero = constant(p[0], 0)
    one = constant(p[0], 1)
    d = (beyond(p[0], half[0]), beyond(p[1], half[1]), beyond(p[2], half[2]))
    length, n = length_and_direction(d)
    if length > zero:
        return length, n
    axis = box_axis(p, half)
    if axis == 0:
        return absolute(p[0]) - half[0], (where(p[0] < zero, -one, one), zero, zero)
    if axis == 1:
        return absolute(p[1]) - half[1], (zero, where(p[1] < zero, -one, one), zero)
    return absolute(p[2]) - half[2], (zero, zero, where(p[2] < zero, -one, one))


@device
def box_shape_adjoint(p, half, adj_distance, adj_normal):
    """Cotangents of p and half, in the same branch."""
    zero = constant(p[0], 0)
    d = (beyond(p[0], half[0]), beyond(p[1], half[1]), beyond(p[2], half[2]))
    if dot3(d, d) > zero:
        a = length_and_direction_adjoint(d, adj_distance, adj_normal)
        adj_p = (where(d[0] == zero, zero, a[0]), where(d[1] == zero, zero, a[1]), where(d[2] == zero, zero, a[2]))
        return adj_p, (against(d[0], a[0]), against(d[1], a[1]), against(d[2], a[2]))
    axis = box_axis(p, half)
    a_x = adj_distance if axis == 0 else zero
    a_y = adj_distance if axis == 1 else zero
    a_z = adj_distance if axis == 2 else zero
    adj_p = (where(p[0] < zero, -a_x, a_x), where(p[1] < zero, -a_y, a_y), where(p[2] < zero, -a_z, a_z))
    return adj_p, (-a_x, -a_y, -a_z)


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
    """Return True if the 27 nodes around ``node`` exist."""
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
    """Value, first and second derivative along z over the three nodes from ``at`` on. z: result of ``spline``."""
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


SPHERE = 0
BOX = 1
CAPSULE = 2
GRID = 3


@device
def shape_distance(b, p, shapes):
    """Distance of p from the surface of shape b, negative inside, and the unit normal there."""
    kind, dims = shapes[0][b], ld3(shapes[1], b)
    if kind == SPHERE:
        return sphere_shape(p, dims[0])
    if kind == CAPSULE:
        return capsule_shape(p, dims[0], dims[1])
    if kind == BOX:
        return box_shape(p, dims)
    value, g = grid_value(p, ld3(shapes[4], b), shapes[5][b], grid_size(b, shapes), shapes[2][b], shapes[6])
    _, n = length_and_direction(g)
    return value, n


@device
def shape_distance_adjoint(b, p, shapes, adj_distance, adj_normal):
    """Cotangent of p, in the same branch."""
    kind, dims = shapes[0][b], ld3(shapes[1], b)
    if kind == SPHERE:
        return sphere_shape_adjoint(p, dims[0], adj_distance, adj_normal)[0]
    if kind == CAPSULE:
        return capsule_shape_adjoint(p, dims[0], dims[1], adj_distance, adj_normal)[0]
    if kind == BOX:
        return box_shape_adjoint(p, dims, adj_distance, adj_normal)[0]
    origin, cell, size, start = ld3(shapes[4], b), shapes[5][b], grid_size(b, shapes), shapes[2][b]
    value, g = grid_value(p, origin, cell, size, start, shapes[6])
    a_g = length_and_direction_adjoint(g, constant(p[0], 0), adj_normal)
    return add3(mul3(g, adj_distance), grid_hessian_times(p, origin, cell, size, start, shapes[6], a_g))


@device
def grid_size(b, shapes):
    """Nodes of the grid of shape b along each axis."""
    return (shapes[3][b, 0], shapes[3][b, 1], shapes[3][b, 2])


@device
def may_touch(b, p, shapes, limit):
    """Return False when p is certainly farther than ``limit`` from shape b: outside the grid, or by its nearest
    node.
    """
    if shapes[0][b] != GRID:
        return True
    size = grid_size(b, shapes)
    node, _, _ = grid_node(p, ld3(shapes[4], b), shapes[5][b])
    if not inside_grid(node, size):
        return False
    at = shapes[2][b] + (node[0] * size[1] + node[1]) * size[2] + node[2]
    # The spline is a mean over nodes at most a cell's diagonal (1.74 cells) away, and distances change no faster.
    return shapes[6][at] - constant(p[0], 1.8) * shapes[5][b] < limit
