"""Materials of solids: first Piola-Kirchhoff stress, and what the material remembers, by the deformation gradient F.

Functions of numbers, in which F is a matrix of nine numbers, m the memory and p the parameters of an element, and h the
time since the memory was updated. Plastic and viscous materials remember G, the inverse of the inelastic part of the
right Cauchy-Green tensor (six entries 00 01 02 11 12 22; the identity at rest). Then

    J = det F,   b = J^(-2/3) F G F^T = d + c I,   tau = kappa/2 (J^2 - 1) I + mu d,   P = tau F^-T

with the deviator d and c = tr b / 3 (Simo 1992). Flow changes d alone, which a return mapping scales:
G' = J^(2/3) F^-1 (d' + c I) F^-T.
"""

from diffloom_kernels import (
    constant,
    det33,
    device,
    exp,
    inverse33,
    log,
    matmul33,
    matmulT33,
    maximum,
    mul33,
    sqrt,
    trace33,
    where,
)

ROOT = (2.0 / 3.0) ** 0.5


@device
def unfold(g):
    """Return the nine entries of a symmetric matrix of six."""
    return (g[0], g[1], g[2], g[1], g[3], g[4], g[2], g[4], g[5])


@device
def fold(A):
    """Return the six entries of a symmetric matrix of nine."""
    return (A[0], A[1], A[2], A[4], A[5], A[8])


@device
def shifted(A, s):
    """A + s I."""
    return (A[0] + s, A[1], A[2], A[3], A[4] + s, A[5], A[6], A[7], A[8] + s)


@device
def elastic_part(F, g):
    """Return J, the deviator d of b and c, its mean."""
    J = det33(F)
    s = exp(log(J) * constant(J, -2.0 / 3.0))
    b = mul33(matmulT33(matmul33(F, unfold(g)), F), s)
    c = trace33(b) * constant(J, 1.0 / 3.0)
    return J, shifted(b, -c), c


@device
def frobenius(A):
    """Return the root of A:A; its derivative is 0 where A is zero."""
    total = A[0] * A[0] + A[1] * A[1] + A[2] * A[2] + A[3] * A[3] + A[4] * A[4]
    return sqrt(total + A[5] * A[5] + A[6] * A[6] + A[7] * A[7] + A[8] * A[8])


@device
def piola(F, J, d, mu, kappa):
    """P = tau F^-T for the stress of d and J."""
    tau = shifted(mul33(d, mu), constant(J, 0.5) * kappa * (J * J - constant(J, 1.0)))
    return matmulT33(tau, inverse33(F))


@device
def inelastic(F, J, d, c):
    """G' = J^(2/3) F^-1 (d + c I) F^-T."""
    inverse = inverse33(F)
    s = exp(log(J) * constant(J, 2.0 / 3.0))
    return fold(mul33(matmulT33(matmul33(inverse, shifted(d, c)), inverse), s))


@device
def unstrained(F):
    """Return the six entries of the identity."""
    zero, one = constant(F[0], 0.0), constant(F[0], 1.0)
    return (one, zero, zero, one, zero, one)


@device
def von_mises_flow(F, m, p):
    """Return J, d, c and the plastic amount after return mapping to |mu d| = sqrt(2/3) (Y + H amount)."""
    mu, yields, hardening = p[0], p[2], p[3]
    J, d, c = elastic_part(F, m)
    size = mu * frobenius(d)
    zero, one, root = constant(J, 0.0), constant(J, 1.0), constant(J, ROOT)
    twice = constant(J, 2.0) * mu * c
    over = maximum(size - root * (yields + hardening * m[6]), zero)
    gamma = over / (twice + root * root * hardening)
    scale = one - twice * gamma / where(size > zero, size, one)
    return J, mul33(d, scale), c, m[6] + root * gamma


@device
def von_mises_stress(F, m, h, p):
    """Stress of a metal or plasticine. p: mu, kappa, Y, H."""
    J, d, c, amount = von_mises_flow(F, m, p)
    return piola(F, J, d, p[0], p[1])


@device
def von_mises_update(F, m, h, p):
    """G and the accumulated plastic strain after a step."""
    J, d, c, amount = von_mises_flow(F, m, p)
    g = inelastic(F, J, d, c)
    return (g[0], g[1], g[2], g[3], g[4], g[5], amount)


@device
def drucker_prager_flow(F, m, p):
    """Return J, d, c and the plastic amount on the cone |mu d| <= sqrt(2/3) (k + M pressure). Flow keeps the volume.

    M = 6 sin(phi) / (3 - sin(phi)), k = 6 cohesion cos(phi) / (3 - sin(phi)): the cone through the outer edges of
    Mohr-Coulomb's pyramid.
    """
    mu, kappa, sine, cohesion = p[0], p[1], p[2], p[3]
    J, d, c = elastic_part(F, m)
    size = mu * frobenius(d)
    zero, one, root = constant(J, 0.0), constant(J, 1.0), constant(J, ROOT)
    outer = constant(J, 6.0) / (constant(J, 3.0) - sine)
    pressure = constant(J, 0.5) * kappa * (one - J * J)
    limit = root * outer * maximum(cohesion * sqrt(one - sine * sine) + sine * pressure, zero)
    over = maximum(size - limit, zero)
    scale = one - over / where(size > zero, size, one)
    return J, mul33(d, scale), c, m[6] + root * over / (constant(J, 2.0) * mu * c)


@device
def drucker_prager_stress(F, m, h, p):
    """Stress of sand or soil. p: mu, kappa, sin(phi), cohesion. Tension ends where the cone does."""
    mu, kappa, sine, cohesion = p[0], p[1], p[2], p[3]
    J, d, c, amount = drucker_prager_flow(F, m, p)
    one = constant(J, 1.0)
    most = cohesion * sqrt(one - sine * sine) / maximum(sine, constant(J, 1e-6))
    volume = constant(J, 0.5) * kappa * (J * J - one)
    tau = shifted(mul33(d, mu), where(volume > most, most, volume))
    return matmulT33(tau, inverse33(F))


@device
def drucker_prager_update(F, m, h, p):
    """G and the accumulated plastic strain after a step."""
    J, d, c, amount = drucker_prager_flow(F, m, p)
    g = inelastic(F, J, d, c)
    return (g[0], g[1], g[2], g[3], g[4], g[5], amount)


@device
def viscoelastic_stress(F, m, h, p):
    """Stress of an elastic network beside a Maxwell branch. p: mu, kappa, mu of the branch, relaxation time."""
    J, whole, c0 = elastic_part(F, unstrained(F))
    J, d, c = elastic_part(F, m)
    relaxed = mul33(d, p[2] * exp(-h / p[3]))
    tau = (
        p[0] * whole[0] + relaxed[0], p[0] * whole[1] + relaxed[1], p[0] * whole[2] + relaxed[2],
        p[0] * whole[3] + relaxed[3], p[0] * whole[4] + relaxed[4], p[0] * whole[5] + relaxed[5],
        p[0] * whole[6] + relaxed[6], p[0] * whole[7] + relaxed[7], p[0] * whole[8] + relaxed[8],
    )
    volume = constant(J, 0.5) * p[1] * (J * J - constant(J, 1.0))
    return matmulT33(shifted(tau, volume), inverse33(F))


@device
def viscoelastic_update(F, m, h, p):
    """G after a step of length h, in which the deviator of the branch decays by exp(-h / T)."""
    J, d, c = elastic_part(F, m)
    return inelastic(F, J, mul33(d, exp(-h / p[3])), c)
