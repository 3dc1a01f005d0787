"""Drag and lift of one triangle in moving air, and the transpose.

n is twice the area vector N, m = n / |n| its direction (zero for a collapsed triangle) and v the velocity of the
triangle relative to the wind. Drag -c_d |N.v| v acts against the motion, lift -c_l (N.v) |v| m along the normal; c_d
and c_l [kg/m^3] are half the density of air times the usual coefficients. The force belongs to the face once: each
corner takes a third.
"""

from diffloom_kernels import absolute, constant, device, dot3, fma, fma3, mul3, sqrt, where


@device
def air_force(n, inverse, v, drag, lift):
    """Force on the whole triangle; ``inverse`` of |n|."""
    s = dot3(n, v) * constant(drag, 0.5)
    return fma3(v, -(drag * absolute(s)), mul3(n, -(lift * s * sqrt(dot3(v, v)) * inverse)))


@device
def air_force_adjoint(n, inverse, v, drag, lift, a):
    """Cotangents of (n, v, drag, lift) for the cotangent ``a`` of the force; that of |n| is in the one of n."""
    zero = constant(drag, 0)
    one = constant(drag, 1)
    m = mul3(n, inverse)
    s = dot3(n, v) * constant(drag, 0.5)
    size = absolute(s)
    speed = sqrt(dot3(v, v))
    va = dot3(v, a)
    ma = dot3(m, a)
    adj_drag = -(size * va)
    adj_lift = -(s * speed * ma)
    sign = where(s > zero, one, where(s < zero, -one, zero))
    adj_s = fma(drag * sign, va, lift * speed * ma) * constant(drag, -0.5)
    adj_speed = -(lift * s * ma)
    # adj_m = -lift s |v| a, of which the part along m has no effect.
    t = -(lift * s * speed) * inverse
    adj_v = fma3(a, -(drag * size), mul3(n, adj_s))
    adj_v = fma3(v, adj_speed / where(speed > zero, speed, one), adj_v)
    adj_n = fma3(v, adj_s, fma3(a, t, mul3(m, -(t * ma))))
    return adj_n, adj_v, adj_drag, adj_lift
