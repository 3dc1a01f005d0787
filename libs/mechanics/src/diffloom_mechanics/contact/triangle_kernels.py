"""Contact of a ball, or a point, with a triangle with friction, and the transpose.

The gap leads from the nearest point of the triangle, sum w x, to the centre p of the ball of radius rho, along n = gap
/ |gap|. Both touch where the depth rho + thickness - |gap| is positive, at the place p - rho n. The force f of the
contact law acts there on the ball, and on the triangle's corners as ``distribute_force`` gives it. So no force and no
torque is lost, and bodies that move as one do not slide.

``meeting`` is (True if they touch, w, feature, gap, |gap|, n, place, plate coordinates of the place).

A triangle carries a place beside it along, as a rigid plate would. A place beside the triangle (a, b, c) is a + s e1 +
t e2 + g with the edges e1 = b - a and e2 = c - a, coordinates s and t and a part g across. When the corners move by z0,
z1, z2, with the dual edges d1, d2 (di.ej = 1 or 0) it moves by

    V(z) = z0 + s y1 + t y2 - d1 (g.y1) - d2 (g.y2),   y1 = z1 - z0, y2 = z2 - z0,

which is exact for translations and rotations: the normal turns by -d1 (n.y1) - d2 (n.y2). A force f at the place is
distributed to the corners by the transpose of V, which preserves force and torque, and rigid motion makes nothing
slide.

Along the contact's normal n the nearest point counts instead, with its weights w, because a push then follows from an
energy.

    W(z) = V(z) + n n.(sum w z - V(z))

A triangle whose height is below SLIM of its longest edge turns too easily to carry a place: there W(z) = sum w z.
"""

import functools

from diffloom_kernels import add3, constant, device, dot3, fma3, maximum, minimum, mul3, sqrt, sub3
from diffloom_mechanics.contact.point_kernels import point_contact

FACE, AB, BC, CA, CORNER = 0, 1, 2, 3, 4


@device
def along_edge(p, a, b):
    """Return the position in [0, 1] of the point of edge ab nearest to p, its squared distance, and True if it is
    inside.
    """
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
    """Return the weights of a, b, c and the feature that holds the nearest point: the face, an edge, or a corner."""
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
    """Return L and the multiplier of an edge: with e = b - a, adj_tau / |e|^2 times e, and adj_tau / |e|^2."""
    e = sub3(b, a)
    multiplier = adj_tau / dot3(e, e)
    return mul3(e, multiplier), multiplier


