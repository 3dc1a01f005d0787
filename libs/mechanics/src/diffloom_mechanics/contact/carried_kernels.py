"""A triangle that carries a place beside it along, as a rigid plate would, and the transpose.

A place beside the triangle (a, b, c) is a + s e1 + t e2 + g with the edges e1 = b - a and e2 = c - a, coordinates s and
t and a part g across. When the corners move by z0, z1, z2, with the dual edges d1, d2 (di.ej = 1 or 0) it moves by

    V(z) = z0 + s y1 + t y2 - d1 (g.y1) - d2 (g.y2),   y1 = z1 - z0, y2 = z2 - z0,

which is exact for translations and rotations: the normal turns by -d1 (n.y1) - d2 (n.y2). A force f at the place is
handed to the corners by the transpose of V, so force and torque arrive whole, and rigid motion makes nothing slide.

Along the contact's normal n the nearest point counts instead, with its weights w: a push follows from an energy then.

    W(z) = V(z) + n n.(sum w z - V(z))

A triangle whose height is below SLIM of its longest edge turns too easily to be held on to: there W(z) = sum w z.
"""

from diffloom_kernels import add3, constant, device, dot3, fma3, maximum, mul3, sub3

#: Height over longest edge of the slimmest triangle that carries a place along, squared.
SLIM = 0.01


@device
def blend(w, a, b, c):
    """w[0] a + w[1] b + w[2] c."""
    return add3(mul3(a, w[0]), add3(mul3(b, w[1]), mul3(c, w[2])))


@device
def carrier(place, a, b, c):
    """d1, d2, s, t, g, and whether the triangle carries the place."""
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
def plate(carried_by, z0, z1, z2):
    """V(z), and the differences y1 and y2."""
    d1, d2, s, t, g, _ = carried_by
    y1 = sub3(z1, z0)
    y2 = sub3(z2, z0)
    v = fma3(y2, t, fma3(y1, s, z0))
    return sub3(v, add3(mul3(d1, dot3(g, y1)), mul3(d2, dot3(g, y2)))), y1, y2


@device
def carried(carried_by, w, n, z0, z1, z2):
    """W(z)."""
    nearest = blend(w, z0, z1, z2)
    if not carried_by[5]:
        return nearest
    v, _, _ = plate(carried_by, z0, z1, z2)
    return fma3(n, dot3(n, sub3(nearest, v)), v)


@device
def handed_on(carried_by, w, n, f):
    """What each corner takes of the force f at the place: the transpose of W."""
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
def carried_adjoint(carried_by, w, n, z0, z1, z2, adj):
    """Cotangents of w, of n, and of (d1, d2, s, t, g) for the cotangent ``adj`` of W(z).

    With h = sum w z - V(z), b = adj.n and the tangential part m = adj - b n: adj_w = b n.z, adj_n = adj n.h + b h,
    adj_s = m.y1, adj_t = m.y2, adj_di = -m g.yi, adj_g = -(m.d1) y1 - (m.d2) y2.
    """
    d1, d2, _, _, g, wide = carried_by
    zero = constant(adj[0], 0)
    none = (zero, zero, zero)
    if not wide:
        return (dot3(adj, z0), dot3(adj, z1), dot3(adj, z2)), none, (none, none, zero, zero, none)
    v, y1, y2 = plate(carried_by, z0, z1, z2)
    h = sub3(blend(w, z0, z1, z2), v)
    b = dot3(adj, n)
    m = sub3(adj, mul3(n, b))
    adj_w = (b * dot3(n, z0), b * dot3(n, z1), b * dot3(n, z2))
    adj_n = fma3(h, b, mul3(adj, dot3(n, h)))
    adj_g = sub3(mul3(y1, -dot3(m, d1)), mul3(y2, dot3(m, d2)))
    return adj_w, adj_n, (mul3(m, -dot3(g, y1)), mul3(m, -dot3(g, y2)), dot3(m, y1), dot3(m, y2), adj_g)


@device
def carrier_adjoint(place, a, b, c, carried_by, adj):
    """Cotangents of the place and of the three corners for those of (d1, d2, s, t, g).

    The dual edges D = E (E^T E)^-1 take adj_E = N adj_D D^T D - D adj_D^T D, where N projects onto the normal.
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
