"""In-plane elasticity of one triangle in a plane: stress from deformation, and its transpose.

The material is that of ``shell``. F = [Fu, Fv] is the 3x2 deformation gradient, R = [Ru, Rv] its rate of change, m the
unit normal of the plane and J = m.(Fu x Fv) the signed ratio of areas, so that dJ/dF = G = [Fv x m, m x Fu]: no
division by J, which passes through zero when a triangle turns inside out.
"""

from diffloom_kernels import add3, constant, cross3, device, dot3, mul3


@device
def deformation(d1, d2, b0, b1, b2):
    """Columns of [d1, d2] B for the upper triangular B = [[b0, b1], [0, b2]], the inverse of the rest edges."""
    return mul3(d1, b0), add3(mul3(d1, b1), mul3(d2, b2))


@device
def membrane_stress(Fu, Fv, Ru, Rv, m, J, mu, lam, damping, activation):
    """The two columns of P."""
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
    """Cotangents of (Fu, Fv, Ru, Rv, mu, lam, damping, activation) for the cotangent Z = [Zu, Zv] of P.

    That of J is included in those of F. With X = c (F^T Z + Z^T F) the damping gives adj_F = Z (c S) + R X and
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
