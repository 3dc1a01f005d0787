"""Triangles of a thin shell as elements: in-plane elasticity, with or without air."""

from diffloom.kernels import add3, device, dot3, ld3, mul3, neg3, st33, sub3
from diffloom_physics_cloth.kernels.air import air_force, air_force_adjoint
from diffloom_physics_cloth.kernels.membrane import (
    deformation,
    membrane_stress,
    membrane_stress_adjoint,
    normal_adjoint,
    normal_of,
)


@device
def corners(e, nodes):
    """Numbers of the three corners."""
    return nodes[e, 0], nodes[e, 1], nodes[e, 2]


@device
def shell_forces(e, row, x, u, i0, i1, i2, rest, mu, lam, damping, activation):
    """In-plane forces on corners 1 and 2: the columns of -P B^T. Corner 0 takes the opposite of their sum."""
    x0 = ld3(x, i0)
    u0 = ld3(u, i0)
    b0 = rest[e, 0]
    b1 = rest[e, 1]
    b2 = rest[e, 2]
    Fu, Fv = deformation(sub3(ld3(x, i1), x0), sub3(ld3(x, i2), x0), b0, b1, b2)
    Ru, Rv = deformation(sub3(ld3(u, i1), u0), sub3(ld3(u, i2), u0), b0, b1, b2)
    m, J, _ = normal_of(Fu, Fv)
    Pu, Pv = membrane_stress(Fu, Fv, Ru, Rv, m, J, mu[e], lam[e], damping[e], activation[row, e])
    return neg3(add3(mul3(Pu, b0), mul3(Pv, b1))), mul3(Pv, -b2)


@device
def face_force(e, clock, x, u, nodes, rest, mu, lam, damping, activation, out):
    """In-plane elasticity of triangle e. rest: (b0, b1, b2); the moduli are multiplied by the rest area."""
    i0, i1, i2 = corners(e, nodes)
    row = clock[0] if activation.shape[0] > 1 else 0
    f1, f2 = shell_forces(e, row, x, u, i0, i1, i2, rest, mu, lam, damping, activation)
    st33(out, e, neg3(add3(f1, f2)), f1, f2)


@device
def airy_face_force(
    e, clock, x, u, nodes, rest, mu, lam, damping, activation, drag, lift, wind_x, wind_y, wind_z, out
):
    """In-plane elasticity of triangle e, and the force of the air on it."""
    R = x.dtype.type
    i0, i1, i2 = corners(e, nodes)
    row = clock[0] if activation.shape[0] > 1 else 0
    f1, f2 = shell_forces(e, row, x, u, i0, i1, i2, rest, mu, lam, damping, activation)
    x0 = ld3(x, i0)
    v = relative_wind(e, clock, u, i0, i1, i2, wind_x, wind_y, wind_z)
    g = mul3(air_force(sub3(ld3(x, i1), x0), sub3(ld3(x, i2), x0), v, drag[e], lift[e]), R(1.0 / 3.0))
    st33(out, e, sub3(g, add3(f1, f2)), add3(f1, g), add3(f2, g))


@device
def relative_wind(e, clock, u, i0, i1, i2, wind_x, wind_y, wind_z):
    """Mean velocity of the corners minus the wind at this face and step."""
    R = u.dtype.type
    row = clock[0] if wind_x.shape[0] > 1 else 0
    mean = mul3(add3(ld3(u, i0), add3(ld3(u, i1), ld3(u, i2))), R(1.0 / 3.0))
    return sub3(mean, (wind_x[row, e], wind_y[row, e], wind_z[row, e]))


