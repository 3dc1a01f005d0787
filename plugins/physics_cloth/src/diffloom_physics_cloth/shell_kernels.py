"""Membrane elasticity of one triangle of a shell, by the metric of its edges, and its transpose.

The material is the stable neo-Hookean one (Smith et al. 2018), for a membrane. C and E are the products of the columns
of F with themselves and with those of its rate R (see ``pull``), so that I = tr(F^T F) = C0 + C2, and
J = sqrt(C0 C2 - C1^2/4) is the ratio of areas. Energy per rest area, with activation a:

    Psi = mu/2 (I - 2) + lam/2 (J - alpha)^2 - mu/2 log(I + 1),    P = mu (1 - 1/(I + 1)) F + lam (J - alpha) dJ/dF.

At rest I = 2 and dJ/dF = F, so P = (2/3 mu + lam (1 - alpha)) F vanishes for alpha = 1 + 2 mu / (3 lam); the activation
adds to it. lam (J - alpha) is computed as lam (J - 1 - a) - 2/3 mu, which allows lam = 0. Damping adds the objective
stress c F (F^T R + R^T F), which is zero in rigid motions and never does work on the triangle. As dJ/dF = [C2 Fu - C1/2
Fv, C0 Fv - C1/2 Fu] / J, the sum is P = F S with a symmetric S of three numbers. The moduli come multiplied by the
triangle's rest area, and so does S.

Edges d1, d2 and a pair a1, a2 make the three numbers x = (d1.a1, d1.a2 + d2.a1, d2.a2). With F = [d1, d2] B and
A = [a1, a2] B for the upper triangular B = [[b0, b1], [0, b2]], the inverse of the rest edges, ``pull`` maps x to
(Fu.Au, Fu.Av + Fv.Au, Fv.Av). So F never appears: a stress S of these three numbers acts on the edges as push(S), and
the other quantities of a triangle are scalars.
"""

from math import inf

from diffloom_kernels import constant, cross3, device, dot3, fma, fma3, mul3, sqrt, where


@device
def products(d1, d2, a1, a2):
    """Return (d1.a1, d1.a2 + d2.a1, d2.a2)."""
    return dot3(d1, a1), dot3(d1, a2) + dot3(d2, a1), dot3(d2, a2)


@device
def metric(d1, d2):
    """Return products(d1, d2, d1, d2)."""
    mixed = dot3(d1, d2)
    return dot3(d1, d1), mixed + mixed, dot3(d2, d2)


@device
def pull(b, x):
    """Return the products x in rest axes."""
    r = b[1] * x[0]
    s = fma(b[2], x[1], r)
    return b[0] * b[0] * x[0], b[0] * (r + s), fma(b[1], s, b[2] * b[2] * x[2])


@device
def push(b, s):
    """Transpose of pull in x: sum s pull(b, x) = sum push(b, s) x."""
    r = b[0] * s[1]
    t = fma(b[1], s[2], r)
    return fma(b[0] * b[0], s[0], b[1] * (r + t)), b[2] * t, b[2] * b[2] * s[2]


@device
def pull_adjoint(b, x, s):
    """Transpose of pull in b: the cotangent of (b0, b1, b2) for the cotangent s of pull(b, x)."""
    twice = x[0] + x[0]
    p = b[0] * twice
    r = fma(b[2], x[1], b[1] * twice)
    t = b[2] * x[2]
    mixed = fma(b[1], s[2], b[0] * s[1])
    return fma(p, s[0], r * s[1]), fma(p, s[1], r * s[2]), fma(mixed, x[1], (t + t) * s[2])


@device
def products_gradient(a1, a2, k):
    """Return (k0 a1 + k1 a2, k1 a1 + k2 a2), the gradient of sum k products(d1, d2, a1, a2) by d1, d2."""
    return fma3(a1, k[0], mul3(a2, k[1])), fma3(a1, k[1], mul3(a2, k[2]))


@device
def add_products_gradient(c1, c2, a1, a2, k):
    """Add products_gradient(a1, a2, k) to the pair c1, c2."""
    return fma3(a1, k[0], fma3(a2, k[1], c1)), fma3(a1, k[1], fma3(a2, k[2], c2))


@device
def area_of(d1, d2, b):
    """Return n = d1 x d2, J = |n| b0 b2 and 1/J, which is 0 for a triangle below a millionth of its rest area."""
    n = cross3(d1, d2)
    J = sqrt(dot3(n, n)) * (b[0] * b[2])
    return n, J, constant(J, 1) / where(J > constant(J, 1e-6), J, constant(J, inf))


@device
def shell_stress(C, E, J, inverse, mu, lam, damping, activation):
    """Return S = (uu, uv, vv)."""
    one = constant(J, 1)
    s = mu - mu / (C[0] + C[2] + one)
    h = fma(lam, J - one - activation, -(mu * constant(J, 2.0 / 3.0))) * inverse
    return stress_of(C, E, s, h, damping)


@device
def stress_of(C, E, s, h, damping):
    """Return S for the factors s of F and h of J dJ/dF."""
    twice = damping + damping
    mixed = fma(damping, E[1], -(h * constant(h, 0.5) * C[1]))
    return fma(h, C[2], fma(twice, E[0], s)), mixed, fma(h, C[0], fma(twice, E[2], s))


@device
def shell_stress_adjoint(C, E, J, inverse, mu, lam, damping, activation, Q):
    """Return S, twice the cotangent of C, and the cotangents of E, mu, lam, damping, activation, for the cotangent Q of
    S.

    The cotangent of C includes that of J.
    """
    one = constant(J, 1)
    half = constant(J, 0.5)
    two_thirds = constant(J, 2.0 / 3.0)
    q = one / (C[0] + C[2] + one)
    s = mu - mu * q
    stretch = J - one - activation
    h = fma(lam, stretch, -(mu * two_thirds)) * inverse
    S = stress_of(C, E, s, h, damping)

    adj_s = Q[0] + Q[2]
    adj_g = fma(C[2], Q[0], fma(C[0], Q[2], -(half * C[1] * Q[1]))) * inverse
    adj_I = adj_s * mu * q * q
    adj_I = adj_I + adj_I
    t = (lam - h) * adj_g * inverse
    h2 = h + h
    twice_adj_C = (
        fma(t, C[2], fma(h2, Q[2], adj_I)),
        -fma(t * half, C[1], h * Q[1]),
        fma(t, C[0], fma(h2, Q[0], adj_I)),
    )
    twice = damping + damping
    adj_E = (twice * Q[0], damping * Q[1], twice * Q[2])
    adj_mu = adj_s - fma(adj_s, q, adj_g * two_thirds)
    EQ = fma(E[0], Q[0], E[2] * Q[2])
    return S, twice_adj_C, adj_E, adj_mu, adj_g * stretch, fma(E[1], Q[1], EQ + EQ), -(adj_g * lam)
