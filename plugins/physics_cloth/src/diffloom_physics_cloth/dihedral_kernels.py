"""The dihedral angle of one interior edge, with its first and second derivatives.

With e, a, b the vectors from the edge's first corner to its second and to the corners opposite it in the two faces,
n1 = e x a and n2 = b x e are the normals and phi = atan2(-|e| n1.b, n1.n2): zero when flat, positive when both corners
lie behind the front. Its derivatives, with p = a.e/|e|^2, q = b.e/|e|^2, alpha = |e|/|n1|^2 and beta = |e|/|n2|^2,

    dphi/da = -alpha n1,  dphi/db = -beta n2,  dphi/de = p alpha n1 + q beta n2,

are finite at every angle, flat ones included.
"""

from diffloom_kernels import add3, constant, cross3, device, dot3, fma, fma3, mul3, neg3, sqrt, where
from diffloom_physics_cloth.angle_kernels import angle


@device
def hinge(e, a, b):
    """phi; what its derivatives are made of, (n1, n2, alpha, beta, p, q); and inverses of |n1|^2, |n2|^2, |e|^2."""
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
    return phi, (n1, n2, length * i1, length * i2, dot3(a, e) * ie, dot3(b, e) * ie), (i1, i2, ie)


@device
def slope(h, w1, w2, w3):
    """dphi/de.w1 + dphi/da.w2 + dphi/db.w3."""
    n1, n2, alpha, beta, p, q = h
    return fma(alpha, fma(p, dot3(n1, w1), -dot3(n1, w2)), beta * fma(q, dot3(n2, w1), -dot3(n2, w3)))


@device
def slope_adjoint(h, s):
    """s times (dphi/de, dphi/da, dphi/db)."""
    n1, n2, alpha, beta, p, q = h
    a = mul3(n1, -(alpha * s))
    b = mul3(n2, -(beta * s))
    return neg3(fma3(a, p, mul3(b, q))), a, b


@device
def curvature(e, a, b, h, inverses, z1, z2, z3):
    """Gradient with respect to e, a, b of slope(h, z1, z2, z3), z held fixed.

    The slope is alpha n1.r1 + beta n2.r2 with r1 = p z1 - z2, r2 = q z1 - z3; alpha n1 is differentiated as
    |e| n1/|n1|^2, which gives alpha r1 - 2 (alpha n1.r1) n1/|n1|^2.
    """
    n1, n2, alpha, beta, p, q = h
    i1, i2, ie = inverses
    r1 = fma3(z1, p, neg3(z2))
    r2 = fma3(z1, q, neg3(z3))
    s1 = alpha * dot3(n1, r1)
    s2 = beta * dot3(n2, r2)
    an1 = fma3(r1, alpha, mul3(n1, -((s1 + s1) * i1)))
    an2 = fma3(r2, beta, mul3(n2, -((s2 + s2) * i2)))
    ap = alpha * dot3(n1, z1) * ie
    aq = beta * dot3(n2, z1) * ie
    a_a = fma3(e, ap, cross3(an1, e))
    a_b = fma3(e, aq, cross3(e, an2))
    apq = fma(ap, p, aq * q)
    a_e = fma3(a, ap, fma3(b, aq, mul3(e, fma(s1 + s2, ie, -(apq + apq)))))
    return add3(add3(cross3(a, an1), cross3(an2, b)), a_e), a_a, a_b
