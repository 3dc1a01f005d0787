"""Kernels of a shell's triangles: in-plane elasticity, with or without air.

n is twice the area vector N, m = n / |n| its direction (zero for a collapsed triangle) and v the velocity of the
triangle relative to the wind. Drag -c_d |N.v| v acts against the motion, lift -c_l (N.v) |v| m along the normal; c_d
and c_l [kg/m^3] are half the density of air times the usual coefficients. Each corner takes a third of the force.
"""

from diffloom_kernels import (
    absolute,
    add3,
    constant,
    cross3,
    device,
    dot3,
    fma,
    fma3,
    ld3,
    mul3,
    neg3,
    sqrt,
    store_corners,
    sub3,
    where,
)
from diffloom_physics_cloth.shell_kernels import (
    add_products_gradient,
    area_of,
    metric,
    products,
    products_gradient,
    pull,
    pull_adjoint,
    push,
    shell_stress,
    shell_stress_adjoint,
)


@device
def air_force(n, inverse, v, drag, lift):
    """Compute the force of air on the whole triangle; ``inverse`` is 1 / |n|."""
    s = dot3(n, v) * constant(drag, 0.5)
    return fma3(v, -(drag * absolute(s)), mul3(n, -(lift * s * sqrt(dot3(v, v)) * inverse)))


@device
def air_force_adjoint(n, inverse, v, drag, lift, a):
    """Compute the cotangents of (n, v, drag, lift) for the cotangent ``a`` of the force; n carries that of |n| too."""
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


@device
def corners(e, nodes):
    """Load the numbers of the three corners."""
    return nodes[e, 0], nodes[e, 1], nodes[e, 2]


@device
def edges(v, i0, i1, i2):
    """Load v at the first corner and its differences along the two edges."""
    v0 = ld3(v, i0)
    return v0, sub3(ld3(v, i1), v0), sub3(ld3(v, i2), v0)


@device
def face_force(e, clock, x, u, nodes, rest, mu, lam, damping, activation, out):
    """Compute the in-plane elastic forces of triangle e.

    rest: (b0, b1, b2). The moduli come multiplied by the rest area.
    """
    i0, i1, i2 = corners(e, nodes)
    row = clock.row if activation.shape[0] > 1 else 0
    b = ld3(rest, e)
    _, d1, d2 = edges(x, i0, i1, i2)
    _, w1, w2 = edges(u, i0, i1, i2)
    _, J, inverse = area_of(d1, d2, b)
    C = pull(b, metric(d1, d2))
    E = pull(b, products(d1, d2, w1, w2))
    S = shell_stress(C, E, J, inverse, mu[e], lam[e], damping[e], activation[row, e])
    g1, g2 = products_gradient(d1, d2, push(b, S))
    store_corners(out, e, (add3(g1, g2), neg3(g1), neg3(g2)))


@device
def airy_face_force(
    e, clock, x, u, nodes, rest, mu, lam, damping, activation, drag, lift, wind_x, wind_y, wind_z, out
):
    """Compute the in-plane elastic forces of triangle e and the force of the air on it."""
    R = x.dtype.type
    i0, i1, i2 = corners(e, nodes)
    row = clock.row if activation.shape[0] > 1 else 0
    b = ld3(rest, e)
    _, d1, d2 = edges(x, i0, i1, i2)
    u0, w1, w2 = edges(u, i0, i1, i2)
    n, J, inverse = area_of(d1, d2, b)
    C = pull(b, metric(d1, d2))
    E = pull(b, products(d1, d2, w1, w2))
    S = shell_stress(C, E, J, inverse, mu[e], lam[e], damping[e], activation[row, e])
    g1, g2 = products_gradient(d1, d2, push(b, S))
    v = relative_wind(e, clock, u0, w1, w2, wind_x, wind_y, wind_z)
    f = mul3(air_force(n, inverse * (b[0] * b[2]), v, drag[e], lift[e]), R(1.0 / 3.0))
    store_corners(out, e, (add3(add3(g1, g2), f), sub3(f, g1), sub3(f, g2)))


@device
def relative_wind(e, clock, u0, w1, w2, wind_x, wind_y, wind_z):
    """Compute the mean velocity of the corners u0, u0 + w1, u0 + w2 minus the wind at this face and step."""
    third = wind_x.dtype.type(1.0 / 3.0)
    row = clock.row if wind_x.shape[0] > 1 else 0
    return sub3(fma3(add3(w1, w2), third, u0), (wind_x[row, e], wind_y[row, e], wind_z[row, e]))


