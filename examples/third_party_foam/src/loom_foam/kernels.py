"""Foam: f = k d (1 + h d^2) max(1 - a vn, 0) for the depth d = -c; k[0] = k, k[1] = a, k[2] = h."""

from diffloom_kernels import constant, device, maximum, where


@device
def force(clock, c, vn, k):
    """The normal force [N]."""
    one = constant(c, 1)
    return -(k[0] * c) * (one + k[2] * c * c) * maximum(one - k[1] * vn, constant(c, 0))


@device
def adjoint(clock, c, vn, k, adj_fn):
    """Adjoint. e = k d (1 + h d^2) and g = max(1 - a vn, 0): adj_d = k (1 + 3 h d^2) g adj_fn, adj_g = e adj_fn."""
    zero, one = constant(c, 0), constant(c, 1)
    square = c * c
    g = maximum(one - k[1] * vn, zero)
    elastic = -(k[0] * c) * (one + k[2] * square)
    adj_g = where(g > zero, elastic * adj_fn, zero)
    adj_c = -(k[0] * (one + constant(c, 3) * k[2] * square) * g * adj_fn)
    adj_k = (-(c * (one + k[2] * square) * g * adj_fn), -(vn * adj_g), -(k[0] * c * square * g * adj_fn))
    return adj_c, -(k[1] * adj_g), adj_k


@device
def pair(k, m):
    """Two pieces in series by stiffness, with the means of the rest."""
    half = constant(k[0], 0.5)
    s = maximum(k[0] + m[0], constant(k[0], 1e-30))
    return k[0] * m[0] / s, half * (k[1] + m[1]), half * (k[2] + m[2])


@device
def pair_adjoint(k, m, adj):
    """d(k m / (k + m)) / dk = (m / (k + m))^2, and half of each mean's."""
    half = constant(k[0], 0.5)
    share = m[0] / maximum(k[0] + m[0], constant(k[0], 1e-30))
    return share * share * adj[0], half * adj[1], half * adj[2]
