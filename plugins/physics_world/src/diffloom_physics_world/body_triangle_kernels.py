"""Kernels of contact between points of rigid bodies and triangles of particles: forces on either, and transposes.

A corner of a body could pass between the particles of a coarse sheet, so it touches the triangles. The contact of one
point with one triangle is that of sliding_kernels. Each side computes it by the same function, as in
particle_body_kernels.

``skin`` is (x, v, faces, k_n, k_t): positions and velocities of the particles, triangles, and their contact parameters,
a row each. ``bodies`` is (q, u, k_n, k_t), ``points`` (reach, roundness, cluster_starts, cluster_centre,
cluster_radius, point_starts, points) as in point_clusters. balls: centre and radius of the ball around each triangle.
thickness: distance from the triangles at which each body touches. pushes and slots are those of skin_kernels of
diffloom_mechanics.
"""

import functools

from diffloom_kernels import (
    add3,
    add33,
    cross3,
    device,
    dot3,
    ld3,
    ld6,
    ld7,
    matvec33,
    maximum,
    mul3,
    outer3,
    quat_matrix,
    sqrt,
    st3,
    sub3,
)
from diffloom_mechanics.contact.kernels import (
    body_cotangents,
    distribute_force,
    find_contact,
    find_contact_adjoint,
    gather_corner_cotangents,
    gather_corner_forces,
    is_near,
    parameter_row,
    store_corner_cotangents,
    store_corner_forces,
    triangle_contact,
)


@device
def write_ball(f, x, faces, balls):
    """Store centre and radius of the ball around triangle f."""
    R = x.dtype.type
    a = ld3(x, faces[f, 0])
    b = ld3(x, faces[f, 1])
    c = ld3(x, faces[f, 2])
    m = mul3(add3(a, add3(b, c)), R(1.0 / 3.0))
    a = sub3(a, m)
    b = sub3(b, m)
    c = sub3(c, m)
    st3(balls, f, m)
    # The ball is a little wider, so that rounding leaves no contact out.
    balls[f, 3] = sqrt(maximum(dot3(a, a), maximum(dot3(b, b), dot3(c, c)))) * R(1.00001)


@device
def body_near(f, b, balls, bodies, points, thickness):
    """Return true if the bounding balls of triangle f and body b overlap; a reach of -inf touches nothing."""
    r = points[0][b] + thickness[b] + balls[f, 3]
    return r > balls.dtype.type(0) and is_near(ld3(balls, f), ld3(bodies[0], b), r)


@device
def cluster_near(f, b, c, R, balls, bodies, points, thickness):
    """Return true if the bounding balls of triangle f and cluster c of body b overlap."""
    r = points[4][c] + points[1][b] + thickness[b] + balls[f, 3]
    return is_near(ld3(balls, f), add3(ld3(bodies[0], b), matvec33(R, ld3(points[3], c))), r)


