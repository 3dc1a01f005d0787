"""How a rigid body moves: semi-implicit Euler for its centre, and a rotation that keeps angular momentum exactly.

In the body's own axes, with inertia I, J = I^-1 and momentum P = I O, free rotation obeys P' = P x O. Over one step
the torque first changes the momentum; then the orientation turns by r+ = r exp(s), where s is the Magnus series of
dr/dt = r O/2 up to the fourth power of dt. With a_k = dt^(k+1) times the k-th time derivative of O:
    s = a0 + a1/2 + a2/6 + a3/24 + a0 x a1/12 + a0 x a2/24.
The momentum in the world does not change in the turn, whatever s is: no step length makes a spin grow.
"""

from diffloom.kernels import (
    add3,
    add33,
    constant,
    cross3,
    device,
    ld3,
    ld6,
    ld7,
    matvec33,
    mul3,
    outer3,
    quat_add,
    quat_conj,
    quat_matrix,
    quat_mul,
    quat_mul_vjp,
    quat_normalize,
    quat_normalize_vjp,
    quat_rotate,
    quat_rotate_vjp,
    st3,
    st6,
    st7,
    tmatvec33,
)
from diffloom_physics_rigid.kernels.rotations import (
    add_to_sym,
    ld_sym,
    quat_exp,
    quat_exp_vjp,
    quat_matrix_vjp,
    sym_add,
    sym_mul,
    sym_outer,
    sym_scale,
)


@device
def turn_series(P, K):
    """The rotation vector s of one step for momentum P and K = dt J, and the series it is made of."""
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
def turn_series_vjp(P, K, adj_s):
    """Cotangents of P and K: the series of turn_series from its end; c = p x q gives adj_p = q x adj_c and
    adj_q = adj_c x p."""
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
def body_step(i, clock, q, u, f, inverse_mass, gravity, inertia, inverse_inertia, q_next, u_next):
    """v+ = v + dt (f / m + g), x+ = x + dt v+; P = I R^T w + dt R^T torque, r+ = r exp(s(P)),
    w+ = R+ J exp(-s) P. A body with inverse mass 0 is held: it keeps q and u."""
    dt = clock[2]
    x, r = ld7(q, i)
    v, w = ld6(u, i)
    m = inverse_mass[i]
    if m > q.dtype.type(0):
        v = add3(v, mul3(add3(mul3((f[0], f[1], f[2]), m), ld3(gravity, i)), dt))
        x = add3(x, mul3(v, dt))
        R = quat_matrix(r)
        J = ld_sym(inverse_inertia, i)
        P = add3(sym_mul(ld_sym(inertia, i), tmatvec33(R, w)), mul3(tmatvec33(R, (f[3], f[4], f[5])), dt))
        s, _, _, _, _, _, _ = turn_series(P, sym_scale(J, dt))
        e = quat_exp(s)
        r = quat_normalize(quat_mul(r, e))
        w = matvec33(quat_matrix(r), sym_mul(J, quat_rotate(quat_conj(e), P)))
    st7(q_next, i, x, r)
    st6(u_next, i, v, w)


@device
def body_step_adjoint(
    i, clock, q, u, f, inverse_mass, gravity, inertia, inverse_inertia,
    adj_q_next, adj_u_next, adj_q, adj_u, adj_f, adj_inverse_mass, adj_gravity, adj_inertia, adj_inverse_inertia,
):
    """Transpose of body_step, its lines in reverse order."""
    dt = clock[2]
    zero = q.dtype.type(0)
    a_x, a_r = ld7(adj_q_next, i)
    a_v, a_w = ld6(adj_u_next, i)
    m = inverse_mass[i]
    if not m > zero:
        st7(adj_q, i, a_x, a_r)
        st6(adj_u, i, a_v, a_w)
        st6(adj_f, i, (zero, zero, zero), (zero, zero, zero))
        return
    x, r = ld7(q, i)
    v, w = ld6(u, i)
    torque = (f[3], f[4], f[5])
    R = quat_matrix(r)
    I = ld_sym(inertia, i)
    J = ld_sym(inverse_inertia, i)
    K = sym_scale(J, dt)
    O = tmatvec33(R, w)
    P = add3(sym_mul(I, O), mul3(tmatvec33(R, torque), dt))
    s, _, _, _, _, _, _ = turn_series(P, K)
    e = quat_exp(s)
    turned = quat_mul(r, e)
    r_next = quat_normalize(turned)
    back = quat_conj(e)
    P_next = quat_rotate(back, P)
    O_next = sym_mul(J, P_next)

    a_O_next = tmatvec33(quat_matrix(r_next), a_w)
    a_r = quat_add(a_r, quat_matrix_vjp(r_next, outer3(a_w, O_next)))
    a_J = sym_outer(a_O_next, P_next)
    a_back, a_P = quat_rotate_vjp(back, P, sym_mul(J, a_O_next))
    a_r, a_e = quat_mul_vjp(r, e, quat_normalize_vjp(turned, a_r))
    a_s = quat_exp_vjp(s, quat_add(a_e, quat_conj(a_back)))
    a_P_series, a_K = turn_series_vjp(P, K, a_s)
    a_P = add3(a_P, a_P_series)
    add_to_sym(adj_inverse_inertia, i, sym_add(a_J, sym_scale(a_K, dt)))
    add_to_sym(adj_inertia, i, sym_outer(a_P, O))
    a_O = sym_mul(I, a_P)
    a_P_dt = mul3(a_P, dt)
    a_r = quat_add(a_r, quat_matrix_vjp(r, add33(outer3(w, a_O), outer3(torque, a_P_dt))))

    a_v = add3(a_v, mul3(a_x, dt))
    a_push = mul3(a_v, dt)
    adj_inverse_mass[i] += f[0] * a_push[0] + f[1] * a_push[1] + f[2] * a_push[2]
    st3(adj_gravity, i, add3(ld3(adj_gravity, i), a_push))
    st6(adj_f, i, mul3(a_push, m), matvec33(R, a_P_dt))
    st7(adj_q, i, a_x, a_r)
    st6(adj_u, i, a_v, matvec33(R, a_O))
