"""Bending across one interior edge.

Corners: x0, x1 on the edge, x2 opposite it in one face, x3 in the other. With e, a, b the vectors from x0 to the
others, n1 = e x a and n2 = b x e are the two normals, and the dihedral angle is phi = atan2(-|e| n1.b, n1.n2): zero
when flat, positive when x2 and x3 lie behind the front. Its derivatives are h1 = |e| n1/|n1|^2 and h2 = |e| n2/|n2|^2,

    dphi/dx2 = -h1,  dphi/dx3 = -h2,  dphi/dx1 = p h1 + q h2,  dphi/dx0 = (1 - p) h1 + (1 - q) h2,

with p = a.e/|e|^2 and q = b.e/|e|^2: finite at every angle, flat ones included. The force on corner i is
-(k (phi - phi0 + activation) + c dphi/dt) dphi/dxi, which comes from the energy k/2 (phi - phi0 + activation)^2.
"""

from diffloom.kernels import add3, constant, cross3, device, dot3, ld3, mul3, neg3, sqrt, st43, sub3, where
from diffloom_physics_cloth.kernels.angle import angle


@device
def hinge(e, a, b):
    """phi, h1, h2, p, q and the guarded inverses of |n1|^2, |n2|^2, |e|^2, and |e|."""
    one = constant(e[0], 1)
    zero = constant(e[0], 0)
    n1 = cross3(e, a)
    n2 = cross3(b, e)
    ee = dot3(e, e)
    N1 = dot3(n1, n1)
    N2 = dot3(n2, n2)
    length = sqrt(ee)
    i1 = one / where(N1 > zero, N1, one)
    i2 = one / where(N2 > zero, N2, one)
    ie = one / where(ee > zero, ee, one)
    phi = angle(-(length * dot3(n1, b)), dot3(n1, n2))
    return phi, mul3(n1, length * i1), mul3(n2, length * i2), dot3(a, e) * ie, dot3(b, e) * ie, i1, i2, ie, length


@device
def hinge_rate(h1, h2, p, q, w1, w2, w3):
    """Sum over corners of dphi/dxi . wi, for w1, w2, w3 relative to that of corner 0."""
    return dot3(h1, sub3(mul3(w1, p), w2)) + dot3(h2, sub3(mul3(w1, q), w3))


@device
def hinge_force(k, clock, x, u, nodes, stiffness, damping, rest_angle, activation, out):
    """Bending forces of hinge k on its four corners."""
    i0 = nodes[k, 0]
    i1 = nodes[k, 1]
    i2 = nodes[k, 2]
    i3 = nodes[k, 3]
    row = clock[0] if activation.shape[0] > 1 else 0
    x0 = ld3(x, i0)
    u0 = ld3(u, i0)
    phi, h1, h2, p, q, _, _, _, _ = hinge(sub3(ld3(x, i1), x0), sub3(ld3(x, i2), x0), sub3(ld3(x, i3), x0))
    rate = hinge_rate(h1, h2, p, q, sub3(ld3(u, i1), u0), sub3(ld3(u, i2), u0), sub3(ld3(u, i3), u0))
    moment = stiffness[k] * (phi - rest_angle[k] + activation[row, k]) + damping[k] * rate
    f2 = mul3(h1, moment)
    f3 = mul3(h2, moment)
    f1 = neg3(add3(mul3(f2, p), mul3(f3, q)))
    st43(out, k, neg3(add3(f1, add3(f2, f3))), f1, f2, f3)


