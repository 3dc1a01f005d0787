"""Motion of a rigid body: forces kick it, and between kicks it rotates freely with exactly constant angular momentum.

In the body's axes, with inertia I, J = I^-1 and momentum P = I O, free rotation obeys P' = P x O. In a time h the
orientation turns by r+ = r exp(s), where s is the Magnus series of dr/dt = r O/2 (Magnus 1954) up to the fourth power
of h. With a_k = h^(k+1) times the k-th time derivative of O:
    s = a0 + a1/2 + a2/6 + a3/24 + a0 x a1/12 + a0 x a2/24.
The momentum in the world is constant for any s, so no step length makes a rotation grow.
"""

from diffloom_kernels import (
    add3,
    add33,
    any_lane,
    constant,
    cross3,
    device,
    ld3,
    matvec33,
    mul3,
    not_lanes,
    outer3,
    quat_add,
    quat_conj,
    quat_matrix,
    quat_matrix_adjoint,
    quat_mul,
    quat_mul_adjoint,
    quat_normalize,
    quat_normalize_adjoint,
    quat_rotate,
    quat_rotate_adjoint,
    st3,
    tmatvec33,
    where3,
)
from diffloom_mechanics.kernels import quat_exp, quat_exp_adjoint
from diffloom_physics_rigid.rotation_kernels import (
    add_to_sym,
    ld_sym,
    sym_add,
    sym_mul,
    sym_outer,
    sym_scale,
    where6,
    where7,
)


@device
def turn_series(P, K):
    """Compute the rotation vector s for momentum P and K = h J, and the terms of its series."""
    a0 = sym_mul(K, P)
    b1 = cross3(P, a0)
    a1 = sym_mul(K, b1)
    b2 = add3(cross3(b1, a0), cross3(P, a1))
    a2 = sym_mul(K, b2)
    b3 = add3(add3(cross3(b2, a0), mul3(cross3(b1, a1), constant(P[0], 2))), cross3(P, a2))
    a3 = sym_mul(K, b3)
    s = add3(a0, mul3(a1, constant(P[0], 1 / 2)))
    s = add3(s, mul3(add3(cross3(a0, a1), add3(a2, a2)), constant(P[0], 1 / 12)))
    s = add3(s, mul3(add3(cross3(a0, a2), a3), constant(P[0], 1 / 24)))
    return s, a0, a1, a2, b1, b2, b3


@device
def turn_series_adjoint(P, K, adj_s):
    """Compute the cotangents of P and K: the series of turn_series in reverse order.

    c = p x q gives adj_p = q x adj_c and adj_q = adj_c x p.
    """
    s, a0, a1, a2, b1, b2, b3 = turn_series(P, K)
    two = constant(P[0], 2)
    t12 = mul3(adj_s, constant(P[0], 1 / 12))
    t24 = mul3(adj_s, constant(P[0], 1 / 24))
    adj_a3 = t24
    adj_a2 = add3(add3(t12, t12), cross3(t24, a0))
    adj_a1 = add3(mul3(adj_s, constant(P[0], 1 / 2)), cross3(t12, a0))
    adj_a0 = add3(adj_s, add3(cross3(a1, t12), cross3(a2, t24)))
    adj_b3 = sym_mul(K, adj_a3)
    adj_K = sym_outer(adj_a3, b3)
    adj_b2 = cross3(a0, adj_b3)
    adj_a0 = add3(adj_a0, cross3(adj_b3, b2))
    adj_b1 = mul3(cross3(a1, adj_b3), two)
    adj_a1 = add3(adj_a1, mul3(cross3(adj_b3, b1), two))
    adj_P = cross3(a2, adj_b3)
    adj_a2 = add3(adj_a2, cross3(adj_b3, P))
    adj_b2 = add3(adj_b2, sym_mul(K, adj_a2))
    adj_K = sym_add(adj_K, sym_outer(adj_a2, b2))
    adj_b1 = add3(adj_b1, cross3(a0, adj_b2))
    adj_a0 = add3(adj_a0, cross3(adj_b2, b1))
    adj_P = add3(adj_P, cross3(a1, adj_b2))
    adj_a1 = add3(adj_a1, cross3(adj_b2, P))
    adj_b1 = add3(adj_b1, sym_mul(K, adj_a1))
    adj_K = sym_add(adj_K, sym_outer(adj_a1, b1))
    adj_P = add3(adj_P, cross3(a0, adj_b1))
    adj_a0 = add3(adj_a0, cross3(adj_b1, P))
    adj_P = add3(adj_P, sym_mul(K, adj_a0))
    adj_K = sym_add(adj_K, sym_outer(adj_a0, P))
    return adj_P, adj_K


