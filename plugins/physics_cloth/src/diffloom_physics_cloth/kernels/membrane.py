"""In-plane elasticity of one triangle: stress from deformation, and its transpose.

F = [Fu, Fv] is the 3x2 deformation gradient, R = [Ru, Rv] its rate of change, J the ratio of areas and m the unit
normal, so that dJ/dF = G = [Fv x m, m x Fu]. Energy per rest area, with activation a:

    Psi = mu/2 (I - 2) + lam/2 (J - alpha)^2 - mu/2 log(I + 1),    I = Fu.Fu + Fv.Fv,
    P = mu (1 - 1/(I + 1)) F + lam (J - alpha) G.

At rest I = 2 and G = F, so P = (2/3 mu + lam (1 - alpha)) F vanishes for alpha = 1 + 2 mu / (3 lam); the activation
adds to it. lam (J - alpha) is computed as lam (J - 1 - a) - 2/3 mu, which allows lam = 0. Damping adds the objective
stress c F (F^T R + R^T F): zero for every rigid motion, never doing work on the triangle.
The moduli come multiplied by the triangle's rest area, so P is too.
"""

from diffloom.kernels import add3, constant, cross3, device, dot3, mul3, sqrt, sub3, where


@device
def deformation(d1, d2, b0, b1, b2):
    """Columns of [d1, d2] B for the upper triangular B = [[b0, b1], [0, b2]], the inverse of the rest edges."""
    return mul3(d1, b0), add3(mul3(d1, b1), mul3(d2, b2))


@device
def normal_of(Fu, Fv):
    """Unit normal m, J = |Fu x Fv| and 1/J; a collapsed triangle has normal zero."""
    n = cross3(Fu, Fv)
    J = sqrt(dot3(n, n))
    inverse = constant(J, 1) / where(J > constant(J, 0), J, constant(J, 1))
    return mul3(n, inverse), J, inverse


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
    """Cotangents of (Fu, Fv, Ru, Rv, m, mu, lam, damping, activation) for the cotangent Z = [Zu, Zv] of P.

    dJ/dF = G is included in those of F; m is held fixed there, and its own cotangent is returned besides.
    With X = c (F^T Z + Z^T F) the damping gives adj_F = Z (c S) + R X and adj_R = F X.
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
    adj_m = mul3(add3(cross3(Zu, Fv), cross3(Fu, Zv)), g)
    return adj_Fu, adj_Fv, adj_Ru, adj_Rv, adj_m, adj_mu, adj_lam, adj_damping, -adj_J


@device
def normal_adjoint(Fu, Fv, m, inverse, adj_m):
    """Cotangents of Fu, Fv for m = n / |n|, n = Fu x Fv: adj_n = (adj_m - m (m.adj_m)) / |n|."""
    adj_n = mul3(sub3(adj_m, mul3(m, dot3(m, adj_m))), inverse)
    return cross3(Fv, adj_n), cross3(adj_n, Fu)
