"""Coulomb friction with a rounded corner between sticking and sliding (see friction_kernels for the four functions).

With a = k_f |v_t|, L = mu f_n and w the smaller of both over the larger, the smoothing b and q = w^(1/b):

    s = min(k_f, L / |v_t|) (1 + q)^(-b),  and with p = q / (1 + q), x = 1 - p while it sticks and p while it slides,
    d ln s = x d ln k_f + (1 - x) (d ln L - d ln |v_t|) + (p ln w / b - ln(1 + q)) db
"""

from diffloom_kernels import constant, device, exp, log, maximum, where
from diffloom_mechanics.contact.friction_kernels import coulomb_pair, coulomb_pair_adjoint


@device
def corner(fn, speed, k):
    """(sticks, 1 / |v_t| or 1 at rest, w, q, (1 + q)^(-b))."""
    zero = constant(fn, 0)
    one = constant(fn, 1)
    holds = k[0] * speed
    limit = k[1] * fn
    sticks = holds <= limit
    larger = where(sticks, limit, holds)
    w = where(sticks, holds, limit) / where(larger > zero, larger, one)
    b = maximum(k[2], constant(fn, 1e-6))
    # Far from the corner q is nothing; the bounds keep logarithm and exponential finite.
    q = exp(maximum(log(maximum(w, constant(fn, 1e-30))) / b, constant(fn, -80)))
    q = where(k[2] > zero, q, zero)
    inverse = one / where(speed > constant(fn, 1e-18), speed, one)
    return sticks, inverse, w, q, exp(-(k[2] * log(one + q)))


@device
def smooth_slope(fn, speed, k):
    """min(k_f, mu fn / speed) with its corner rounded."""
    sticks, inverse, w, q, factor = corner(fn, speed, k)
    return factor * where(sticks, k[0], k[1] * fn / where(sticks, constant(fn, 1), speed))


@device
def smooth_adjoint(fn, speed, k, adj_slope):
    """adj_k_f = s x / k_f adj_s, adj_L = s (1 - x) / L adj_s handed on to mu and fn, t = -s (1 - x) / speed^2 adj_s."""
    zero = constant(fn, 0)
    one = constant(fn, 1)
    sticks, inverse, w, q, factor = corner(fn, speed, k)
    p = q / (one + q)
    x = where(sticks, one - p, p)
    adj_k_f = adj_slope * factor * x * where(sticks, one, w)
    adj_limit = adj_slope * factor * (one - x) * inverse * where(sticks, w, one)
    s = factor * where(sticks, k[0], k[1] * fn * inverse)
    moves = speed > constant(fn, 1e-18)
    t = where(moves, -(adj_slope * s * inverse * ((one - x) * inverse)), zero)
    b = maximum(k[2], constant(fn, 1e-6))
    steep = p * log(maximum(w, constant(fn, 1e-30))) / b - log(one + q)
    adj_b = where(k[2] > zero, adj_slope * s * steep, zero)
    return k[1] * adj_limit, t, (adj_k_f, fn * adj_limit, adj_b)


@device
def smooth_pair(k, m):
    """Coulomb's, and the mean of the smoothings."""
    stiffness, mu = coulomb_pair(k, m)
    return stiffness, mu, constant(k[1], 0.5) * (k[2] + m[2])


@device
def smooth_pair_adjoint(k, m, adj):
    """Half of the smoothing's each."""
    adj_stiffness, adj_mu = coulomb_pair_adjoint(k, m, adj)
    return adj_stiffness, adj_mu, constant(k[1], 0.5) * adj[2]