@device
def body_acceleration(i, q, u, f, inverse_mass, gravity, inertia, inverse_inertia):
    """Compute f / m + g and R J R^T torque; m^-1, g and J are 0 for a fixed body."""
    m = inverse_mass[i]
    g = ld3(gravity, i)
    R = quat_matrix((q[3], q[4], q[5], q[6]))
    w = matvec33(R, sym_mul(ld_sym(inverse_inertia, i), tmatvec33(R, (f[3], f[4], f[5]))))
    return (f[0] * m + g[0], f[1] * m + g[1], f[2] * m + g[2], w[0], w[1], w[2])


@device
def body_acceleration_adjoint(
    i, q, u, f, inverse_mass, gravity, inertia, inverse_inertia,
    adj, adj_inverse_mass, adj_gravity, adj_inertia, adj_inverse_inertia,
):
    """Transpose of body_acceleration.

    With b = R^T adj_w and t = R^T torque: adj_torque = R J b, adj_J = b t^T, adj_R = adj_w (J t)^T + torque (J b)^T.
    """
    zero = inverse_mass.dtype.type(0)
    m = inverse_mass[i]
    push = (adj[0], adj[1], adj[2])
    turn = (adj[3], adj[4], adj[5])
    torque = (f[3], f[4], f[5])
    r = (q[3], q[4], q[5], q[6])
    R = quat_matrix(r)
    J = ld_sym(inverse_inertia, i)
    t = tmatvec33(R, torque)
    b = tmatvec33(R, turn)
    Jb = sym_mul(J, b)
    adj_inverse_mass[i] += f[0] * push[0] + f[1] * push[1] + f[2] * push[2]
    st3(adj_gravity, i, add3(ld3(adj_gravity, i), push))
    add_to_sym(adj_inverse_inertia, i, sym_outer(b, t))
    a_r = quat_matrix_adjoint(r, add33(outer3(turn, sym_mul(J, t)), outer3(torque, Jb)))
    w = matvec33(R, Jb)
    return (
        (zero, zero, zero, a_r[0], a_r[1], a_r[2], a_r[3]), (zero, zero, zero, zero, zero, zero),
        (push[0] * m, push[1] * m, push[2] * m, w[0], w[1], w[2]),
    )


@device
def body_kicked_drift(i, kick, drift, q, u, f, inverse_mass, gravity, inertia, inverse_inertia):
    """Kick for a time ``kick`` and move freely for ``drift``; a fixed body keeps q and u.

    v+ = v + kick (f / m + g), x+ = x + drift v+;
    P = I R^T w + kick R^T torque, r+ = r exp(s(P)), w+ = R+ J exp(-s) P.
    """
    m = inverse_mass[i]
    free = m > inverse_mass.dtype.type(0)
    if not_lanes(any_lane(free)):
        return q, u
    r = (q[3], q[4], q[5], q[6])
    v = add3((u[0], u[1], u[2]), mul3(add3(mul3((f[0], f[1], f[2]), m), ld3(gravity, i)), kick))
    x = add3((q[0], q[1], q[2]), mul3(v, drift))
    R = quat_matrix(r)
    J = ld_sym(inverse_inertia, i)
    O = tmatvec33(R, (u[3], u[4], u[5]))
    P = add3(sym_mul(ld_sym(inertia, i), O), mul3(tmatvec33(R, (f[3], f[4], f[5])), kick))
    s, _, _, _, _, _, _ = turn_series(P, sym_scale(J, drift))
    e = quat_exp(s)
    r = quat_normalize(quat_mul(r, e))
    w = matvec33(quat_matrix(r), sym_mul(J, quat_rotate(quat_conj(e), P)))
    return (
        where7(free, (x[0], x[1], x[2], r[0], r[1], r[2], r[3]), q),
        where6(free, (v[0], v[1], v[2], w[0], w[1], w[2]), u),
    )


