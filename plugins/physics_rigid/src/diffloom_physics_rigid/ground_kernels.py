"""Contact of a body's points with the ground plane, summed over the body, and its transpose.

In the body's axes the plane is n_b = R^T n at height h = n.x - offset, so the height of a point costs one dot product.
``centre`` (bodies, 3) is the centre of mass in the axes of the points. Points come in clusters with a bounding ball
each, and most clusters are skipped at once. In lanes of parallel scenes (``any_lane``) all bodies visit a point that
one of them touches with, and the contributions of the rest are masked.
"""

import functools

from diffloom_kernels import (
    add3,
    add33,
    any_lane,
    cross3,
    device,
    dot3,
    ld3,
    ld6,
    ld7,
    matvec33,
    mul3,
    outer3,
    quat_matrix,
    quat_matrix_adjoint,
    st3,
    sub3,
    tmatvec33,
    where,
    where3,
)
from diffloom_mechanics.contact.kernels import parameter_row, point_contact, turning_friction


@functools.cache
def body_ground_contact(normal_law, friction_law):
    """Return body_ground_force and its adjoint for a NormalFunctions and a FrictionFunctions."""
    force_at, adjoint_at, load, add, load_friction, add_friction = point_contact(normal_law, friction_law)
    turning, turning_adjoint = turning_friction(friction_law, add_friction)
    where_normal = parameter_row(normal_law.width).keep_where
    where_friction = parameter_row(friction_law.width).keep_where

    @device
    def body_ground_force(
        i, clock, q, u, reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points,
        normal, offset, centre, k_n, k_t,
    ):
        """Sum f and arm x f over the points below the plane: force, and torque about the centre.

        arm = R (p - centre) - roundness n leads from the centre to the point of contact of the rounded point.
        """
        zero = q.dtype.type(0)
        force = (zero, zero, zero)
        torque = (zero, zero, zero)
        x, r = ld7(q, i)
        n = ld3(normal, i)
        h = dot3(n, x) - offset[i]
        near = h < reach[i]
        if any_lane(near):
            v, w = ld6(u, i)
            R = quat_matrix(r)
            n_b = tmatvec33(R, n)
            rho = roundness[i]
            middle = ld3(centre, i)
            h = h - rho - dot3(n_b, middle)
            kn = load(k_n, i)
            kt = load_friction(k_t, i)
            for c in range(cluster_starts[i], cluster_starts[i + 1]):
                close = near & (dot3(n_b, ld3(cluster_centre, c)) + h < cluster_radius[c])
                if any_lane(close):
                    for j in range(point_starts[c], point_starts[c + 1]):
                        p = ld3(points, j)
                        below = close & (dot3(n_b, p) + h < zero)
                        if any_lane(below):
                            p = sub3(p, middle)
                            arm = sub3(matvec33(R, p), mul3(n, rho))
                            gap = dot3(n, add3(x, arm)) - offset[i]
                            f = force_at(clock, gap, add3(v, cross3(w, arm)), n, kn, kt)
                            force = where3(below, add3(force, f), force)
                            turned = turning(add3(torque, cross3(arm, f)), f, w, n, kt, k_t, i)
                            torque = where3(below, turned, torque)
        return (force[0], force[1], force[2], torque[0], torque[1], torque[2])

    @device
    def body_ground_force_adjoint(
        i, clock, q, u, reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points,
        normal, offset, centre, k_n, k_t,
        adj_f, adj_normal, adj_offset, adj_centre, adj_k_n, adj_k_t,
    ):
        """Transpose of body_ground_force, over the same points."""
        zero = q.dtype.type(0)
        none = (zero, zero, zero)
        a_x = (zero, zero, zero)
        a_v = (zero, zero, zero)
        a_w = (zero, zero, zero)
        a_r = (zero, zero, zero, zero)
        x, r = ld7(q, i)
        n = ld3(normal, i)
        h = dot3(n, x) - offset[i]
        near = h < reach[i]
        if any_lane(near):
            v, w = ld6(u, i)
            R = quat_matrix(r)
            a_R = (zero, zero, zero, zero, zero, zero, zero, zero, zero)
            a_n = (zero, zero, zero)
            a_arms = (zero, zero, zero)
            n_b = tmatvec33(R, n)
            rho = roundness[i]
            middle = ld3(centre, i)
            h = h - rho - dot3(n_b, middle)
            kn = load(k_n, i)
            kt = load_friction(k_t, i)
            a_force, a_torque = ld6(adj_f, i)
            for c in range(cluster_starts[i], cluster_starts[i + 1]):
                close = near & (dot3(n_b, ld3(cluster_centre, c)) + h < cluster_radius[c])
                if any_lane(close):
                    for j in range(point_starts[c], point_starts[c + 1]):
                        p = ld3(points, j)
                        below = close & (dot3(n_b, p) + h < zero)
                        if any_lane(below):
                            p = sub3(p, middle)
                            arm = sub3(matvec33(R, p), mul3(n, rho))
                            place = add3(x, arm)
                            speed = add3(v, cross3(w, arm))
                            gap = dot3(n, place) - offset[i]
                            f = force_at(clock, gap, speed, n, kn, kt)
                            a_at, a_w, a_n = turning_adjoint(
                                add3(a_force, cross3(a_torque, arm)), a_torque, f, w, n, kt, k_t, i, a_w, a_n, adj_k_t
                            )
                            b_c, b_v, b_n, b_kn, b_kt = adjoint_at(clock, gap, speed, n, kn, kt, a_at)
                            b_c = where(below, b_c, zero)
                            b_v = where3(below, b_v, none)
                            b_n = where3(below, b_n, none)
                            b_p = mul3(n, b_c)
                            b_n = add3(b_n, mul3(place, b_c))
                            a_arm = where3(below, add3(add3(cross3(f, a_torque), cross3(b_v, w)), b_p), none)
                            a_x = add3(a_x, b_p)
                            a_v = add3(a_v, b_v)
                            a_w = add3(a_w, cross3(arm, b_v))
                            a_arms = add3(a_arms, a_arm)
                            a_R = add33(a_R, outer3(a_arm, p))
                            a_n = add3(a_n, sub3(b_n, mul3(a_arm, rho)))
                            adj_offset[i] -= b_c
                            add(adj_k_n, i, where_normal(below, b_kn))
                            add_friction(adj_k_t, i, where_friction(below, b_kt))
            st3(adj_normal, i, add3(ld3(adj_normal, i), a_n))
            st3(adj_centre, i, sub3(ld3(adj_centre, i), tmatvec33(R, a_arms)))
            a_r = quat_matrix_adjoint(r, a_R)
        return (
            (a_x[0], a_x[1], a_x[2], a_r[0], a_r[1], a_r[2], a_r[3]),
            (a_v[0], a_v[1], a_v[2], a_w[0], a_w[1], a_w[2]),
        )

    return body_ground_force, body_ground_force_adjoint
