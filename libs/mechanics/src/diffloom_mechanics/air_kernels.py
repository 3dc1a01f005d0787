"""Drag of a body in moving air, Magnus lift, buoyancy and rotational damping, with the adjoint.

With w = v - wind and the angular velocity o of the body, all in world axes:

    f = -c1 w - c2 |w| w + s o x w + b        torque = -d o
"""

from diffloom_kernels import add3, constant, cross3, device, dot3, ld3, ld6, mul3, neg3, sqrt, st3, sub3


@device
def drag(w, c1, c2):
    """-c1 w - c2 |w| w."""
    return mul3(w, -(c1 + c2 * sqrt(dot3(w, w))))


@device
def drag_adjoint(w, c1, c2, a):
    """adj_w = -(c1 + c2 |w|) a - c2 (w.a / |w|) w, adj_c1 = -w.a, adj_c2 = -|w| w.a; at rest the slope is -c1 a."""
    n = sqrt(dot3(w, w))
    along = dot3(w, a)
    zero = constant(n, 0)
    turned = c2 * along / n if n > zero else zero
    return add3(mul3(a, -(c1 + c2 * n)), mul3(w, -turned)), -along, -(n * along)


@device
def body_air(i, clock, q, u, linear, quadratic, lift, angular, wind, buoyancy):
    """Return drag, Magnus lift and buoyancy of a body, and the torque that damps its rotation."""
    v, o = ld6(u, i)
    w = sub3(v, ld3(wind, i))
    f = add3(add3(drag(w, linear[i], quadratic[i]), mul3(cross3(o, w), lift[i])), ld3(buoyancy, i))
    t = mul3(o, -angular[i])
    return f[0], f[1], f[2], t[0], t[1], t[2]


@device
def body_air_adjoint(
    i, clock, q, u, linear, quadratic, lift, angular, wind, buoyancy,
    adj_f, adj_linear, adj_quadratic, adj_lift, adj_angular, adj_wind, adj_buoyancy,
):
    """Transpose of body_air, with a and b the cotangents of force and torque.

    adj_w = (drag's) + s a x o, adj_o = s w x a - d b, adj_s = a.(o x w), adj_d = -o.b, adj_wind = -adj_w, adj_buoyancy
    = a.
    """
    zero = q.dtype.type(0)
    v, o = ld6(u, i)
    w = sub3(v, ld3(wind, i))
    a, b = ld6(adj_f, i)
    a_w, a_linear, a_quadratic = drag_adjoint(w, linear[i], quadratic[i], a)
    a_w = add3(a_w, mul3(cross3(a, o), lift[i]))
    a_o = add3(mul3(cross3(w, a), lift[i]), mul3(b, -angular[i]))
    adj_linear[i] += a_linear
    adj_quadratic[i] += a_quadratic
    adj_lift[i] += dot3(a, cross3(o, w))
    adj_angular[i] -= dot3(o, b)
    st3(adj_wind, i, add3(ld3(adj_wind, i), neg3(a_w)))
    st3(adj_buoyancy, i, add3(ld3(adj_buoyancy, i), a))
    return (zero, zero, zero, zero, zero, zero, zero), (a_w[0], a_w[1], a_w[2], a_o[0], a_o[1], a_o[2])
