"""Signed distance and outward normal of simple shapes at a point in their own frame, and the adjoints.

A distance is negative inside. Each adjoint takes the cotangents of the distance and of the normal, so that the
curvature of a surface is in the derivative of a contact force, and returns those of the point and of the sizes.
"""

from diffloom_kernels import absolute, add3, clamp, constant, device, dot3, mul3, sqrt, sub3, where


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
    """How far x lies outside [-half, half], with sign; 0 inside."""
    return x - clamp(x, -half, half)


@device
def against(x, a):
    """-a times the sign of x, 0 for x = 0: what a shift of the side that x lies beyond adds up to."""
    zero = constant(x, 0)
    return where(x > zero, -a, where(x < zero, a, zero))


@device
def capsule_shape(p, radius, half):
    """Distance from the segment of length 2 half along y, less the radius."""
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