@device
def body_kicked_drift_adjoint(
    i, kick, drift, q, u, f, inverse_mass, gravity, inertia, inverse_inertia,
    adj_q, adj_u, adj_inverse_mass, adj_gravity, adj_inertia, adj_inverse_inertia,
):
    """Transpose of body_kicked_drift, its lines in reverse order."""
    zero = inverse_mass.dtype.type(0)
    none = (zero, zero, zero, zero, zero, zero)
    m = inverse_mass[i]
    free = m > zero
    if not_lanes(any_lane(free)):
        return adj_q, adj_u, none
    r = (q[3], q[4], q[5], q[6])
    w = (u[3], u[4], u[5])
    torque = (f[3], f[4], f[5])
    a_x = (adj_q[0], adj_q[1], adj_q[2])
    a_w = (adj_u[3], adj_u[4], adj_u[5])
    R = quat_matrix(r)
    I = ld_sym(inertia, i)
    J = ld_sym(inverse_inertia, i)
    K = sym_scale(J, drift)
    O = tmatvec33(R, w)
    P = add3(sym_mul(I, O), mul3(tmatvec33(R, torque), kick))
    s, _, _, _, _, _, _ = turn_series(P, K)
    e = quat_exp(s)
    turned = quat_mul(r, e)
    r_next = quat_normalize(turned)
    back = quat_conj(e)
    P_next = quat_rotate(back, P)
    O_next = sym_mul(J, P_next)

    a_O_next = tmatvec33(quat_matrix(r_next), a_w)
    a_r = quat_add((adj_q[3], adj_q[4], adj_q[5], adj_q[6]), quat_matrix_adjoint(r_next, outer3(a_w, O_next)))
    a_J = sym_outer(a_O_next, P_next)
    a_back, a_P = quat_rotate_adjoint(back, P, sym_mul(J, a_O_next))
    a_r, a_e = quat_mul_adjoint(r, e, quat_normalize_adjoint(turned, a_r))
    a_s = quat_exp_adjoint(s, quat_add(a_e, quat_conj(a_back)))
    a_P_series, a_K = turn_series_adjoint(P, K, a_s)
    a_P = add3(a_P, a_P_series)
    add_to_sym(adj_inverse_inertia, i, where6(free, sym_add(a_J, sym_scale(a_K, drift)), none))
    add_to_sym(adj_inertia, i, where6(free, sym_outer(a_P, O), none))
    a_O = sym_mul(I, a_P)
    a_t = mul3(a_P, kick)
    a_r = quat_add(a_r, quat_matrix_adjoint(r, add33(outer3(w, a_O), outer3(torque, a_t))))
    a_v = add3((adj_u[0], adj_u[1], adj_u[2]), mul3(a_x, drift))
    push = where3(free, mul3(a_v, kick), (zero, zero, zero))
    adj_inverse_mass[i] += f[0] * push[0] + f[1] * push[1] + f[2] * push[2]
    st3(adj_gravity, i, add3(ld3(adj_gravity, i), push))
    a_w = matvec33(R, a_O)
    a_torque = matvec33(R, a_t)
    return (
        where7(free, (a_x[0], a_x[1], a_x[2], a_r[0], a_r[1], a_r[2], a_r[3]), adj_q),
        where6(free, (a_v[0], a_v[1], a_v[2], a_w[0], a_w[1], a_w[2]), adj_u),
        where6(free, (push[0] * m, push[1] * m, push[2] * m, a_torque[0], a_torque[1], a_torque[2]), none),
    )


@device
def body_drift(i, h, q, u, inverse_mass, gravity, inertia, inverse_inertia):
    """Move freely for a time h, without a kick."""
    zero = inverse_mass.dtype.type(0)
    none = (zero, zero, zero, zero, zero, zero)
    return body_kicked_drift(i, zero, h, q, u, none, inverse_mass, gravity, inertia, inverse_inertia)


