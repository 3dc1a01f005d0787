"""Friction laws of contact: the slope s in the force -s v_t on the tangential velocity v_t, and the adjoints.

``k`` holds the law's parameters, the friction stiffness k_f first. Every law has four device functions:

    slope(fn, speed, k) -> s                                   for the normal force fn and speed = |v_t|, finite at 0
    adjoint(fn, speed, k, adj_s) -> adj_fn, t, adj_k           with t = adj_speed / speed, which is 0 while it sticks
    pair(k, m), pair_adjoint(k, m, adj)                        as for normal laws

Smooth Coulomb friction rounds the corner between sticking and sliding. With a = k_f |v_t|, L = mu f_n and w the smaller
of both over the larger, the smoothing b and q = w^(1/b):

    s = min(k_f, L / |v_t|) (1 + q)^(-b),  and with p = q / (1 + q), x = 1 - p while it sticks and p while it slides,
    d ln s = x d ln k_f + (1 - x) (d ln L - d ln |v_t|) + (p ln w / b - ln(1 + q)) db

Anisotropic friction differs along the world axes: sliding velocities are stretched before the law is evaluated. With
the factors r = (r_x, r_y, r_z), the last three of the law's parameters, and the tangential velocity v_t:

    w = r v_t (by component),  y = s(f_n, |w|) r w,  f = f_n n - (y - n (n.y))

so that friction along an axis of the plane is r times as large, and never does work on the body.

Torsional and rolling friction hold back a touching point of a body, because a contact is a small patch. Where the body
turns about the normal, or rolls, points of the patch at the radius l move at the speed l |w|, and the friction law
holds them back as it does a sliding point: with w_n = n.w and w_t = w - n w_n

    torque = -l_n^2 s(f_n, l_n |w_n|) w_n n - l_t^2 s(f_n, l_t |w_t|) w_t,

at most mu f_n l_n about the normal and mu f_n l_t against rolling. l_n and l_t follow the law's own parameters in a row
of ``k_t``. Without the option the torque is returned unchanged.
"""

import functools

from diffloom_kernels import add3, constant, device, dot3, exp, fma3, log, maximum, mul3, sqrt, sub3, where
from diffloom_mechanics.contact.normal_kernels import in_series, in_series_slope


@device
def coulomb_slope(fn, speed, k):
    """min(k_f, mu fn / speed): a relaxed Coulomb cone, smooth at speed 0."""
    sticks = k[0] * speed <= k[1] * fn
    return where(sticks, k[0], k[1] * fn / where(sticks, constant(fn, 1), speed))


@device
def coulomb_adjoint(fn, speed, k, adj_slope):
    """Transpose of coulomb_slope. Sticking: adj_k_f. Sliding, l = adj_s / speed: adj_fn = mu l, t = -l s / speed,
    adj_mu = fn l.
    """
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
    """Transpose of coulomb_pair: half of adj_mu for each body."""
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
    """Transpose of stribeck_slope: coulomb_adjoint with m in place of mu, and adj_m = fn l passed to mu, mu_s, v_s and
    the speed.
    """
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
    """k_f in series, and the means of the remaining parameters."""
    half = constant(k[1], 0.5)
    return in_series(k[0], m[0]), half * (k[1] + m[1]), half * (k[2] + m[2]), half * (k[3] + m[3])


@device
def stribeck_pair_adjoint(k, m, adj):
    """Transpose of stribeck_pair: half of each mean's."""
    half = constant(k[1], 0.5)
    return adj[0] * in_series_slope(k[0], m[0]), half * adj[1], half * adj[2], half * adj[3]


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
    # Far from the corner q vanishes; the bounds keep logarithm and exponential finite.
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
    """adj_k_f = s x / k_f adj_s, adj_L = s (1 - x) / L adj_s passed to mu and fn, t = -s (1 - x) / speed^2 adj_s."""
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


@device
def times3(a, b):
    """Product by component."""
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])


@device
def anisotropic_adjoint(fn, speed, k, adj_slope):
    """Coulomb's; the factors enter by the velocity, see anisotropic_contact."""
    zero = constant(fn, 0)
    adj_fn, t, adj_k = coulomb_adjoint(fn, speed, k, adj_slope)
    return adj_fn, t, (adj_k[0], adj_k[1], zero, zero, zero)


@device
def anisotropic_pair(k, m):
    """Coulomb's, and the means of the factors."""
    half = constant(k[1], 0.5)
    stiffness, mu = coulomb_pair(k, m)
    return stiffness, mu, half * (k[2] + m[2]), half * (k[3] + m[3]), half * (k[4] + m[4])


@device
def anisotropic_pair_adjoint(k, m, adj):
    """Half of each mean's."""
    half = constant(k[1], 0.5)
    adj_stiffness, adj_mu = coulomb_pair_adjoint(k, m, adj)
    return adj_stiffness, adj_mu, half * adj[2], half * adj[3], half * adj[4]