@device
def hinge_force_adjoint(
    k, clock, x, u, nodes, stiffness, damping, rest_angle, activation,
    adj_f, adj_x, adj_u, adj_stiffness, adj_damping, adj_rest_angle, adj_activation,
):
    """With y the cotangent of the forces and M the moment: adj_M = -y.dphi/dx, adj_phi = k adj_M, adj_rate = c adj_M,
    and adj_x = adj_phi dphi/dx + (second derivative of phi) z, where z = -M y + adj_rate u."""
    i0 = nodes[k, 0]
    i1 = nodes[k, 1]
    i2 = nodes[k, 2]
    i3 = nodes[k, 3]
    row = clock[0] if activation.shape[0] > 1 else 0
    x0 = ld3(x, i0)
    u0 = ld3(u, i0)
    y0 = ld3(adj_f, i0)
    e = sub3(ld3(x, i1), x0)
    a = sub3(ld3(x, i2), x0)
    b = sub3(ld3(x, i3), x0)
    u1 = sub3(ld3(u, i1), u0)
    u2 = sub3(ld3(u, i2), u0)
    u3 = sub3(ld3(u, i3), u0)
    y1 = sub3(ld3(adj_f, i1), y0)
    y2 = sub3(ld3(adj_f, i2), y0)
    y3 = sub3(ld3(adj_f, i3), y0)
    phi, h1, h2, p, q, in1, in2, ie, length = hinge(e, a, b)
    rate = hinge_rate(h1, h2, p, q, u1, u2, u3)
    bend = phi - rest_angle[k] + activation[row, k]
    moment = stiffness[k] * bend + damping[k] * rate
    adj_M = -hinge_rate(h1, h2, p, q, y1, y2, y3)
    adj_phi = stiffness[k] * adj_M
    adj_rate = damping[k] * adj_M

    z1 = sub3(mul3(u1, adj_rate), mul3(y1, moment))
    z2 = sub3(mul3(u2, adj_rate), mul3(y2, moment))
    z3 = sub3(mul3(u3, adj_rate), mul3(y3, moment))
    a_e, a_a, a_b = hinge_hessian(e, a, b, h1, h2, p, q, in1, in2, ie, length, z1, z2, z3)
    a_e = add3(a_e, mul3(add3(mul3(h1, p), mul3(h2, q)), adj_phi))
    a_a = sub3(a_a, mul3(h1, adj_phi))
    a_b = sub3(a_b, mul3(h2, adj_phi))
    st43(adj_x, k, neg3(add3(a_e, add3(a_a, a_b))), a_e, a_a, a_b)
    v2 = mul3(h1, -adj_rate)
    v3 = mul3(h2, -adj_rate)
    v1 = neg3(add3(mul3(v2, p), mul3(v3, q)))
    st43(adj_u, k, neg3(add3(v1, add3(v2, v3))), v1, v2, v3)
    adj_stiffness[k] += adj_M * bend
    adj_damping[k] += adj_M * rate
    adj_rest_angle[k] -= adj_phi
    adj_activation[row, k] += adj_phi


@device
def hinge_hessian(e, a, b, h1, h2, p, q, in1, in2, ie, length, z1, z2, z3):
    """Gradient with respect to e, a, b of h1.(p z1 - z2) + h2.(q z1 - z3), z held fixed."""
    r1 = sub3(mul3(z1, p), z2)
    r2 = sub3(mul3(z1, q), z3)
    s1 = dot3(h1, r1)
    s2 = dot3(h2, r2)
    # h = |e| n / |n|^2: adj_n = |e| r / |n|^2 - 2 h (n.r) / |n|^2, where n.r / |n|^2 = h.r / |e|.
    il = length * ie
    an1 = sub3(mul3(r1, length * in1), mul3(h1, (s1 + s1) * il))
    an2 = sub3(mul3(r2, length * in2), mul3(h2, (s2 + s2) * il))
    ap = dot3(h1, z1) * ie
    aq = dot3(h2, z1) * ie
    a_a = add3(cross3(an1, e), mul3(e, ap))
    a_b = add3(cross3(e, an2), mul3(e, aq))
    a_e = add3(cross3(a, an1), cross3(an2, b))
    a_e = add3(a_e, add3(mul3(a, ap), mul3(b, aq)))
    apq = ap * p + aq * q
    a_e = add3(a_e, mul3(e, (s1 + s2) * ie - (apq + apq)))
    return a_e, a_a, a_b
