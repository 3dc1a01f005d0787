"""Contact of the points of body a with the shape of body b: the action on one of the two, and the transpose.

Everything is expressed in the frame of b: the point p of a lies at M p + t in b's axes, with M = B^T A and t = B^T (x_a
- x_b), where A and B turn the axes of the two bodies into the world's. ``own`` is True for a, whose points these are,
and False for b: each body of a pair computes the contact for itself, so that two threads never write to one row. Values
that only a contact needs are loaded there, so that few registers are live during the search.

The two may be in different node sets: ``side_a`` is the tuple (q, u, k_n, k_t) of a's set, with the rows that the laws
read, ``side_b`` that of b's. ``points`` is (reach, roundness, cluster_starts, cluster_centre, cluster_radius,
point_starts, points) of a's set; ``shapes`` that of shape_kernels and ``bounds`` (low, high), both of b's set.
"""

import functools

from diffloom_kernels import (
    Tmatmul33,
    add3,
    add33,
    cross3,
    device,
    ld3,
    ld6,
    ld7,
    matvec33,
    mul3,
    outer3,
    quat_matrix,
    quat_matrix_adjoint,
    sub3,
    tmatvec33,
)
from diffloom_mechanics.contact.point_kernels import point_contact
from diffloom_mechanics.contact.shape_kernels import may_touch, shape_distance, shape_distance_adjoint


@device
def is_near_box(p, margin, low, high, b):
    """Return True if p is within ``margin`` of the box around shape b, per axis."""
    return (
        p[0] > low[b, 0] - margin and p[0] < high[b, 0] + margin
        and p[1] > low[b, 1] - margin and p[1] < high[b, 1] + margin
        and p[2] > low[b, 2] - margin and p[2] < high[b, 2] + margin
    )


@device
def frames(a, b, q_a, q_b):
    """Return B, M = B^T A and t = B^T (x_a - x_b)."""
    xa, ra = ld7(q_a, a)
    xb, rb = ld7(q_b, b)
    B = quat_matrix(rb)
    return B, Tmatmul33(B, quat_matrix(ra)), tmatvec33(B, sub3(xa, xb))


@device
def contact_at(a, b, side_a, side_b, p, n, rho):
    """Return the arms from both centres to the contact of the rounded point p of a, and the slip velocity there."""
    xa, ra = ld7(side_a[0], a)
    va, wa = ld6(side_a[1], a)
    vb, wb = ld6(side_b[1], b)
    arm_a = sub3(matvec33(quat_matrix(ra), p), mul3(n, rho))
    arm_b = add3(arm_a, sub3(xa, ld3(side_b[0], b)))
    return arm_a, arm_b, sub3(add3(va, cross3(wa, arm_a)), add3(vb, cross3(wb, arm_b)))


@device
def body_cotangents(i, q, a_x, a_R, a_v, a_w):
    """Return the cotangents of q and u of body i for those of its centre, axes, velocity and angular velocity."""
    a_r = quat_matrix_adjoint((q[i, 3], q[i, 4], q[i, 5], q[i, 6]), a_R)
    return (
        (a_x[0], a_x[1], a_x[2], a_r[0], a_r[1], a_r[2], a_r[3]), (a_v[0], a_v[1], a_v[2], a_w[0], a_w[1], a_w[2]),
    )