def anisotropic_contact(normal, friction):
    """Return force and adjoint as in point_contact, with stretched sliding velocities."""
    normal_force, normal_adjoint = normal.force, normal.adjoint
    friction_slope, friction_adjoint = friction.slope, friction.adjoint

    @device
    def force(clock, c, v, n, kn, kt):
        """Return f_n n - (y - n (n.y)) with the stretched sliding velocity."""
        vn = dot3(n, v)
        fn = normal_force(clock, c, vn, kn)
        r = (kt[2], kt[3], kt[4])
        w = times3(r, sub3(v, mul3(n, vn)))
        y = mul3(times3(r, w), friction_slope(fn, sqrt(dot3(w, w)), kt))
        return sub3(mul3(n, fn + dot3(n, y)), y)

    @device
    def adjoint(clock, c, v, n, kn, kt, a):
        """Transpose of force, with b = r (a - n (n.a)).

        adj_s = -w.b, adj_w = t w - s b, adj_vt = r adj_w, adj_r = vt adj_w - s w b / r, and adj_n has the further part
        (n.y) a + (n.a) y.
        """
        vn = dot3(n, v)
        fn = normal_force(clock, c, vn, kn)
        r = (kt[2], kt[3], kt[4])
        vt = sub3(v, mul3(n, vn))
        w = times3(r, vt)
        speed = sqrt(dot3(w, w))
        slope = friction_slope(fn, speed, kt)
        y = mul3(times3(r, w), slope)
        along = dot3(n, a)
        tangential = sub3(a, mul3(n, along))
        b = times3(r, tangential)
        slope_fn, t, adj_k = friction_adjoint(fn, speed, kt, -dot3(w, b))
        adj_w = sub3(mul3(w, t), mul3(b, slope))
        adj_vt = times3(r, adj_w)
        adj_r = sub3(times3(vt, adj_w), mul3(times3(w, tangential), slope))
        adj_c, normal_vn, adj_kn = normal_adjoint(clock, c, vn, kn, along + slope_fn)
        adj_vn = -dot3(n, adj_vt) + normal_vn
        adj_v = fma3(n, adj_vn, adj_vt)
        adj_n = add3(sub3(mul3(a, fn + dot3(n, y)), mul3(adj_vt, vn)), fma3(y, along, mul3(v, adj_vn)))
        adj_kt = (adj_k[0], adj_k[1], adj_r[0], adj_r[1], adj_r[2])
        return adj_c, adj_v, adj_n, adj_kn, adj_kt

    return force, adjoint


@device
def without_turning(torque, f, w, n, kt, k_t, i):
    """Return the torque unchanged."""
    return torque


@device
def without_turning_adjoint(a, a_torque, f, w, n, kt, k_t, i, a_w, a_n, adj_k_t):
    """Return the cotangents unchanged."""
    return a, a_w, a_n


@functools.cache
def turning_friction(friction, add_friction):
    """Return turning and its adjoint.

    turning(torque, f, w, n, kt, k_t, i) -> torque with friction for the contact force f, angular velocity w and normal
    n. Its adjoint takes the cotangent ``a`` of f and returns a, a_w and a_n with their further parts.
    """
    if not friction.turning:
        return without_turning, without_turning_adjoint
    slope, slope_adjoint, first = friction.slope, friction.adjoint, friction.width

    @device
    def turning(torque, f, w, n, kt, k_t, i):
        """Return the torque with torsional and rolling friction."""
        fn = dot3(n, f)
        l_n, l_t = k_t[i, first], k_t[i, first + 1]
        wn = dot3(n, w)
        wt = sub3(w, mul3(n, wn))
        s_n = slope(fn, l_n * sqrt(wn * wn), kt)
        s_t = slope(fn, l_t * sqrt(dot3(wt, wt)), kt)
        return sub3(torque, fma3(wt, l_t * l_t * s_t, mul3(n, l_n * l_n * s_n * wn)))

    @device
    def turning_adjoint(a, a_torque, f, w, n, kt, k_t, i, a_w, a_n, adj_k_t):
        """Transpose of turning, with b = adj_torque, m = l^2 s and t = adj_speed / speed of the law.

        adj_s = -l^2 w.b, adj_w = -m b + l^2 t w and adj_l = -2 l s w.b + l t |w|^2.
        """
        fn = dot3(n, f)
        l_n, l_t = k_t[i, first], k_t[i, first + 1]
        wn = dot3(n, w)
        wt = sub3(w, mul3(n, wn))
        rate = sqrt(dot3(wt, wt))
        s_n = slope(fn, l_n * sqrt(wn * wn), kt)
        s_t = slope(fn, l_t * rate, kt)
        b_n = wn * dot3(n, a_torque)
        b_t = dot3(wt, a_torque)
        fn_n, t_n, k_n = slope_adjoint(fn, l_n * sqrt(wn * wn), kt, -(l_n * l_n * b_n))
        fn_t, t_t, k_r = slope_adjoint(fn, l_t * rate, kt, -(l_t * l_t * b_t))
        m_n = l_n * l_n * s_n
        adj_wn = l_n * l_n * t_n * wn - m_n * dot3(n, a_torque)
        adj_wt = sub3(mul3(wt, l_t * l_t * t_t), mul3(a_torque, l_t * l_t * s_t))
        adj_k_t[i, first] += l_n * (t_n * wn * wn - s_n * (b_n + b_n))
        adj_k_t[i, first + 1] += l_t * (t_t * rate * rate - s_t * (b_t + b_t))
        add_friction(adj_k_t, i, k_n)
        add_friction(adj_k_t, i, k_r)
        # w_t = w - n w_n: what w_t takes, w_n gives back.
        adj_wn = adj_wn - dot3(n, adj_wt)
        adj_fn = fn_n + fn_t
        a_w = add3(a_w, fma3(n, adj_wn, adj_wt))
        a_n = add3(a_n, add3(mul3(w, adj_wn), mul3(f, adj_fn)))
        a_n = sub3(a_n, fma3(a_torque, m_n * wn, mul3(adj_wt, wn)))
        return fma3(n, adj_fn, a), a_w, a_n

    return turning, turning_adjoint
