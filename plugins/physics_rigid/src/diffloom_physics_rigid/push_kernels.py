"""Kernels of external forces on points of bodies in windows of time."""

from diffloom_kernels import (
    add3,
    add33,
    cross3,
    device,
    ld3,
    ld6,
    matvec33,
    mul3,
    outer3,
    quat_matrix,
    quat_matrix_adjoint,
    scene_row,
    st3,
    tmatvec33,
)
from diffloom_mechanics.kernels import window_share


@device
def body_push_force(i, clock, q, u, starts, window, start, end, follows, force, point):
    """Sum share (F, R p x F) over the windows of body i; F turns with the body if ``follows`` is 1."""
    zero = q.dtype.type(0)
    total = (zero, zero, zero)
    torque = (zero, zero, zero)
    for s in range(starts[i], starts[i + 1]):
        k = window[s]
        share = window_share(clock, start[k], end[k])
        if share > zero:
            R = quat_matrix((q[i, 3], q[i, 4], q[i, 5], q[i, 6]))
            F = mul3(ld3(force, scene_row(i, k)), share)
            if follows[k] == 1:
                F = matvec33(R, F)
            total = add3(total, F)
            torque = add3(torque, cross3(matvec33(R, ld3(point, scene_row(i, k))), F))
    return (total[0], total[1], total[2], torque[0], torque[1], torque[2])


@device
def body_push_force_adjoint(
    i, clock, q, u, starts, window, start, end, follows, force, point, adj_f, adj_force, adj_point
):
    """Transpose of body_push_force; the times are constants."""
    zero = q.dtype.type(0)
    a_r = (zero, zero, zero, zero)
    for s in range(starts[i], starts[i + 1]):
        k = window[s]
        share = window_share(clock, start[k], end[k])
        if share > zero:
            r = (q[i, 3], q[i, 4], q[i, 5], q[i, 6])
            R = quat_matrix(r)
            given = mul3(ld3(force, scene_row(i, k)), share)
            F = given
            if follows[k] == 1:
                F = matvec33(R, given)
            p = ld3(point, scene_row(i, k))
            arm = matvec33(R, p)
            a_total, a_torque = ld6(adj_f, i)
            a_F = add3(a_total, cross3(a_torque, arm))
            a_arm = cross3(F, a_torque)
            a_R = outer3(a_arm, p)
            if follows[k] == 1:
                a_R = add33(a_R, outer3(a_F, given))
                a_F = tmatvec33(R, a_F)
            b = quat_matrix_adjoint(r, a_R)
            a_r = (a_r[0] + b[0], a_r[1] + b[1], a_r[2] + b[2], a_r[3] + b[3])
            own = scene_row(i, k)
            st3(adj_force, own, add3(ld3(adj_force, own), mul3(a_F, share)))
            st3(adj_point, own, add3(ld3(adj_point, own), tmatvec33(R, a_arm)))
    return (zero, zero, zero, a_r[0], a_r[1], a_r[2], a_r[3]), (zero, zero, zero, zero, zero, zero)
