"""Normal laws of contact: the force on a point by its gap c < 0 and normal velocity vn, and the adjoints.

``k`` holds the law's parameters, the stiffness first. Every law has four device functions:

    force(clock, c, vn, k) -> fn                               the normal force [N], never below 0
    adjoint(clock, c, vn, k, adj_fn) -> adj_c, adj_vn, adj_k
    pair(k, m) -> parameters of a contact between two bodies, the one with k and the other with m
    pair_adjoint(k, m, adj) -> adj_k                           for the cotangent of the pair's; symmetric in the bodies

Hysteresis: f = k_e phi(d) (1 - c w) for the depth d = -gap, with phi as in toe_depth and the direction w = vn /
sqrt(vn^2 + s^2), which turns from -1 to 1 within the speed s. k[0] = k_e, k[1] = c, at most 1, k[2] = the toe, k[3] =
s.
"""

from diffloom_kernels import constant, device, maximum, minimum, sqrt, where


@device
def in_series(a, b):
    """a b / (a + b): two springs, or two dampers, one behind the other."""
    s = a + b
    return a * b / s if s > constant(s, 0) else constant(s, 0)


@device
def in_series_slope(a, b):
    """d in_series / da = (b / (a + b))^2."""
    s = a + b
    if s > constant(s, 0):
        share = b / s
        return share * share
    return constant(s, 0)


@device
def hunt_crossley_force(clock, c, vn, k):
    """k_e d max(1 - a vn, 0) with the depth d = -c: continuous at touch, where the depth is 0."""
    one = constant(c, 1)
    return -(k[0] * c) * maximum(one - k[1] * vn, constant(c, 0))


@device
def hunt_crossley_adjoint(clock, c, vn, k, adj_fn):
    """Transpose of hunt_crossley_force, with g = max(1 - a vn, 0).

    adj_c = -k_e g adj_fn, adj_vn = -k_e d a adj_fn where g > 0, adj_k = (d g adj_fn, -k_e d vn adj_fn where g > 0).
    """
    zero = constant(c, 0)
    g = maximum(constant(c, 1) - k[1] * vn, zero)
    adj_g = where(g > zero, -(k[0] * c) * adj_fn, zero)
    return -(k[0] * g * adj_fn), -(k[1] * adj_g), (-(c * g * adj_fn), -(vn * adj_g))


@device
def hunt_crossley_pair(k, m):
    """Springs in series share a depth as the inverses of their stiffnesses: a = (k_m a_k + k_k a_m) / (k_k + k_m)."""
    s = k[0] + m[0]
    if s > constant(s, 0):
        return k[0] * m[0] / s, (m[0] * k[1] + k[0] * m[1]) / s
    return constant(s, 0), constant(s, 0)


@device
def hunt_crossley_pair_adjoint(k, m, adj):
    """da/da_k = k_m / (k_k + k_m); da/dk_k = k_m (a_m - a_k) / (k_k + k_m)^2."""
    s = k[0] + m[0]
    if s > constant(s, 0):
        share = m[0] / s
        return share * share * adj[0] + share * (m[1] - k[1]) / s * adj[1], share * adj[1]
    return constant(s, 0), constant(s, 0)


@device
def toe_depth(c, t):
    """phi(d) for the depth d = -c: d^2 / (2 t) up to the toe t, d - t / 2 beyond: stiffness sets in smoothly."""
    half = constant(c, 0.5)
    d = -c
    return where(d < t, half * d * d / where(d < t, t, constant(c, 1)), d - half * t)


@device
def toe_force(clock, c, vn, k):
    """k_e phi(d) max(1 - a vn, 0) with the toe k[2]: the force and its slope are continuous at touch."""
    return k[0] * toe_depth(c, k[2]) * maximum(constant(c, 1) - k[1] * vn, constant(c, 0))


@device
def toe_adjoint(clock, c, vn, k, adj_fn):
    """Transpose of toe_force: phi replaces d in hunt_crossley_adjoint, dphi/dd = min(d / t, 1), dphi/dt = -min(d / t,
    1)^2 / 2.
    """
    zero = constant(c, 0)
    one = constant(c, 1)
    g = maximum(one - k[1] * vn, zero)
    phi = toe_depth(c, k[2])
    part = where(-c < k[2], -c / where(-c < k[2], k[2], one), one)
    adj_g = where(g > zero, k[0] * phi * adj_fn, zero)
    adj_phi = k[0] * g * adj_fn
    adj_toe = -(constant(c, 0.5) * part * part * adj_phi)
    return -(part * adj_phi), -(k[1] * adj_g), (phi * g * adj_fn, -(vn * adj_g), adj_toe)


