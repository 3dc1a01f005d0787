"""Kernels of triangles that stay in one plane, such as those of the planar walker.

They differ from the faces of a shell in the sign of J = m.(Fu x Fv), with the constant normal m of the plane: it is
negative for an inverted triangle, and the elastic force drives the triangle back, whereas a shell has no sides.

The material is that of shell_kernels. F = [Fu, Fv] is the 3x2 deformation gradient and R = [Ru, Rv] its rate of change,
so that dJ/dF = G = [Fv x m, m x Fu] without a division by J, which passes through zero in an inversion.
"""

from diffloom_kernels import add3, constant, cross3, device, dot3, ld3, mul3, neg3, store_corners, sub3
from diffloom_physics_cloth.face_kernels import corners


@device
def deformation(d1, d2, b0, b1, b2):
    """Return the columns of [d1, d2] B for the upper triangular B = [[b0, b1], [0, b2]], the inverse of the rest
    edges.
    """
    return mul3(d1, b0), add3(mul3(d1, b1), mul3(d2, b2))


@device
def membrane_stress(Fu, Fv, Ru, Rv, m, J, mu, lam, damping, activation):
    """Return the two columns of the stress P."""
    one = constant(J, 1)
    s = mu - mu / (dot3(Fu, Fu) + dot3(Fv, Fv) + one)
    g = lam * (J - one - activation) - mu * constant(J, 2.0 / 3.0)
    uv = damping * (dot3(Fu, Rv) + dot3(Fv, Ru))
    uu = damping * dot3(Fu, Ru)
    vv = damping * dot3(Fv, Rv)
    uu = s + uu + uu
    vv = s + vv + vv
    Pu = add3(add3(mul3(Fu, uu), mul3(Fv, uv)), mul3(cross3(Fv, m), g))
    Pv = add3(add3(mul3(Fu, uv), mul3(Fv, vv)), mul3(cross3(m, Fu), g))
    return Pu, Pv


@device
def membrane_stress_adjoint(Fu, Fv, Ru, Rv, m, J, mu, lam, damping, activation, Zu, Zv):
    """Return the cotangents of (Fu, Fv, Ru, Rv, mu, lam, damping, activation) for the cotangent Z = [Zu, Zv] of P.

    The cotangents of F include that of J. With X = c (F^T Z + Z^T F), damping gives adj_F = Z (c S) + R X and
    adj_R = F X.
    """
    one = constant(J, 1)
    two_thirds = constant(J, 2.0 / 3.0)
    q = one / (dot3(Fu, Fu) + dot3(Fv, Fv) + one)
    s = mu - mu * q
    stretch = J - one - activation
    g = lam * stretch - mu * two_thirds
    Gu = cross3(Fv, m)
    Gv = cross3(m, Fu)
    Suu = dot3(Fu, Ru)
    Suu = Suu + Suu
    Svv = dot3(Fv, Rv)
    Svv = Svv + Svv
    Suv = dot3(Fu, Rv) + dot3(Fv, Ru)

    FuZu = dot3(Fu, Zu)
    FvZv = dot3(Fv, Zv)
    FuZv = dot3(Fu, Zv)
    FvZu = dot3(Fv, Zu)
    adj_s = FuZu + FvZv
    adj_g = dot3(Gu, Zu) + dot3(Gv, Zv)
    shear = FuZv + FvZu
    adj_damping = Suu * FuZu + Svv * FvZv + Suv * shear
    adj_mu = adj_s - adj_s * q - adj_g * two_thirds
    adj_lam = adj_g * stretch
    adj_J = adj_g * lam
    adj_I = adj_s * mu * q * q
    i = adj_I + adj_I

    Xuv = damping * shear
    Xuu = damping * FuZu
    Xuu = Xuu + Xuu
    Xvv = damping * FvZv
    Xvv = Xvv + Xvv
    uu = s + damping * Suu
    uv = damping * Suv
    vv = s + damping * Svv
    adj_Fu = add3(add3(mul3(Zu, uu), mul3(Zv, uv)), add3(mul3(Fu, i), mul3(Gu, adj_J)))
    adj_Fv = add3(add3(mul3(Zu, uv), mul3(Zv, vv)), add3(mul3(Fv, i), mul3(Gv, adj_J)))
    adj_Fu = add3(adj_Fu, add3(add3(mul3(Ru, Xuu), mul3(Rv, Xuv)), mul3(cross3(Zv, m), g)))
    adj_Fv = add3(adj_Fv, add3(add3(mul3(Ru, Xuv), mul3(Rv, Xvv)), mul3(cross3(m, Zu), g)))
    adj_Ru = add3(mul3(Fu, Xuu), mul3(Fv, Xuv))
    adj_Rv = add3(mul3(Fu, Xuv), mul3(Fv, Xvv))
    return adj_Fu, adj_Fv, adj_Ru, adj_Rv, adj_mu, adj_lam, adj_damping, -adj_J


