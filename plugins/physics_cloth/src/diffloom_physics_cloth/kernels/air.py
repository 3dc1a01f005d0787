"""Drag and lift of one triangle in moving air, and the transpose.

N = d1 x d2 / 2 is the area vector, v the velocity of the triangle relative to the wind. Drag -c_d |N.v| v acts against
the motion, lift -c_l (N.v) |v| N/|N| along the normal; c_d and c_l [kg/m^3] are half the density of air times the usual
coefficients. The force belongs to the face once: each corner takes a third.
"""

from diffloom.kernels import absolute, add3, constant, cross3, device, dot3, mul3, sqrt, sub3, where


@device
def air_force(d1, d2, v, drag, lift):
    """Force on the whole triangle."""
    zero = constant(drag, 0)
    one = constant(drag, 1)
    N = mul3(cross3(d1, d2), constant(drag, 0.5))
    area = sqrt(dot3(N, N))
    s = dot3(N, v)
    along = lift * s * sqrt(dot3(v, v)) / where(area > zero, area, one)
    return sub3(mul3(v, -(drag * absolute(s))), mul3(N, along))


@device
def air_force_adjoint(d1, d2, v, drag, lift, a):
    """Cotangents of (d1, d2, v, drag, lift) for the cotangent ``a`` of the force."""
    zero = constant(drag, 0)
    one = constant(drag, 1)
    half = constant(drag, 0.5)
    N = mul3(cross3(d1, d2), half)
    area = sqrt(dot3(N, N))
    inverse = one / where(area > zero, area, one)
    m = mul3(N, inverse)
    s = dot3(N, v)
    speed = sqrt(dot3(v, v))
    va = dot3(v, a)
    ma = dot3(m, a)
    adj_drag = -(absolute(s) * va)
    adj_lift = -(s * speed * ma)
    sign = where(s > zero, one, where(s < zero, -one, zero))
    adj_s = -(drag * sign * va) - lift * speed * ma
    adj_speed = -(lift * s * ma)
    # adj_m = -lift s |v| a, of which the part along m has no effect.
    t = -(lift * s * speed) * inverse
    adj_v = add3(mul3(a, -(drag * absolute(s))), mul3(N, adj_s))
    adj_v = add3(adj_v, mul3(v, adj_speed / where(speed > zero, speed, one)))
    adj_N = add3(mul3(v, adj_s), mul3(sub3(a, mul3(m, ma)), t))
    adj_N = mul3(adj_N, half)
    return cross3(d2, adj_N), cross3(adj_N, d1), adj_v, adj_drag, adj_lift
