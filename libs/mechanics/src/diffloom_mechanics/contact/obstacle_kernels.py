"""Contact of particles and of rigid bodies with an obstacle of any shape, and the adjoints.

An obstacle stands at ``place`` with the axes ``turn`` (a rotation matrix), one row a node; ``distance`` and its adjoint
are the device functions of its shape (see obstacle_contact.Shape). What a gap does is the contact law's to say.
"""

import functools

from diffloom_kernels import (
    add3,
    add33,
    add_to3,
    cross3,
    device,
    ld3,
    ld6,
    ld7,
    ld33,
    matvec33,
    mul3,
    neg3,
    outer3,
    quat_matrix,
    quat_matrix_adjoint,
    st33,
    sub3,
    tmatvec33,
)
from diffloom_mechanics.contact.kernels import contact


@functools.cache
def posed_shape(distance, adjoint):
    """The distance and the normal of a shape in the world, and their adjoint."""

    @device
    def in_world(i, x, layout, table, place, turn, size):
        """d(l) and R n(l) with l = R^T (x - place)."""
        R = ld33(turn, i)
        d, n = distance(i, tmatvec33(R, sub3(x, ld3(place, i))), size, layout, table)
        return d, matvec33(R, n)

    @device
    def in_world_adjoint(
        i, x, layout, table, place, turn, size, adj_distance, adj_normal, adj_place, adj_turn, adj_size
    ):
        """Cotangent of x; adj_R = (x - place) adj_l^T + adj_normal n^T."""
        R = ld33(turn, i)
        away = sub3(x, ld3(place, i))
        own = tmatvec33(R, away)
        _, n = distance(i, own, size, layout, table)
        a_own = adjoint(i, own, size, layout, table, adj_distance, tmatvec33(R, adj_normal), adj_size)
        a_x = matvec33(R, a_own)
        add_to3(adj_place, i, neg3(a_x))
        st33(adj_turn, i, add33(ld33(adj_turn, i), add33(outer3(away, a_own), outer3(adj_normal, n))))
        return a_x

    return in_world, in_world_adjoint


@functools.cache
def particle_obstacle(distance, adjoint, normal, friction):
    """Force on a particle, which touches at its place, and its adjoint."""
    in_world, in_world_adjoint = posed_shape(distance, adjoint)
    contact_force, contact_adjoint, load, add, load_friction, add_friction = contact(normal, friction)

    @device
    def particle_force(i, clock, q, u, layout, table, place, turn, size, k_n, k_t):
        """The contact law with the gap and the normal of the shape."""
        zero = q.dtype.type(0)
        d, n = in_world(i, ld3(q, i), layout, table, place, turn, size)
        if d >= zero:
            return (zero, zero, zero)
        return contact_force(clock, d, ld3(u, i), n, load(k_n, i), load_friction(k_t, i))

    @device
    def particle_force_adjoint(
        i, clock, q, u, layout, table, place, turn, size, k_n, k_t,
        adj_f, adj_place, adj_turn, adj_size, adj_k_n, adj_k_t,
    ):
        """Transpose of particle_force."""
        zero = q.dtype.type(0)
        x = ld3(q, i)
        d, n = in_world(i, x, layout, table, place, turn, size)
        if d >= zero:
            return (zero, zero, zero), (zero, zero, zero)
        a_d, a_v, a_n, a_kn, a_kt = contact_adjoint(
            clock, d, ld3(u, i), n, load(k_n, i), load_friction(k_t, i), ld3(adj_f, i)
        )
        add(adj_k_n, i, a_kn)
        add_friction(adj_k_t, i, a_kt)
        a_x = in_world_adjoint(
            i, x, layout, table, place, turn, size, a_d, a_n, adj_place, adj_turn, adj_size
        )
        return a_x, a_v

    return particle_force, particle_force_adjoint