@device
def toe_pair(k, m):
    """Parameters of hunt_crossley_pair, and the sum of the toes."""
    stiffness, a = hunt_crossley_pair(k, m)
    return stiffness, a, k[2] + m[2]


@device
def toe_pair_adjoint(k, m, adj):
    """The cotangent of a sum is that of each."""
    adj_stiffness, adj_a = hunt_crossley_pair_adjoint(k, m, adj)
    return adj_stiffness, adj_a, adj[2]


@device
def closing_speed(clock, c, vn):
    """Return the velocity for linear damping: min(n.v, 0).

    In an implicit step (clock.implicit) it is limited to c / dt: the point is inside only for the last part c / (n.v)
    of the step, and damps for that part. Without this limit the force would jump at c = 0, and the implicit equation
    might have no solution.
    """
    slow = minimum(vn, constant(vn, 0))
    if clock.implicit:
        return maximum(slow, c / clock.dt)
    return slow


@device
def linear_force(clock, c, vn, k):
    """-k_e c - k_d s with s = min(vn, 0) (see closing_speed): jumps to k_d |vn| at touch."""
    return -(k[0] * c) - k[1] * closing_speed(clock, c, vn)


@device
def linear_adjoint(clock, c, vn, k, adj_fn):
    """adj_c = -k_e adj_fn, adj_k = (-c adj_fn, -s adj_fn), and -k_d adj_fn to the quantity that limits s."""
    zero = constant(c, 0)
    closing = closing_speed(clock, c, vn)
    adj_closing = -(k[1] * adj_fn)
    adj_vn = where((vn < zero) & (closing == vn), adj_closing, zero)
    adj_c = -(k[0] * adj_fn) + where((vn < zero) & (closing > vn), adj_closing / clock.dt, zero)
    return adj_c, adj_vn, (-(c * adj_fn), -(closing * adj_fn))


@device
def linear_pair(k, m):
    """Springs and dampers in series."""
    return in_series(k[0], m[0]), in_series(k[1], m[1])


@device
def linear_pair_adjoint(k, m, adj):
    """Each by its own slope."""
    return adj[0] * in_series_slope(k[0], m[0]), adj[1] * in_series_slope(k[1], m[1])


@device
def hysteresis_force(clock, gap, vn, k):
    """The normal force [N]."""
    way = vn / sqrt(vn * vn + k[3] * k[3])
    return k[0] * toe_depth(gap, k[2]) * (constant(gap, 1) - k[1] * way)


@device
def hysteresis_adjoint(clock, gap, vn, k, adj_fn):
    """Transpose of hysteresis_force, with r^2 = vn^2 + s^2: dw/dvn = s^2 / r^3, dw/ds = -vn s / r^3; phi as in
    toe_adjoint.
    """
    one = constant(gap, 1)
    square = vn * vn + k[3] * k[3]
    root = sqrt(square)
    way = vn / root
    share = one - k[1] * way
    phi = toe_depth(gap, k[2])
    part = where(-gap < k[2], -gap / where(-gap < k[2], k[2], one), one)
    adj_phi = k[0] * share * adj_fn
    adj_share = k[0] * phi * adj_fn
    turn = k[1] * adj_share * k[3] / (square * root)
    adj_toe = -(constant(gap, 0.5) * part * part * adj_phi)
    return -(part * adj_phi), -(turn * k[3]), (phi * share * adj_fn, -(way * adj_share), adj_toe, turn * vn)


@device
def hysteresis_pair(k, m):
    """Springs in series, which share a depth as the inverses of their stiffnesses, and the mean of the speeds."""
    stiffness, c, toe = toe_pair((k[0], k[1], k[2]), (m[0], m[1], m[2]))
    return stiffness, c, toe, constant(k[0], 0.5) * (k[3] + m[3])


@device
def hysteresis_pair_adjoint(k, m, adj):
    """Half of the mean's cotangent."""
    adj_k, adj_c, adj_toe = toe_pair_adjoint((k[0], k[1], k[2]), (m[0], m[1], m[2]), (adj[0], adj[1], adj[2]))
    return adj_k, adj_c, adj_toe, constant(k[0], 0.5) * adj[3]