@device
def closest_point_adjoint(a, b, c, feature, adj_w):
    """Return L and multipliers m such that, with gap = p - sum w x, adj_p = L and adj_x = m gap - w L for each corner
    x.

    On the face the weights solve G (s, t) = (e1.r, e2.r); with G l = (adj_s, adj_t), L = l1 e1 + l2 e2 and the
    multipliers are (-l1 - l2, l1, l2). An edge is the one-dimensional case; a corner holds its weights fixed.
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


#: Height over longest edge of the slimmest triangle that carries a place along, squared.
SLIM = 0.01


@device
def blend(w, a, b, c):
    """w[0] a + w[1] b + w[2] c."""
    return add3(mul3(a, w[0]), add3(mul3(b, w[1]), mul3(c, w[2])))


@device
def plate_coordinates(place, a, b, c):
    """Return d1, d2, s, t, g of a place, and True if the triangle carries it."""
    zero = constant(place[0], 0)
    one = constant(place[0], 1)
    e1 = sub3(b, a)
    e2 = sub3(c, a)
    e3 = sub3(c, b)
    r = sub3(place, a)
    g11 = dot3(e1, e1)
    g12 = dot3(e1, e2)
    g22 = dot3(e2, e2)
    det = g11 * g22 - g12 * g12
    longest = maximum(g11, maximum(g22, dot3(e3, e3)))
    wide = det > constant(place[0], SLIM) * longest * longest
    inverse = one / (det if wide else one)
    inverse = inverse if wide else zero
    d1 = mul3(sub3(mul3(e1, g22), mul3(e2, g12)), inverse)
    d2 = mul3(sub3(mul3(e2, g11), mul3(e1, g12)), inverse)
    s = dot3(d1, r)
    t = dot3(d2, r)
    return d1, d2, s, t, sub3(r, add3(mul3(e1, s), mul3(e2, t))), wide


@device
def carry_rigidly(carried_by, z0, z1, z2):
    """Return V(z), and the differences y1 and y2."""
    d1, d2, s, t, g, _ = carried_by
    y1 = sub3(z1, z0)
    y2 = sub3(z2, z0)
    v = fma3(y2, t, fma3(y1, s, z0))
    return sub3(v, add3(mul3(d1, dot3(g, y1)), mul3(d2, dot3(g, y2)))), y1, y2


@device
def carry(carried_by, w, n, z0, z1, z2):
    """Return W(z)."""
    nearest = blend(w, z0, z1, z2)
    if not carried_by[5]:
        return nearest
    v, _, _ = carry_rigidly(carried_by, z0, z1, z2)
    return fma3(n, dot3(n, sub3(nearest, v)), v)


@device
def distribute_force(carried_by, w, n, f):
    """Return the force on each corner for the force f at the place: the transpose of W."""
    d1, d2, s, t, g, wide = carried_by
    if not wide:
        return mul3(f, w[0]), mul3(f, w[1]), mul3(f, w[2])
    along = dot3(n, f)
    push = mul3(n, along)
    slide = sub3(f, push)
    p1 = dot3(d1, slide)
    p2 = dot3(d2, slide)
    rest = constant(s, 1) - s - t
    return (
        fma3(g, p1 + p2, fma3(slide, rest, mul3(push, w[0]))),
        fma3(g, -p1, fma3(slide, s, mul3(push, w[1]))),
        fma3(g, -p2, fma3(slide, t, mul3(push, w[2]))),
    )


@device
def carry_adjoint(carried_by, w, n, z0, z1, z2, adj):
    """Return the cotangents of w, of n, and of (d1, d2, s, t, g) for the cotangent ``adj`` of W(z).

    With h = sum w z - V(z), b = adj.n and the tangential part m = adj - b n: adj_w = b n.z, adj_n = adj n.h + b h,
    adj_s = m.y1, adj_t = m.y2, adj_di = -m g.yi, adj_g = -(m.d1) y1 - (m.d2) y2.
    """
    d1, d2, _, _, g, wide = carried_by
    zero = constant(adj[0], 0)
    none = (zero, zero, zero)
    if not wide:
        return (dot3(adj, z0), dot3(adj, z1), dot3(adj, z2)), none, (none, none, zero, zero, none)
    v, y1, y2 = carry_rigidly(carried_by, z0, z1, z2)
    h = sub3(blend(w, z0, z1, z2), v)
    b = dot3(adj, n)
    m = sub3(adj, mul3(n, b))
    adj_w = (b * dot3(n, z0), b * dot3(n, z1), b * dot3(n, z2))
    adj_n = fma3(h, b, mul3(adj, dot3(n, h)))
    adj_g = sub3(mul3(y1, -dot3(m, d1)), mul3(y2, dot3(m, d2)))
    return adj_w, adj_n, (mul3(m, -dot3(g, y1)), mul3(m, -dot3(g, y2)), dot3(m, y1), dot3(m, y2), adj_g)


@device
def plate_coordinates_adjoint(place, a, b, c, carried_by, adj):
    """Return the cotangents of the place and of the three corners for those of (d1, d2, s, t, g).

    The dual edges D = E (E^T E)^-1 give adj_E = N adj_D D^T D - D adj_D^T D, where N projects onto the normal.
    """
    d1, d2, s, t, _, wide = carried_by
    adj_d1, adj_d2, adj_s, adj_t, adj_g = adj
    zero = constant(s, 0)
    none = (zero, zero, zero)
    if not wide:
        return none, none, none, none
    e1 = sub3(b, a)
    e2 = sub3(c, a)
    r = sub3(place, a)
    adj_s = adj_s - dot3(e1, adj_g)
    adj_t = adj_t - dot3(e2, adj_g)
    adj_d1 = fma3(r, adj_s, adj_d1)
    adj_d2 = fma3(r, adj_t, adj_d2)
    adj_r = add3(adj_g, add3(mul3(d1, adj_s), mul3(d2, adj_t)))
    i12 = dot3(d1, d2)
    k1 = add3(mul3(adj_d1, dot3(d1, d1)), mul3(adj_d2, i12))
    k2 = add3(mul3(adj_d1, i12), mul3(adj_d2, dot3(d2, d2)))
    k1 = sub3(k1, add3(mul3(e1, dot3(d1, k1)), mul3(e2, dot3(d2, k1))))
    k2 = sub3(k2, add3(mul3(e1, dot3(d1, k2)), mul3(e2, dot3(d2, k2))))
    adj_e1 = sub3(k1, add3(mul3(d1, dot3(adj_d1, d1)), mul3(d2, dot3(adj_d2, d1))))
    adj_e2 = sub3(k2, add3(mul3(d1, dot3(adj_d1, d2)), mul3(d2, dot3(adj_d2, d2))))
    adj_e1 = sub3(adj_e1, mul3(adj_g, s))
    adj_e2 = sub3(adj_e2, mul3(adj_g, t))
    return adj_r, sub3(sub3(none, adj_r), add3(adj_e1, adj_e2)), adj_e1, adj_e2


@device
def find_contact(p, rho, thickness, a, b, c):
    """Return the contact of a ball with the triangle (a, b, c): a ``meeting``."""
    w, feature = closest_point(p, a, b, c)
    gap = sub3(p, blend(w, a, b, c))
    distance = sqrt(dot3(gap, gap))
    zero = constant(distance, 0)
    one = constant(distance, 1)
    touches = distance < rho + thickness and distance > zero
    n = mul3(gap, one / (distance if distance > zero else one))
    place = sub3(p, mul3(n, rho))
    return touches, w, feature, gap, distance, n, place, plate_coordinates(place, a, b, c)


@functools.cache
def triangle_contact(normal_law, friction_law):
    """Return force and adjoint under a NormalFunctions and a FrictionFunctions (see
    ``diffloom_mechanics.contact.law``).

    u: velocity of the ball at the place; v0, v1, v2: velocities of the corners.
    """
    force_at, adjoint_at, _, _, _, _ = point_contact(normal_law, friction_law)

    @device
    def force(clock, meeting, rho, thickness, u, v0, v1, v2, kn, kt):
        """Return the force on a touching ball, and the parts of it that are to be subtracted from the forces on the
        corners.
        """
        _, w, _, _, distance, n, _, carried_by = meeting
        slip = sub3(u, carry(carried_by, w, n, v0, v1, v2))
        f = force_at(clock, distance - (rho + thickness), slip, n, kn, kt)
        return f, distribute_force(carried_by, w, n, f)

    @device
    def force_adjoint(clock, meeting, rho, thickness, u, v0, v1, v2, kn, kt, z, z0, z1, z2):
        """Transpose of force for the cotangents z of the force at the place and z0, z1, z2 of those on the corners.

        Returns the force, the cotangents of u and of the gap's length, those of n, w and the plate coordinates, and of
        kn and kt.
        """
        _, w, _, _, distance, n, _, carried_by = meeting
        slip = sub3(u, carry(carried_by, w, n, v0, v1, v2))
        depth = distance - (rho + thickness)
        f = force_at(clock, depth, slip, n, kn, kt)
        across = sub3(z, carry(carried_by, w, n, z0, z1, z2))
        adj_c, adj_u, adj_n, adj_kn, adj_kt = adjoint_at(clock, depth, slip, n, kn, kt, across)
        zero = constant(distance, 0)
        none = (zero, zero, zero)
        w_a, n_a, by_a = carry_adjoint(carried_by, w, n, v0, v1, v2, sub3(none, adj_u))
        w_b, n_b, by_b = carry_adjoint(carried_by, w, n, z0, z1, z2, sub3(none, f))
        by = (
            add3(by_a[0], by_b[0]), add3(by_a[1], by_b[1]), by_a[2] + by_b[2], by_a[3] + by_b[3],
            add3(by_a[4], by_b[4]),
        )  # fmt: skip
        return f, adj_u, adj_c, (add3(adj_n, add3(n_a, n_b)), add3(w_a, w_b), by), adj_kn, adj_kt

    return force, force_adjoint


@device
def find_contact_adjoint(p, rho, a, b, c, meeting, adj_c, adj, adj_place):
    """Return the cotangents of p and of the corners for those that force_adjoint returns, and for that of the place."""
    _, w, feature, gap, distance, n, place, carried_by = meeting
    adj_n, adj_w, by = adj
    of_place, x0, x1, x2 = plate_coordinates_adjoint(place, a, b, c, carried_by, by)
    adj_place = add3(adj_place, of_place)
    adj_n = sub3(adj_n, mul3(adj_place, rho))
    across = sub3(adj_n, mul3(n, dot3(n, adj_n)))
    adj_gap = add3(mul3(n, adj_c), mul3(across, constant(distance, 1) / distance))
    # Only differences between the weights' cotangents count, so corners may be taken relative to p.
    adj_w = (
        adj_w[0] - dot3(sub3(a, p), adj_gap),
        adj_w[1] - dot3(sub3(b, p), adj_gap),
        adj_w[2] - dot3(sub3(c, p), adj_gap),
    )
    L, m = closest_point_adjoint(a, b, c, feature, adj_w)
    A = add3(adj_gap, L)
    x0 = add3(x0, sub3(mul3(gap, m[0]), mul3(A, w[0])))
    x1 = add3(x1, sub3(mul3(gap, m[1]), mul3(A, w[1])))
    x2 = add3(x2, sub3(mul3(gap, m[2]), mul3(A, w[2])))
    return add3(A, adj_place), (x0, x1, x2)
