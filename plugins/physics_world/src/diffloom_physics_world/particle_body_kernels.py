"""Kernels of contact between particles and the shapes of rigid bodies, and the transposes.

A particle p touches body b if it is closer to b's shape than its thickness. The force f of the contact law acts on the
particle, and -f on the body at the same point with the arm p - x, so the pair conserves momentum and angular momentum.
Each side computes the contact by the same function, so no thread writes where another reads, and both forces have the
same bits.

``shapes`` is (kind, dims, grid_start, grid_size, grid_origin, grid_cell, grid_values) of body_shape_kernels, ``bounds``
(low, high, reach). ``points`` is (q, u, k_n, k_t) of the particles, ``bodies`` that of the bodies.
"""

import functools

from diffloom_kernels import (
    add3,
    add33,
    constant,
    cross3,
    device,
    dot3,
    ld3,
    ld6,
    ld7,
    matvec33,
    outer3,
    quat_matrix,
    sub3,
    tmatvec33,
)
from diffloom_mechanics.contact.kernels import (
    body_cotangents,
    is_near_box,
    may_touch,
    point_contact,
    shape_distance,
    shape_distance_adjoint,
)


@device
def ball_near(i, b, points, bodies, bounds, thickness):
    """Return true if particle i is within ``thickness`` of the ball around body b; a reach of -inf touches nothing."""
    d = sub3(ld3(points[0], i), ld3(bodies[0], b))
    r = bounds[2][b] + thickness
    return r > constant(r, 0) and dot3(d, d) < r * r


@device
def distance_at(i, b, points, bodies, shapes, bounds, thickness):
    """Return the distance of particle i from body b minus the thickness (1 if far), the normal in b's axes, and the
    point.
    """
    x, r = ld7(bodies[0], b)
    inside = tmatvec33(quat_matrix(r), sub3(ld3(points[0], i), x))
    one = constant(thickness, 1)
    if is_near_box(inside, thickness, bounds[0], bounds[1], b) and may_touch(b, inside, shapes, thickness):
        d, way = shape_distance(b, inside, shapes)
        return d - thickness, way, inside
    return one, inside, inside