@device
def planar_face_force(e, clock, x, u, nodes, normal, rest, mu, lam, damping, activation, out):
    """Compute the in-plane elastic forces of triangle e.

    normal: unit normal of the plane; rest: (b0, b1, b2).
    """
    i0, i1, i2 = corners(e, nodes)
    row = clock.row if activation.shape[0] > 1 else 0
    x0 = ld3(x, i0)
    u0 = ld3(u, i0)
    b0 = rest[e, 0]
    b1 = rest[e, 1]
    b2 = rest[e, 2]
    m = ld3(normal, e)
    Fu, Fv = deformation(sub3(ld3(x, i1), x0), sub3(ld3(x, i2), x0), b0, b1, b2)
    Ru, Rv = deformation(sub3(ld3(u, i1), u0), sub3(ld3(u, i2), u0), b0, b1, b2)
    J = dot3(m, cross3(Fu, Fv))
    Pu, Pv = membrane_stress(Fu, Fv, Ru, Rv, m, J, mu[e], lam[e], damping[e], activation[row, e])
    f1 = neg3(add3(mul3(Pu, b0), mul3(Pv, b1)))
    f2 = mul3(Pv, -b2)
    store_corners(out, e, (neg3(add3(f1, f2)), f1, f2))


@device
def planar_face_force_adjoint(
    e, clock, x, u, nodes, normal, rest, mu, lam, damping, activation,
    adj_f, adj_x, adj_u, adj_rest, adj_mu, adj_lam, adj_damping, adj_activation,
):
    """Transpose of planar_face_force; the normal is constant and has no cotangent."""
    i0, i1, i2 = corners(e, nodes)
    row = clock.row if activation.shape[0] > 1 else 0
    x0 = ld3(x, i0)
    u0 = ld3(u, i0)
    y0 = ld3(adj_f, i0)
    b0 = rest[e, 0]
    b1 = rest[e, 1]
    b2 = rest[e, 2]
    m = ld3(normal, e)
    d1 = sub3(ld3(x, i1), x0)
    d2 = sub3(ld3(x, i2), x0)
    w1 = sub3(ld3(u, i1), u0)
    w2 = sub3(ld3(u, i2), u0)
    y1 = sub3(ld3(adj_f, i1), y0)
    y2 = sub3(ld3(adj_f, i2), y0)
    Fu, Fv = deformation(d1, d2, b0, b1, b2)
    Ru, Rv = deformation(w1, w2, b0, b1, b2)
    J = dot3(m, cross3(Fu, Fv))
    Zu, Zv = deformation(y1, y2, -b0, -b1, -b2)
    a_Fu, a_Fv, a_Ru, a_Rv, a_mu, a_lam, a_damping, a_activation = membrane_stress_adjoint(
        Fu, Fv, Ru, Rv, m, J, mu[e], lam[e], damping[e], activation[row, e], Zu, Zv
    )
    Pu, Pv = membrane_stress(Fu, Fv, Ru, Rv, m, J, mu[e], lam[e], damping[e], activation[row, e])
    adj_rest[e, 0] += dot3(d1, a_Fu) + dot3(w1, a_Ru) - dot3(y1, Pu)
    adj_rest[e, 1] += dot3(d1, a_Fv) + dot3(w1, a_Rv) - dot3(y1, Pv)
    adj_rest[e, 2] += dot3(d2, a_Fv) + dot3(w2, a_Rv) - dot3(y2, Pv)
    adj_mu[e] += a_mu
    adj_lam[e] += a_lam
    adj_damping[e] += a_damping
    adj_activation[row, e] += a_activation
    a1 = add3(mul3(a_Fu, b0), mul3(a_Fv, b1))
    a2 = mul3(a_Fv, b2)
    v1 = add3(mul3(a_Ru, b0), mul3(a_Rv, b1))
    v2 = mul3(a_Rv, b2)
    store_corners(adj_x, e, (neg3(add3(a1, a2)), a1, a2))
    store_corners(adj_u, e, (neg3(add3(v1, v2)), v1, v2))
