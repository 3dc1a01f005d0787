"""Friction laws of contact: the slope s in the force -s v_t on the tangential velocity v_t, and the adjoints.

``k`` holds the law's parameters, the friction stiffness k_f first. Every law comes as four device functions:

    slope(fn, speed, k) -> s                                   for the normal force fn and speed = |v_t|, finite at 0
    adjoint(fn, speed, k, adj_s) -> adj_fn, t, adj_k           with t = adj_speed / speed, which is 0 while it sticks
    pair(k, m), pair_adjoint(k, m, adj)                        as for normal laws
"""

from diffloom_kernels import constant, device, exp, where
from diffloom_mechanics.contact.normal_kernels import in_series, in_series_slope


@device
def coulomb_slope(fn, speed, k):
    """min(k_f, mu fn / speed): a relaxed Coulomb cone, smooth at speed 0."""
    sticks = k[0] * speed <= k[1] * fn
    return where(sticks, k[0], k[1] * fn / where(sticks, constant(fn, 1), speed))


@device
def coulomb_adjoint(fn, speed, k, adj_slope):
    """Sticking: adj_k_f. Sliding, with l = adj_s / speed: adj_fn = mu l, t = -l s / speed, adj_mu = fn l."""
    zero = constant(fn, 0)
    one = constant(fn, 1)
    sticks = k[0] * speed <= k[1] * fn
    inverse = one / where(sticks, one, speed)
    slope = where(sticks, k[0], k[1] * fn * inverse)
    adj_limit = where(sticks, zero, adj_slope * inverse)
    return k[1] * adj_limit, -(adj_limit * slope * inverse), (where(sticks, adj_slope, zero), fn * adj_limit)


@device
def coulomb_pair(k, m):
    """k_f in series, and the mean of mu."""
    return in_series(k[0], m[0]), constant(k[1], 0.5) * (k[1] + m[1])


@device
def coulomb_pair_adjoint(k, m, adj):
    """Half of adj_mu each."""
    return adj[0] * in_series_slope(k[0], m[0]), constant(k[1], 0.5) * adj[1]


@device
def stribeck_fade(speed, limit):
    """exp(-(speed / limit)^2)."""
    ratio = speed / limit
    return exp(-(ratio * ratio))


@device
def stribeck_slope(fn, speed, k):
    """min(k_f, m fn / speed) with m = mu + (mu_s - mu) exp(-(speed / v_s)^2): more friction at low speed."""
    m = k[1] + (k[2] - k[1]) * stribeck_fade(speed, k[3])
    sticks = k[0] * speed <= m * fn
    return where(sticks, k[0], m * fn / where(sticks, constant(fn, 1), speed))


@device
def stribeck_adjoint(fn, speed, k, adj_slope):
    """As coulomb_adjoint with m in place of mu, and adj_m = fn l handed on to mu, mu_s, v_s and the speed."""
    zero = constant(fn, 0)
    one = constant(fn, 1)
    two = constant(fn, 2)
    fade = stribeck_fade(speed, k[3])
    m = k[1] + (k[2] - k[1]) * fade
    sticks = k[0] * speed <= m * fn
    inverse = one / where(sticks, one, speed)
    slope = where(sticks, k[0], m * fn * inverse)
    adj_limit = where(sticks, zero, adj_slope * inverse)
    adj_m = fn * adj_limit
    adj_fade = (k[2] - k[1]) * adj_m
    # d fade / d speed = -2 speed fade / v_s^2, d fade / d v_s = 2 speed^2 fade / v_s^3.
    steepness = two * fade / (k[3] * k[3])
    t = -(adj_limit * slope * inverse) - adj_fade * steepness
    adj_limit_speed = adj_fade * steepness * speed * speed / k[3]
    adj_k = (where(sticks, adj_slope, zero), adj_m * (one - fade), adj_m * fade, adj_limit_speed)
    return m * adj_limit, t, adj_k


@device
def stribeck_pair(k, m):
    """k_f in series, and the means of the others."""
    half = constant(k[1], 0.5)
    return in_series(k[0], m[0]), half * (k[1] + m[1]), half * (k[2] + m[2]), half * (k[3] + m[3])


@device
def stribeck_pair_adjoint(k, m, adj):
    """Half of each mean's."""
    half = constant(k[1], 0.5)
    return adj[0] * in_series_slope(k[0], m[0]), half * adj[1], half * adj[2], half * adj[3]