@functools.cache
def body_pair_contact(normal_law, friction_law):
    """Return points_in_shape, pair_force and their adjoints under a NormalFunctions and a FrictionFunctions.

    Order: points_in_shape, points_in_shape_adjoint, pair_force, pair_force_adjoint. The last two are for bodies of one
    set.
    """
    force_at, adjoint_at, load, add, load_friction, add_friction = point_contact(normal_law, friction_law)
    normal_pair, normal_pair_adjoint = normal_law.pair, normal_law.pair_adjoint
    friction_pair, friction_pair_adjoint = friction_law.pair, friction_law.pair_adjoint

    @device
    def pair_parameters(a, b, side_a, side_b):
        """Return the parameters of the contact between a and b."""
        kn = normal_pair(load(side_a[2], a), load(side_b[2], b))
        return kn, friction_pair(load_friction(side_a[3], a), load_friction(side_b[3], b))

    @device
    def add_parameters(a, b, own, side_a, side_b, adj_parameters, adj_kn, adj_kt):
        """Add the cotangents of the pair's contact parameters to those of one body."""
        adj_k_n, adj_k_t = adj_parameters
        kn_a = load(side_a[2], a)
        kn_b = load(side_b[2], b)
        kt_a = load_friction(side_a[3], a)
        kt_b = load_friction(side_b[3], b)
        if own:
            add(adj_k_n, a, normal_pair_adjoint(kn_a, kn_b, adj_kn))
            add_friction(adj_k_t, a, friction_pair_adjoint(kt_a, kt_b, adj_kt))
        else:
            add(adj_k_n, b, normal_pair_adjoint(kn_b, kn_a, adj_kn))
            add_friction(adj_k_t, b, friction_pair_adjoint(kt_b, kt_a, adj_kt))

    @device
    def points_in_shape(a, b, own, clock, side_a, side_b, points, shapes, bounds, force, torque):
        """Add the force and torque on one body, where f acts on a and -f on b."""
        reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, places = points
        B, M, t = frames(a, b, side_a[0], side_b[0])
        rho = roundness[a]
        for c in range(cluster_starts[a], cluster_starts[a + 1]):
            centre = add3(matvec33(M, ld3(cluster_centre, c)), t)
            if is_near_box(centre, cluster_radius[c] + rho, bounds[0], bounds[1], b):
                for j in range(point_starts[c], point_starts[c + 1]):
                    inside = add3(matvec33(M, ld3(places, j)), t)
                    if is_near_box(inside, rho, bounds[0], bounds[1], b) and may_touch(b, inside, shapes, rho):
                        distance, way = shape_distance(b, inside, shapes)
                        if distance < rho:
                            n = matvec33(B, way)
                            arm_a, arm_b, slip = contact_at(a, b, side_a, side_b, ld3(places, j), n, rho)
                            kn, kt = pair_parameters(a, b, side_a, side_b)
                            f = force_at(clock, distance - rho, slip, n, kn, kt)
                            if own:
                                force = add3(force, f)
                                torque = add3(torque, cross3(arm_a, f))
                            else:
                                force = sub3(force, f)
                                torque = sub3(torque, cross3(arm_b, f))
        return force, torque

    @device
    def points_in_shape_adjoint(
        a, b, own, clock, side_a, side_b, points, shapes, bounds, adj_a, adj_b, adj_parameters, a_x, a_v, a_w, a_R
    ):
        """Add the cotangents of one body's centre, velocity, angular velocity and axes, and those of its contact
        parameters.

        adj_a, adj_b: cotangents of the forces on both sets. adj_parameters: those of the contact parameters.
        """
        reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, places = points
        B, M, t = frames(a, b, side_a[0], side_b[0])
        rho = roundness[a]
        for c in range(cluster_starts[a], cluster_starts[a + 1]):
            centre = add3(matvec33(M, ld3(cluster_centre, c)), t)
            if is_near_box(centre, cluster_radius[c] + rho, bounds[0], bounds[1], b):
                for j in range(point_starts[c], point_starts[c + 1]):
                    inside = add3(matvec33(M, ld3(places, j)), t)
                    if is_near_box(inside, rho, bounds[0], bounds[1], b) and may_touch(b, inside, shapes, rho):
                        distance, way = shape_distance(b, inside, shapes)
                        if distance < rho:
                            n = matvec33(B, way)
                            arm_a, arm_b, slip = contact_at(a, b, side_a, side_b, ld3(places, j), n, rho)
                            kn, kt = pair_parameters(a, b, side_a, side_b)
                            f = force_at(clock, distance - rho, slip, n, kn, kt)
                            force_a, turn_a = ld6(adj_a, a)
                            force_b, turn_b = ld6(adj_b, b)
                            b_f = sub3(add3(force_a, cross3(turn_a, arm_a)), add3(force_b, cross3(turn_b, arm_b)))
                            b_c, b_v, b_n, b_kn, b_kt = adjoint_at(clock, distance - rho, slip, n, kn, kt, b_f)
                            add_parameters(a, b, own, side_a, side_b, adj_parameters, b_kn, b_kt)
                            _, spin_a = ld6(side_a[1], a)
                            _, spin_b = ld6(side_b[1], b)
                            b_arm_b = sub3(cross3(turn_b, f), cross3(b_v, spin_b))
                            b_arm_a = add3(cross3(f, turn_a), cross3(b_v, spin_a))
                            b_arm_a = add3(b_arm_a, b_arm_b)
                            b_n = sub3(b_n, mul3(b_arm_a, rho))
                            b_inside = shape_distance_adjoint(b, inside, shapes, b_c, tmatvec33(B, b_n))
                            b_place = matvec33(B, b_inside)
                            if own:
                                a_x = add3(a_x, add3(b_arm_b, b_place))
                                a_v = add3(a_v, b_v)
                                a_w = add3(a_w, cross3(arm_a, b_v))
                                a_R = add33(a_R, outer3(add3(b_arm_a, b_place), ld3(places, j)))
                            else:
                                a_x = sub3(a_x, add3(b_arm_b, b_place))
                                a_v = sub3(a_v, b_v)
                                a_w = sub3(a_w, cross3(arm_b, b_v))
                                from_b = add3(arm_b, mul3(n, rho))
                                a_R = add33(a_R, add33(outer3(b_n, way), outer3(from_b, b_inside)))
        return a_x, a_v, a_w, a_R

    @device
    def pair_force(i, j, clock, side, points, shapes, bounds, force, torque):
        """Add the force and the torque on body i from body j of the same set, each with its points in the other."""
        for part in range(2):
            a = i if part == 0 else j
            b = j if part == 0 else i
            force, torque = points_in_shape(
                a, b, part == 0, clock, side, side, points, shapes, bounds, force, torque
            )
        return force, torque

    @device
    def pair_force_adjoint(
        i, j, clock, side, points, shapes, bounds, adj_f, adj_parameters, a_x, a_v, a_w, a_R
    ):
        """Add the cotangents of the state of body i, and of its contact parameters."""
        for part in range(2):
            a = i if part == 0 else j
            b = j if part == 0 else i
            a_x, a_v, a_w, a_R = points_in_shape_adjoint(
                a, b, part == 0, clock, side, side, points, shapes, bounds, adj_f, adj_f, adj_parameters,
                a_x, a_v, a_w, a_R,
            )
        return a_x, a_v, a_w, a_R

    return points_in_shape, points_in_shape_adjoint, pair_force, pair_force_adjoint