@device
def shell_adjoint(
    e, row, d1, d2, w1, w2, y1, y2, J, inverse, rest, mu, lam, damping, activation,
    adj_rest, adj_mu, adj_lam, adj_damping, adj_activation,
):
    """Compute the cotangents of the edges d1, d2 and of their rates w1, w2.

    -y1 and -y2 are the cotangents of the forces on corners 1 and 2 relative to that on corner 0. The sum
    push(b, S) . products(d, y) equals S . Q with Q = pull(b, products(d, y)).
    """
    b = ld3(rest, e)
    c = metric(d1, d2)
    r = products(d1, d2, w1, w2)
    q = products(d1, d2, y1, y2)
    S, twice_C, a_E, a_mu, a_lam, a_damping, a_activation = shell_stress_adjoint(
        pull(b, c), pull(b, r), J, inverse, mu[e], lam[e], damping[e], activation[row, e], pull(b, q)
    )
    k = push(b, a_E)
    a1, a2 = products_gradient(d1, d2, push(b, twice_C))
    a1, a2 = add_products_gradient(a1, a2, w1, w2, k)
    a1, a2 = add_products_gradient(a1, a2, y1, y2, push(b, S))
    half_c = mul3(c, rest.dtype.type(0.5))  # because the edges, in which C is quadratic, need twice_C
    a_b = add3(add3(pull_adjoint(b, half_c, twice_C), pull_adjoint(b, r, a_E)), pull_adjoint(b, q, S))
    adj_rest[e, 0] += a_b[0]
    adj_rest[e, 1] += a_b[1]
    adj_rest[e, 2] += a_b[2]
    adj_mu[e] += a_mu
    adj_lam[e] += a_lam
    adj_damping[e] += a_damping
    adj_activation[row, e] += a_activation
    v1, v2 = products_gradient(d1, d2, k)
    return a1, a2, v1, v2


@device
def face_force_adjoint(
    e, clock, x, u, nodes, rest, mu, lam, damping, activation,
    adj_f, adj_x, adj_u, adj_rest, adj_mu, adj_lam, adj_damping, adj_activation,
):
    """Transpose of face_force."""
    i0, i1, i2 = corners(e, nodes)
    row = clock.row if activation.shape[0] > 1 else 0
    _, d1, d2 = edges(x, i0, i1, i2)
    _, w1, w2 = edges(u, i0, i1, i2)
    _, y1, y2 = edges(adj_f, i0, i1, i2)
    _, J, inverse = area_of(d1, d2, ld3(rest, e))
    a1, a2, v1, v2 = shell_adjoint(
        e, row, d1, d2, w1, w2, neg3(y1), neg3(y2), J, inverse, rest, mu, lam, damping, activation,
        adj_rest, adj_mu, adj_lam, adj_damping, adj_activation,
    )
    store_corners(adj_x, e, (neg3(add3(a1, a2)), a1, a2))
    store_corners(adj_u, e, (neg3(add3(v1, v2)), v1, v2))


@device
def airy_face_force_adjoint(
    e, clock, x, u, nodes, rest, mu, lam, damping, activation, drag, lift, wind_x, wind_y, wind_z,
    adj_f, adj_x, adj_u, adj_rest, adj_mu, adj_lam, adj_damping, adj_activation,
    adj_drag, adj_lift, adj_wind_x, adj_wind_y, adj_wind_z,
):
    """Transpose of airy_face_force."""
    R = x.dtype.type
    third = R(1.0 / 3.0)
    i0, i1, i2 = corners(e, nodes)
    row = clock.row if activation.shape[0] > 1 else 0
    b = ld3(rest, e)
    _, d1, d2 = edges(x, i0, i1, i2)
    u0, w1, w2 = edges(u, i0, i1, i2)
    y0, y1, y2 = edges(adj_f, i0, i1, i2)
    n, J, inverse = area_of(d1, d2, b)
    a1, a2, v1, v2 = shell_adjoint(
        e, row, d1, d2, w1, w2, neg3(y1), neg3(y2), J, inverse, rest, mu, lam, damping, activation,
        adj_rest, adj_mu, adj_lam, adj_damping, adj_activation,
    )
    v = relative_wind(e, clock, u0, w1, w2, wind_x, wind_y, wind_z)
    y = fma3(add3(y1, y2), third, y0)
    a_n, a_v, a_drag, a_lift = air_force_adjoint(n, inverse * (b[0] * b[2]), v, drag[e], lift[e], y)
    a1 = add3(a1, cross3(d2, a_n))
    a2 = add3(a2, cross3(a_n, d1))
    share = mul3(a_v, third)
    store_corners(adj_x, e, (neg3(add3(a1, a2)), a1, a2))
    store_corners(adj_u, e, (sub3(share, add3(v1, v2)), add3(v1, share), add3(v2, share)))
    adj_drag[e] += a_drag
    adj_lift[e] += a_lift
    windy = clock.row if wind_x.shape[0] > 1 else 0
    adj_wind_x[windy, e] -= a_v[0]
    adj_wind_y[windy, e] -= a_v[1]
    adj_wind_z[windy, e] -= a_v[2]