@functools.cache
def body_obstacle(distance, adjoint, normal, friction):
    """Force and torque on a rigid body, which touches with its contact points, and their adjoint."""
    in_world, in_world_adjoint = posed_shape(distance, adjoint)
    contact_force, contact_adjoint, load, add, load_friction, add_friction = contact(normal, friction)

    @device
    def body_force(
        i, clock, q, u, slope, reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points,
        layout, table, place, turn, size, k_n, k_t,
    ):
        """Sum of f and arm x f over the points whose balls touch, where arm = R p - roundness n leads from the centre
        to where the ball around p touches. Clusters that are too far away are left out: a distance changes by at most
        ``slope`` a metre."""
        zero = q.dtype.type(0)
        force = (zero, zero, zero)
        torque = (zero, zero, zero)
        x, r = ld7(q, i)
        d, n = in_world(i, x, layout, table, place, turn, size)
        if not d > slope[0] * reach[i]:
            v, w = ld6(u, i)
            R = quat_matrix(r)
            rho = roundness[i]
            kn = load(k_n, i)
            kt = load_friction(k_t, i)
            for c in range(cluster_starts[i], cluster_starts[i + 1]):
                middle = add3(x, matvec33(R, ld3(cluster_centre, c)))
                d, n = in_world(i, middle, layout, table, place, turn, size)
                if not d - rho > slope[0] * cluster_radius[c]:
                    for j in range(point_starts[c], point_starts[c + 1]):
                        offset = matvec33(R, ld3(points, j))
                        d, n = in_world(i, add3(x, offset), layout, table, place, turn, size)
                        if d < rho:
                            arm = sub3(offset, mul3(n, rho))
                            speed = add3(v, cross3(w, arm))
                            f = contact_force(clock, d - rho, speed, n, kn, kt)
                            force = add3(force, f)
                            torque = add3(torque, cross3(arm, f))
        return (force[0], force[1], force[2], torque[0], torque[1], torque[2])

    @device
    def body_force_adjoint(
        i, clock, q, u, slope, reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points,
        layout, table, place, turn, size, k_n, k_t,
        adj_f, adj_place, adj_turn, adj_size, adj_k_n, adj_k_t,
    ):
        """Transpose of body_force, over the same points."""
        zero = q.dtype.type(0)
        a_x = (zero, zero, zero)
        a_v = (zero, zero, zero)
        a_w = (zero, zero, zero)
        a_r = (zero, zero, zero, zero)
        x, r = ld7(q, i)
        d, n = in_world(i, x, layout, table, place, turn, size)
        if not d > slope[0] * reach[i]:
            v, w = ld6(u, i)
            R = quat_matrix(r)
            a_R = (zero, zero, zero, zero, zero, zero, zero, zero, zero)
            rho = roundness[i]
            kn = load(k_n, i)
            kt = load_friction(k_t, i)
            a_force, a_torque = ld6(adj_f, i)
            for c in range(cluster_starts[i], cluster_starts[i + 1]):
                middle = add3(x, matvec33(R, ld3(cluster_centre, c)))
                d, n = in_world(i, middle, layout, table, place, turn, size)
                if not d - rho > slope[0] * cluster_radius[c]:
                    for j in range(point_starts[c], point_starts[c + 1]):
                        p = ld3(points, j)
                        offset = matvec33(R, p)
                        at = add3(x, offset)
                        d, n = in_world(i, at, layout, table, place, turn, size)
                        if d < rho:
                            arm = sub3(offset, mul3(n, rho))
                            speed = add3(v, cross3(w, arm))
                            f = contact_force(clock, d - rho, speed, n, kn, kt)
                            b_d, b_v, b_n, b_kn, b_kt = contact_adjoint(
                                clock, d - rho, speed, n, kn, kt, add3(a_force, cross3(a_torque, arm))
                            )
                            a_arm = add3(cross3(f, a_torque), cross3(b_v, w))
                            a_at = in_world_adjoint(
                                i, at, layout, table, place, turn, size, b_d, sub3(b_n, mul3(a_arm, rho)),
                                adj_place, adj_turn, adj_size,
                            )
                            a_x = add3(a_x, a_at)
                            a_v = add3(a_v, b_v)
                            a_w = add3(a_w, cross3(arm, b_v))
                            a_R = add33(a_R, outer3(add3(a_arm, a_at), p))
                            add(adj_k_n, i, b_kn)
                            add_friction(adj_k_t, i, b_kt)
            a_r = quat_matrix_adjoint(r, a_R)
        return (
            (a_x[0], a_x[1], a_x[2], a_r[0], a_r[1], a_r[2], a_r[3]),
            (a_v[0], a_v[1], a_v[2], a_w[0], a_w[1], a_w[2]),
        )

    return body_force, body_force_adjoint