@functools.cache
def particle_body(normal_law, friction_law):
    """Return forces on a particle and on a body, and their adjoints."""
    force_at, adjoint_at, load, add, load_friction, add_friction = point_contact(normal_law, friction_law)
    normal_pair, normal_pair_adjoint = normal_law.pair, normal_law.pair_adjoint
    friction_pair, friction_pair_adjoint = friction_law.pair, friction_law.pair_adjoint

    @device
    def slip_at(i, b, points, bodies):
        """Return the arm from the body's centre to the particle, and the particle's velocity relative to the body
        there.
        """
        arm = sub3(ld3(points[0], i), ld3(bodies[0], b))
        v, w = ld6(bodies[1], b)
        return arm, sub3(ld3(points[1], i), add3(v, cross3(w, arm)))

    @device(inline=False)
    def touch(i, b, clock, points, bodies, shapes, bounds, thickness):
        """Return the force of body b on particle i, and the arm; zero out of contact."""
        zero = constant(thickness, 0)
        c, way, _ = distance_at(i, b, points, bodies, shapes, bounds, thickness)
        if c >= zero:
            return (zero, zero, zero), way
        _, r = ld7(bodies[0], b)
        arm, slip = slip_at(i, b, points, bodies)
        kn = normal_pair(load(points[2], i), load(bodies[2], b))
        kt = friction_pair(load_friction(points[3], i), load_friction(bodies[3], b))
        return force_at(clock, c, slip, matvec33(quat_matrix(r), way), kn, kt), arm

    @device(inline=False)
    def touch_adjoint(i, b, own, clock, points, bodies, shapes, bounds, thickness, adj_p, adj_b, adj_k_n, adj_k_t):
        """Return the cotangents of the arm, of the particle's position, of the slip and of the axes R.

        Cotangents of the contact parameters of one side are added: those of the particle if ``own``, else of the body.
        """
        zero = constant(thickness, 0)
        none = (zero, zero, zero)
        c, way, inside = distance_at(i, b, points, bodies, shapes, bounds, thickness)
        if c >= zero:
            return none, none, none, none, (zero, zero, zero, zero, zero, zero, zero, zero, zero)
        _, r = ld7(bodies[0], b)
        R = quat_matrix(r)
        n = matvec33(R, way)
        arm, slip = slip_at(i, b, points, bodies)
        kn_p = load(points[2], i)
        kn_b = load(bodies[2], b)
        kt_p = load_friction(points[3], i)
        kt_b = load_friction(bodies[3], b)
        kn = normal_pair(kn_p, kn_b)
        kt = friction_pair(kt_p, kt_b)
        f = force_at(clock, c, slip, n, kn, kt)
        force_b, turn_b = ld6(adj_b, b)
        a_f = sub3(ld3(adj_p, i), add3(force_b, cross3(turn_b, arm)))
        a_c, a_v, a_n, a_kn, a_kt = adjoint_at(clock, c, slip, n, kn, kt, a_f)
        if own:
            add(adj_k_n, i, normal_pair_adjoint(kn_p, kn_b, a_kn))
            add_friction(adj_k_t, i, friction_pair_adjoint(kt_p, kt_b, a_kt))
        else:
            add(adj_k_n, b, normal_pair_adjoint(kn_b, kn_p, a_kn))
            add_friction(adj_k_t, b, friction_pair_adjoint(kt_b, kt_p, a_kt))
        _, w = ld6(bodies[1], b)
        a_arm = sub3(cross3(turn_b, f), cross3(a_v, w))
        a_inside = shape_distance_adjoint(b, inside, shapes, a_c, tmatvec33(R, a_n))
        a_R = add33(outer3(a_n, way), outer3(arm, a_inside))
        return add3(a_arm, matvec33(R, a_inside)), a_v, arm, f, a_R

    @device
    def particle_force(
        i, clock, q, u, q_b, u_b, kind, dims, low, high, grid_start, grid_size, grid_origin, grid_cell, grid_values,
        reach, thickness, members, k_n, k_t, b_n, b_t,
    ):
        """Sum the force on particle i from all bodies."""
        points = (q, u, k_n, k_t)
        bodies = (q_b, u_b, b_n, b_t)
        shapes = (kind, dims, grid_start, grid_size, grid_origin, grid_cell, grid_values)
        bounds = (low, high, reach)
        zero = q.dtype.type(0)
        total = (zero, zero, zero)
        for b in range(q_b.shape[0]):
            if ball_near(i, b, points, bodies, bounds, thickness[0]):
                f, _ = touch(i, b, clock, points, bodies, shapes, bounds, thickness[0])
                total = add3(total, f)
        return total

    @device
    def particle_force_adjoint(
        i, clock, q, u, q_b, u_b, kind, dims, low, high, grid_start, grid_size, grid_origin, grid_cell, grid_values,
        reach, thickness, members, k_n, k_t, b_n, b_t, adj_f, adj_b, adj_k_n, adj_k_t, adj_b_n, adj_b_t,
    ):
        """Sum the cotangents of particle i's position and velocity."""
        points = (q, u, k_n, k_t)
        bodies = (q_b, u_b, b_n, b_t)
        shapes = (kind, dims, grid_start, grid_size, grid_origin, grid_cell, grid_values)
        bounds = (low, high, reach)
        zero = q.dtype.type(0)
        a_x = (zero, zero, zero)
        a_u = a_x
        for b in range(q_b.shape[0]):
            if ball_near(i, b, points, bodies, bounds, thickness[0]):
                a_place, a_v, _, _, _ = touch_adjoint(
                    i, b, True, clock, points, bodies, shapes, bounds, thickness[0], adj_f, adj_b, adj_k_n, adj_k_t
                )
                a_x = add3(a_x, a_place)
                a_u = add3(a_u, a_v)
        return a_x, a_u

    @device
    def body_force(
        b, clock, q, u, q_p, u_p, kind, dims, low, high, grid_start, grid_size, grid_origin, grid_cell, grid_values,
        reach, thickness, members, k_n, k_t, p_n, p_t,
    ):
        """Sum force and torque on body b from all particles ``members``."""
        points = (q_p, u_p, p_n, p_t)
        bodies = (q, u, k_n, k_t)
        shapes = (kind, dims, grid_start, grid_size, grid_origin, grid_cell, grid_values)
        bounds = (low, high, reach)
        zero = q.dtype.type(0)
        force = (zero, zero, zero)
        torque = force
        for m in range(members.shape[0]):
            i = members[m]
            if ball_near(i, b, points, bodies, bounds, thickness[0]):
                f, arm = touch(i, b, clock, points, bodies, shapes, bounds, thickness[0])
                force = sub3(force, f)
                torque = sub3(torque, cross3(arm, f))
        return (force[0], force[1], force[2], torque[0], torque[1], torque[2])

    @device
    def body_force_adjoint(
        b, clock, q, u, q_p, u_p, kind, dims, low, high, grid_start, grid_size, grid_origin, grid_cell, grid_values,
        reach, thickness, members, k_n, k_t, p_n, p_t, adj_f, adj_p, adj_k_n, adj_k_t, adj_p_n, adj_p_t,
    ):
        """Sum the cotangents of body b's position, axes, velocity and angular velocity."""
        points = (q_p, u_p, p_n, p_t)
        bodies = (q, u, k_n, k_t)
        shapes = (kind, dims, grid_start, grid_size, grid_origin, grid_cell, grid_values)
        bounds = (low, high, reach)
        zero = q.dtype.type(0)
        a_x = (zero, zero, zero)
        a_u = a_x
        a_w = a_x
        a_R = (zero, zero, zero, zero, zero, zero, zero, zero, zero)
        for m in range(members.shape[0]):
            i = members[m]
            if ball_near(i, b, points, bodies, bounds, thickness[0]):
                a_place, a_v, arm, _, a_axes = touch_adjoint(
                    i, b, False, clock, points, bodies, shapes, bounds, thickness[0], adj_p, adj_f, adj_k_n, adj_k_t
                )
                a_x = sub3(a_x, a_place)
                a_u = sub3(a_u, a_v)
                a_w = sub3(a_w, cross3(arm, a_v))
                a_R = add33(a_R, a_axes)
        return body_cotangents(b, q, a_x, a_R, a_u, a_w)

    return (particle_force, particle_force_adjoint), (body_force, body_force_adjoint)