@device
def shell_adjoint(
    e, row, x, u, i0, i1, i2, rest, mu, lam, damping, activation, y1, y2,
    adj_rest, adj_mu, adj_lam, adj_damping, adj_activation,
):
    """Cotangents of the edges x1 - x0, x2 - x0 and of their rates, for the cotangents y1, y2 of shell_forces.

    The forces are -P B^T with F = D B, so adj_P = -Y B, and adj_D = adj_F B^T.
    """
    x0 = ld3(x, i0)
    u0 = ld3(u, i0)
    b0 = rest[e, 0]
    b1 = rest[e, 1]
    b2 = rest[e, 2]
    d1 = sub3(ld3(x, i1), x0)
    d2 = sub3(ld3(x, i2), x0)
    w1 = sub3(ld3(u, i1), u0)
    w2 = sub3(ld3(u, i2), u0)
    Fu, Fv = deformation(d1, d2, b0, b1, b2)
    Ru, Rv = deformation(w1, w2, b0, b1, b2)
    m, J, inverse = normal_of(Fu, Fv)
    Zu, Zv = deformation(y1, y2, -b0, -b1, -b2)
    a_Fu, a_Fv, a_Ru, a_Rv, a_m, a_mu, a_lam, a_damping, a_activation = membrane_stress_adjoint(
        Fu, Fv, Ru, Rv, m, J, mu[e], lam[e], damping[e], activation[row, e], Zu, Zv
    )
    n_Fu, n_Fv = normal_adjoint(Fu, Fv, m, inverse, a_m)
    a_Fu = add3(a_Fu, n_Fu)
    a_Fv = add3(a_Fv, n_Fv)
    Pu, Pv = membrane_stress(Fu, Fv, Ru, Rv, m, J, mu[e], lam[e], damping[e], activation[row, e])
    adj_rest[e, 0] += dot3(d1, a_Fu) + dot3(w1, a_Ru) - dot3(y1, Pu)
    adj_rest[e, 1] += dot3(d1, a_Fv) + dot3(w1, a_Rv) - dot3(y1, Pv)
    adj_rest[e, 2] += dot3(d2, a_Fv) + dot3(w2, a_Rv) - dot3(y2, Pv)
    adj_mu[e] += a_mu
    adj_lam[e] += a_lam
    adj_damping[e] += a_damping
    adj_activation[row, e] += a_activation
    return (
        add3(mul3(a_Fu, b0), mul3(a_Fv, b1)), mul3(a_Fv, b2),
        add3(mul3(a_Ru, b0), mul3(a_Rv, b1)), mul3(a_Rv, b2),
    )


@device
def face_force_adjoint(
    e, clock, x, u, nodes, rest, mu, lam, damping, activation,
    adj_f, adj_x, adj_u, adj_rest, adj_mu, adj_lam, adj_damping, adj_activation,
):
    """Transpose of face_force."""
    i0, i1, i2 = corners(e, nodes)
    row = clock[0] if activation.shape[0] > 1 else 0
    y0 = ld3(adj_f, i0)
    a1, a2, v1, v2 = shell_adjoint(
        e, row, x, u, i0, i1, i2, rest, mu, lam, damping, activation,
        sub3(ld3(adj_f, i1), y0), sub3(ld3(adj_f, i2), y0),
        adj_rest, adj_mu, adj_lam, adj_damping, adj_activation,
    )
    st33(adj_x, e, neg3(add3(a1, a2)), a1, a2)
    st33(adj_u, e, neg3(add3(v1, v2)), v1, v2)


@device
def airy_face_force_adjoint(
    e, clock, x, u, nodes, rest, mu, lam, damping, activation, drag, lift, wind_x, wind_y, wind_z,
    adj_f, adj_x, adj_u, adj_rest, adj_mu, adj_lam, adj_damping, adj_activation,
    adj_drag, adj_lift, adj_wind_x, adj_wind_y, adj_wind_z,
):
    """Transpose of airy_face_force."""
    R = x.dtype.type
    i0, i1, i2 = corners(e, nodes)
    row = clock[0] if activation.shape[0] > 1 else 0
    y0 = ld3(adj_f, i0)
    y1 = ld3(adj_f, i1)
    y2 = ld3(adj_f, i2)
    a1, a2, v1, v2 = shell_adjoint(
        e, row, x, u, i0, i1, i2, rest, mu, lam, damping, activation, sub3(y1, y0), sub3(y2, y0),
        adj_rest, adj_mu, adj_lam, adj_damping, adj_activation,
    )
    x0 = ld3(x, i0)
    v = relative_wind(e, clock, u, i0, i1, i2, wind_x, wind_y, wind_z)
    y = mul3(add3(y0, add3(y1, y2)), R(1.0 / 3.0))
    g1, g2, a_v, a_drag, a_lift = air_force_adjoint(
        sub3(ld3(x, i1), x0), sub3(ld3(x, i2), x0), v, drag[e], lift[e], y
    )
    a1 = add3(a1, g1)
    a2 = add3(a2, g2)
    third = mul3(a_v, R(1.0 / 3.0))
    st33(adj_x, e, neg3(add3(a1, a2)), a1, a2)
    st33(adj_u, e, sub3(third, add3(v1, v2)), add3(v1, third), add3(v2, third))
    adj_drag[e] += a_drag
    adj_lift[e] += a_lift
    windy = clock[0] if wind_x.shape[0] > 1 else 0
    adj_wind_x[windy, e] -= a_v[0]
    adj_wind_y[windy, e] -= a_v[1]
    adj_wind_z[windy, e] -= a_v[2]
