"""The point of a triangle nearest to p, as weights of the corners, and the transpose."""

from diffloom_kernels import add3, constant, device, dot3, maximum, minimum, mul3, sub3

FACE, AB, BC, CA, CORNER = 0, 1, 2, 3, 4


@device
def along_edge(p, a, b):
    """Position in [0, 1] of the point of edge ab nearest to p, its squared distance, and whether it is inside."""
    zero = constant(p[0], 0)
    one = constant(p[0], 1)
    e = sub3(b, a)
    r = sub3(p, a)
    ee = dot3(e, e)
    tau = dot3(r, e) / (ee if ee > zero else one)
    inside = tau > zero and tau < one
    tau = minimum(maximum(tau, zero), one)
    gap = sub3(r, mul3(e, tau))
    return tau, dot3(gap, gap), inside


@device
def closest_point(p, a, b, c):
    """Weights of a, b, c and the feature that holds the nearest point: the face, an edge, or a corner."""
    zero = constant(p[0], 0)
    one = constant(p[0], 1)
    e1 = sub3(b, a)
    e2 = sub3(c, a)
    r = sub3(p, a)
    g11 = dot3(e1, e1)
    g12 = dot3(e1, e2)
    g22 = dot3(e2, e2)
    h1 = dot3(e1, r)
    h2 = dot3(e2, r)
    det = g11 * g22 - g12 * g12
    if det > zero:
        s = (g22 * h1 - g12 * h2) / det
        t = (g11 * h2 - g12 * h1) / det
        if s > zero and t > zero and s + t < one:
            return (one - s - t, s, t), FACE
    tau, nearest, inside = along_edge(p, a, b)
    weights = (one - tau, tau, zero)
    feature = AB if inside else CORNER
    tau, distance, inside = along_edge(p, b, c)
    if distance < nearest:
        nearest = distance
        weights = (zero, one - tau, tau)
        feature = BC if inside else CORNER
    tau, distance, inside = along_edge(p, c, a)
    if distance < nearest:
        weights = (tau, zero, one - tau)
        feature = CA if inside else CORNER
    return weights, feature


@device
def edge_adjoint(a, b, adj_tau):
    """L and the multiplier of an edge: with e = b - a, adj_tau / |e|^2 and that times e."""
    e = sub3(b, a)
    multiplier = adj_tau / dot3(e, e)
    return mul3(e, multiplier), multiplier


@device
def closest_point_adjoint(a, b, c, feature, adj_w):
    """L and multipliers m such that, with gap = p - sum w x: adj_p = L and adj_x = m gap - w L for each corner x.

    On the face the weights solve G (s, t) = (e1.r, e2.r); with G l = (adj_s, adj_t), L = l1 e1 + l2 e2 and the
    multipliers are (-l1 - l2, l1, l2). An edge is the same in one dimension; a corner holds its weights fixed.
    """
    zero = constant(a[0], 0)
    L = (zero, zero, zero)
    m = (zero, zero, zero)
    if feature == FACE:
        e1 = sub3(b, a)
        e2 = sub3(c, a)
        g11 = dot3(e1, e1)
        g12 = dot3(e1, e2)
        g22 = dot3(e2, e2)
        det = g11 * g22 - g12 * g12
        adj_s = adj_w[1] - adj_w[0]
        adj_t = adj_w[2] - adj_w[0]
        l1 = (g22 * adj_s - g12 * adj_t) / det
        l2 = (g11 * adj_t - g12 * adj_s) / det
        L = add3(mul3(e1, l1), mul3(e2, l2))
        m = (-l1 - l2, l1, l2)
    elif feature == AB:
        L, l = edge_adjoint(a, b, adj_w[1] - adj_w[0])
        m = (-l, l, zero)
    elif feature == BC:
        L, l = edge_adjoint(b, c, adj_w[2] - adj_w[1])
        m = (zero, -l, l)
    elif feature == CA:
        L, l = edge_adjoint(c, a, adj_w[0] - adj_w[2])
        m = (l, zero, -l)
    return L, m
