"""Torsional and rolling friction of a touching point of a body, and the adjoint.

A contact is a small patch. Where the body turns about the normal, or rolls, points of the patch at the radius l move at
the speed l |w|, and the friction law holds them back as it does a sliding point: with w_n = n.w and w_t = w - n w_n

    torque = -l_n^2 s(f_n, l_n |w_n|) w_n n - l_t^2 s(f_n, l_t |w_t|) w_t,

at most mu f_n l_n about the normal and mu f_n l_t against rolling. l_n and l_t follow the law's own parameters in a row
of ``k_t``. Without the option the torque is handed on as it came.
"""

import functools

from diffloom_kernels import add3, device, dot3, fma3, mul3, sqrt, sub3


@device
def no_turning(torque, f, w, n, kt, k_t, i):
    return torque


@device
def no_turning_adjoint(a, a_torque, f, w, n, kt, k_t, i, a_w, a_n, adj_k_t):
    return a, a_w, a_n


@functools.cache
def turning_friction(friction, add_friction):
    """turning(torque, f, w, n, kt, k_t, i) -> torque with friction for the contact force f, angular velocity w and
    normal n; its adjoint takes the cotangent ``a`` of f and returns it, a_w and a_n with what is added to them."""
    if not friction.turning:
        return no_turning, no_turning_adjoint
    slope, slope_adjoint, first = friction.slope, friction.adjoint, friction.width

    @device
    def turning(torque, f, w, n, kt, k_t, i):
        fn = dot3(n, f)
        l_n, l_t = k_t[i, first], k_t[i, first + 1]
        wn = dot3(n, w)
        wt = sub3(w, mul3(n, wn))
        s_n = slope(fn, l_n * sqrt(wn * wn), kt)
        s_t = slope(fn, l_t * sqrt(dot3(wt, wt)), kt)
        return sub3(torque, fma3(wt, l_t * l_t * s_t, mul3(n, l_n * l_n * s_n * wn)))

    @device
    def turning_adjoint(a, a_torque, f, w, n, kt, k_t, i, a_w, a_n, adj_k_t):
        """For b = adj_torque and m = l^2 s: adj_s = -l^2 w.b, adj_w = -m b + l^2 t w and
        adj_l = -2 l s w.b + l t |w|^2, where t = adj_speed / speed of the law."""
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