@device
def body_drift_adjoint(
    i, h, q, u, inverse_mass, gravity, inertia, inverse_inertia,
    adj_q, adj_u, adj_inverse_mass, adj_gravity, adj_inertia, adj_inverse_inertia,
):
    """Transpose of body_drift."""
    zero = inverse_mass.dtype.type(0)
    none = (zero, zero, zero, zero, zero, zero)
    a, b, _ = body_kicked_drift_adjoint(
        i, zero, h, q, u, none, inverse_mass, gravity, inertia, inverse_inertia,
        adj_q, adj_u, adj_inverse_mass, adj_gravity, adj_inertia, adj_inverse_inertia,
    )
    return a, b


@device
def body_rate(i, q, u, inverse_mass, gravity, inertia, inverse_inertia):
    """Compute x' = v, r' = w r/2 and w' = R J (P x O), for P = I O and O = R^T w."""
    zero = inverse_mass.dtype.type(0)
    none = (zero, zero, zero, zero, zero, zero)
    if not inverse_mass[i] > zero:
        return (zero, zero, zero, zero, zero, zero, zero), none
    half = constant(zero, 0.5)
    r = (q[3], q[4], q[5], q[6])
    w = (u[3], u[4], u[5])
    d = quat_mul((zero, w[0], w[1], w[2]), r)
    R = quat_matrix(r)
    O = tmatvec33(R, w)
    P = sym_mul(ld_sym(inertia, i), O)
    a = matvec33(R, sym_mul(ld_sym(inverse_inertia, i), cross3(P, O)))
    return (
        (u[0], u[1], u[2], half * d[0], half * d[1], half * d[2], half * d[3]),
        (zero, zero, zero, a[0], a[1], a[2]),
    )


@device
def body_rate_adjoint(
    i, q, u, inverse_mass, gravity, inertia, inverse_inertia,
    adj_q, adj_u, adj_inverse_mass, adj_gravity, adj_inertia, adj_inverse_inertia,
):
    """Transpose of body_rate."""
    zero = inverse_mass.dtype.type(0)
    none = (zero, zero, zero, zero, zero, zero)
    if not inverse_mass[i] > zero:
        return (zero, zero, zero, zero, zero, zero, zero), none
    half = constant(zero, 0.5)
    r = (q[3], q[4], q[5], q[6])
    w = (u[3], u[4], u[5])
    R = quat_matrix(r)
    I = ld_sym(inertia, i)
    J = ld_sym(inverse_inertia, i)
    O = tmatvec33(R, w)
    P = sym_mul(I, O)
    c = cross3(P, O)
    a_a = (adj_u[3], adj_u[4], adj_u[5])
    b = tmatvec33(R, a_a)
    a_c = sym_mul(J, b)
    a_P = cross3(O, a_c)
    a_O = add3(cross3(a_c, P), sym_mul(I, a_P))
    add_to_sym(adj_inverse_inertia, i, sym_outer(b, c))
    add_to_sym(adj_inertia, i, sym_outer(a_P, O))
    a_d = (half * adj_q[3], half * adj_q[4], half * adj_q[5], half * adj_q[6])
    a_spin, a_r = quat_mul_adjoint((zero, w[0], w[1], w[2]), r, a_d)
    a_r = quat_add(a_r, quat_matrix_adjoint(r, add33(outer3(a_a, sym_mul(J, c)), outer3(w, a_O))))
    a_w = add3((a_spin[1], a_spin[2], a_spin[3]), matvec33(R, a_O))
    return (
        (zero, zero, zero, a_r[0], a_r[1], a_r[2], a_r[3]),
        (adj_q[0], adj_q[1], adj_q[2], a_w[0], a_w[1], a_w[2]),
    )


@device
def body_project(i, q):
    """Normalise the quaternion."""
    n = quat_normalize((q[3], q[4], q[5], q[6]))
    return (q[0], q[1], q[2], n[0], n[1], n[2], n[3])


@device
def body_project_adjoint(i, q, adj):
    """Transpose of body_project."""
    a = quat_normalize_adjoint((q[3], q[4], q[5], q[6]), (adj[3], adj[4], adj[5], adj[6]))
    return (adj[0], adj[1], adj[2], a[0], a[1], a[2], a[3])
