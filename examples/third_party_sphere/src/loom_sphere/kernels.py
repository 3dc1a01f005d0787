"""The ball as device functions: signed distance and normal at a point in its frame, and the adjoint.

size: (nodes, 1), the radius [m] in row i. layout and table, a shape's constants, are not used.
"""

from diffloom_kernels import add3, constant, device, dot3, mul3, sqrt, sub3


@device
def away_from_centre(p):
    """|p| and p/|p|. A point in the very centre is pushed upwards."""
    zero = constant(p[0], 0)
    length = sqrt(dot3(p, p))
    if length > zero:
        return length, mul3(p, constant(p[0], 1) / length)
    return length, (zero, constant(p[0], 1), zero)


@device
def ball_distance(i, p, size, layout, table):
    """d = |p| - r, n = p / |p|."""
    length, n = away_from_centre(p)
    return length - size[i, 0], n


@device
def ball_distance_adjoint(i, p, size, layout, table, adj_d, adj_n, adj_size):
    """adj_p = n adj_d + (adj_n - n (n.adj_n)) / |p|, adj_r = -adj_d: the normal turns the faster the smaller |p| is."""
    length, n = away_from_centre(p)
    adj_size[i, 0] -= adj_d
    if length == constant(length, 0):
        return mul3(n, adj_d)
    turned = sub3(adj_n, mul3(n, dot3(n, adj_n)))
    return add3(mul3(n, adj_d), mul3(turned, constant(length, 1) / length))