@functools.cache
def body_triangle(normal_law, friction_law):
    """Return stages and forces on particles and on bodies, and their adjoints."""
    force_on, force_adjoint = triangle_contact(normal_law, friction_law)
    load, add, _, _ = parameter_row(normal_law.width)
    load_friction, add_friction, _, _ = parameter_row(friction_law.width)
    normal_pair, normal_pair_adjoint = normal_law.pair, normal_law.pair_adjoint
    friction_pair, friction_pair_adjoint = friction_law.pair, friction_law.pair_adjoint

    @device(inline=False)
    def touch(f, b, j, clock, skin, bodies, points, thickness):
        """Return the force on body b at its point j from triangle f, its arm, and the corners' shares; zero out of
        contact.
        """
        x, v, faces, k_n, k_t = skin
        place, r = ld7(bodies[0], b)
        j0 = faces[f, 0]
        j1 = faces[f, 1]
        j2 = faces[f, 2]
        rho = points[1][b]
        p = add3(place, matvec33(quat_matrix(r), ld3(points[6], j)))
        meeting = find_contact(p, rho, thickness[b], ld3(x, j0), ld3(x, j1), ld3(x, j2))
        if not meeting[0]:
            zero = x.dtype.type(0)
            none = (zero, zero, zero)
            return none, none, (none, none, none)
        arm = sub3(meeting[6], place)
        speed, w = ld6(bodies[1], b)
        kn = normal_pair(load(k_n, f), load(bodies[2], b))
        kt = friction_pair(load_friction(k_t, f), load_friction(bodies[3], b))
        at = add3(speed, cross3(w, arm))
        force, taken = force_on(
            clock, meeting, rho, thickness[b], at, ld3(v, j0), ld3(v, j1), ld3(v, j2), kn, kt
        )  # fmt: skip
        return force, arm, taken

    @device(inline=False)
    def touch_adjoint(f, b, j, own, clock, skin, bodies, points, thickness, adj_p, adj_b, adj_k_n, adj_k_t):
        """Return the cotangents of the corners' x and (negative) v, of the body's centre, of R p, and of its
        velocities.

        Cotangents of the contact parameters of one side are added: those of the triangle if ``own``, else of the body.
        """
        x, v, faces, k_n, k_t = skin
        zero = x.dtype.type(0)
        none = (zero, zero, zero)
        place, r = ld7(bodies[0], b)
        j0 = faces[f, 0]
        j1 = faces[f, 1]
        j2 = faces[f, 2]
        x0 = ld3(x, j0)
        x1 = ld3(x, j1)
        x2 = ld3(x, j2)
        rho = points[1][b]
        p = add3(place, matvec33(quat_matrix(r), ld3(points[6], j)))
        meeting = find_contact(p, rho, thickness[b], x0, x1, x2)
        if not meeting[0]:
            nothing = (none, none, none)
            return nothing, nothing, none, none, none, none
        arm = sub3(meeting[6], place)
        speed, w = ld6(bodies[1], b)
        kn_f = load(k_n, f)
        kn_b = load(bodies[2], b)
        kt_f = load_friction(k_t, f)
        kt_b = load_friction(bodies[3], b)
        force_b, turn_b = ld6(adj_b, b)
        force, a_u, a_c, a_rest, a_kn, a_kt = force_adjoint(
            clock, meeting, rho, thickness[b], add3(speed, cross3(w, arm)), ld3(v, j0), ld3(v, j1), ld3(v, j2),
            normal_pair(kn_f, kn_b), friction_pair(kt_f, kt_b), add3(force_b, cross3(turn_b, arm)),
            ld3(adj_p, j0), ld3(adj_p, j1), ld3(adj_p, j2),
        )  # fmt: skip
        if own:
            add(adj_k_n, f, normal_pair_adjoint(kn_f, kn_b, a_kn))
            add_friction(adj_k_t, f, friction_pair_adjoint(kt_f, kt_b, a_kt))
        else:
            add(adj_k_n, b, normal_pair_adjoint(kn_b, kn_f, a_kn))
            add_friction(adj_k_t, b, friction_pair_adjoint(kt_b, kt_f, a_kt))
        a_arm = add3(cross3(a_u, w), cross3(force, turn_b))
        a_point, corners = find_contact_adjoint(p, rho, x0, x1, x2, meeting, a_c, a_rest, a_arm)
        u0, u1, u2 = distribute_force(meeting[7], meeting[1], meeting[5], a_u)
        return corners, (u0, u1, u2), sub3(a_point, a_arm), a_point, a_u, cross3(arm, a_u)

    @device
    def measure(
        f, clock, x, u, q_b, u_b, faces, slots, thickness, reach, roundness, cluster_starts, cluster_centre,
        cluster_radius, point_starts, places, k_n, k_t, b_n, b_t, balls, pushes,
    ):
        """Stage 1 on particles: measure the balls around triangles."""
        write_ball(f, x, faces, balls)

    @device
    def push_corners(
        f, clock, x, u, q_b, u_b, faces, slots, thickness, reach, roundness, cluster_starts, cluster_centre,
        cluster_radius, point_starts, places, k_n, k_t, b_n, b_t, balls, pushes,
    ):
        """Stage 2 on particles: sum the forces on the corners of triangle f from all points that touch it."""
        skin = (x, u, faces, k_n, k_t)
        bodies = (q_b, u_b, b_n, b_t)
        points = (reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, places)
        zero = x.dtype.type(0)
        s0 = (zero, zero, zero)
        s1 = s0
        s2 = s0
        for b in range(q_b.shape[0]):
            if body_near(f, b, balls, bodies, points, thickness):
                _, r = ld7(q_b, b)
                R = quat_matrix(r)
                for c in range(cluster_starts[b], cluster_starts[b + 1]):
                    if cluster_near(f, b, c, R, balls, bodies, points, thickness):
                        for j in range(point_starts[c], point_starts[c + 1]):
                            _, _, taken = touch(f, b, j, clock, skin, bodies, points, thickness)
                            s0 = sub3(s0, taken[0])
                            s1 = sub3(s1, taken[1])
                            s2 = sub3(s2, taken[2])
        store_corner_forces(f, pushes, s0, s1, s2)

    @device
    def particle_force(
        i, clock, x, u, q_b, u_b, faces, slots, thickness, reach, roundness, cluster_starts, cluster_centre,
        cluster_radius, point_starts, places, k_n, k_t, b_n, b_t, balls, pushes,
    ):
        """Sum the forces on particle i from its triangles."""
        zero = x.dtype.type(0)
        return gather_corner_forces(i, slots, pushes, (zero, zero, zero))

    @device
    def push_corners_adjoint(
        f, clock, x, u, q_b, u_b, faces, slots, thickness, reach, roundness, cluster_starts, cluster_centre,
        cluster_radius, point_starts, places, k_n, k_t, b_n, b_t, balls, pushes,
        adj_f, adj_b, adj_k_n, adj_k_t, adj_b_n, adj_b_t,
    ):
        """Stage: sum the cotangents of the corners of triangle f and of its contact parameters."""
        skin = (x, u, faces, k_n, k_t)
        bodies = (q_b, u_b, b_n, b_t)
        points = (reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, places)
        zero = x.dtype.type(0)
        x0 = (zero, zero, zero)
        x1 = x0
        x2 = x0
        u0 = x0
        u1 = x0
        u2 = x0
        for b in range(q_b.shape[0]):
            if body_near(f, b, balls, bodies, points, thickness):
                _, r = ld7(q_b, b)
                R = quat_matrix(r)
                for c in range(cluster_starts[b], cluster_starts[b + 1]):
                    if cluster_near(f, b, c, R, balls, bodies, points, thickness):
                        for j in range(point_starts[c], point_starts[c + 1]):
                            a_x, a_v, _, _, _, _ = touch_adjoint(
                                f, b, j, True, clock, skin, bodies, points, thickness, adj_f, adj_b, adj_k_n, adj_k_t
                            )
                            x0 = add3(x0, a_x[0])
                            x1 = add3(x1, a_x[1])
                            x2 = add3(x2, a_x[2])
                            u0 = sub3(u0, a_v[0])
                            u1 = sub3(u1, a_v[1])
                            u2 = sub3(u2, a_v[2])
        store_corner_cotangents(f, pushes, faces.shape[0], (x0, u0, x1, u1, x2, u2))

    @device
    def particle_force_adjoint(
        i, clock, x, u, q_b, u_b, faces, slots, thickness, reach, roundness, cluster_starts, cluster_centre,
        cluster_radius, point_starts, places, k_n, k_t, b_n, b_t, balls, pushes,
        adj_f, adj_b, adj_k_n, adj_k_t, adj_b_n, adj_b_t,
    ):
        """Sum the cotangents of particle i."""
        zero = x.dtype.type(0)
        none = (zero, zero, zero)
        return gather_corner_cotangents(i, slots, pushes, faces.shape[0], none, none)

    @device
    def measure_other(
        f, clock, q, u, x, v, faces, thickness, reach, roundness, cluster_starts, cluster_centre, cluster_radius,
        point_starts, places, k_n, k_t, f_n, f_t, balls,
    ):
        """Stage on bodies: measure the balls around triangles."""
        write_ball(f, x, faces, balls)

    @device
    def body_force(
        b, clock, q, u, x, v, faces, thickness, reach, roundness, cluster_starts, cluster_centre, cluster_radius,
        point_starts, places, k_n, k_t, f_n, f_t, balls,
    ):
        """Sum force and torque on body b from all triangles."""
        skin = (x, v, faces, f_n, f_t)
        bodies = (q, u, k_n, k_t)
        points = (reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, places)
        zero = q.dtype.type(0)
        force = (zero, zero, zero)
        torque = force
        _, r = ld7(q, b)
        R = quat_matrix(r)
        for f in range(faces.shape[0]):
            if body_near(f, b, balls, bodies, points, thickness):
                for c in range(cluster_starts[b], cluster_starts[b + 1]):
                    if cluster_near(f, b, c, R, balls, bodies, points, thickness):
                        for j in range(point_starts[c], point_starts[c + 1]):
                            push, arm, _ = touch(f, b, j, clock, skin, bodies, points, thickness)
                            force = add3(force, push)
                            torque = add3(torque, cross3(arm, push))
        return (force[0], force[1], force[2], torque[0], torque[1], torque[2])

    @device
    def body_force_adjoint(
        b, clock, q, u, x, v, faces, thickness, reach, roundness, cluster_starts, cluster_centre, cluster_radius,
        point_starts, places, k_n, k_t, f_n, f_t, balls, adj_f, adj_p, adj_k_n, adj_k_t, adj_f_n, adj_f_t,
    ):
        """Sum the cotangents of body b's position, axes, velocity and angular velocity."""
        skin = (x, v, faces, f_n, f_t)
        bodies = (q, u, k_n, k_t)
        points = (reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, places)
        zero = q.dtype.type(0)
        a_x = (zero, zero, zero)
        a_u = a_x
        a_w = a_x
        a_R = (zero, zero, zero, zero, zero, zero, zero, zero, zero)
        _, r = ld7(q, b)
        R = quat_matrix(r)
        for f in range(faces.shape[0]):
            if body_near(f, b, balls, bodies, points, thickness):
                for c in range(cluster_starts[b], cluster_starts[b + 1]):
                    if cluster_near(f, b, c, R, balls, bodies, points, thickness):
                        for j in range(point_starts[c], point_starts[c + 1]):
                            _, _, a_centre, a_point, a_v, a_turn = touch_adjoint(
                                f, b, j, False, clock, skin, bodies, points, thickness, adj_p, adj_f, adj_k_n, adj_k_t
                            )
                            a_x = add3(a_x, a_centre)
                            a_u = add3(a_u, a_v)
                            a_w = add3(a_w, a_turn)
                            a_R = add33(a_R, outer3(a_point, ld3(places, j)))
        return body_cotangents(b, q, a_x, a_R, a_u, a_w)

    on_particles = (measure, push_corners, particle_force, push_corners_adjoint, particle_force_adjoint)
    return on_particles, (measure_other, body_force, body_force_adjoint)
