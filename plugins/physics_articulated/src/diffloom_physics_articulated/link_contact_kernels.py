"""Kernels of contact of links with a surface, as forces on the joints of a tree, and the transposes.

A link touches with points in its own axes, each in a ball of some radius. The tree's recursion gives poses and motions
of its links; every point in contact adds a wrench to its link, and a joint feels S.(sum of the wrenches above it). With
the cotangent b of the joint forces, y = sum of S b up to a link is its virtual motion, and the function
    phi = sum of f.(y at the point)
is transposed: the virtual velocity of a point is the cotangent of the contact force there. A point's position enters
through the gap, through its velocity and through y; their cotangents become wrenches ADJ_POSE, ADJ_VELOCITY and WRENCH
of the link, which joint_adjoint and pose_adjoint pass down to the coordinates, as they do for inertia.

``starts`` (trees, links + 1): first point of each link; ``points`` (trees, points, 3), ``roundness`` (trees, points),
``middle`` (trees, links, 4): a ball around all points of a link, centre and radius. The surface is that of an obstacle
(contact.obstacle_kernels). ``k_n`` and ``k_t`` (trees, links, parameters): the laws' parameters of a link.
"""

import functools

from diffloom_kernels import add3, cross3, device, dot3, matvec33, mul3, sub3, tmatvec33
from diffloom_mechanics.contact.kernels import point_contact, posed_shape, turning_friction
from diffloom_physics_articulated.row_kernels import row_reader
from diffloom_physics_articulated.spatial_kernels import addpair, ldpair, ldturn, ldvec, product, stpair
from diffloom_physics_articulated.tree_adjoint_kernels import joint_adjoint, pose_adjoint
from diffloom_physics_articulated.tree_kernels import (
    ADJ_ACCELERATION,
    ADJ_POSE,
    ADJ_VELOCITY,
    HEAD,
    LINK,
    PLACE,
    TURN,
    VELOCITY,
    VIRTUAL,
    WRENCH,
    column,
    freedom,
    joint_motion,
    poses,
    velocities,
)


def contact_space(balls: int, scalars: int, links: int) -> int:
    """Return the width of a tree's row of the workspace: links, cotangents of forces and velocities, and of
    coordinates.
    """
    return HEAD + LINK * links + 2 * (3 * balls + scalars) + 4 * balls + scalars


@device(inline=False)
def gather_forces(i, at, layout, s):
    """Sum the wrenches WRENCH down the tree and store the joint forces S.(sum above) in columns ``at``.. of the
    workspace.
    """
    links = int(layout[i, 0])
    for back in range(links):
        l = links - 1 - back
        d = 7 * l + 1
        o = HEAD + LINK * l
        parent = int(layout[i, d])
        kind = int(layout[i, d + 1])
        c = int(layout[i, d + 3])
        axis = ldvec(layout, i, d + 4)
        n, f = ldpair(s, i, o + WRENCH)
        for k in range(freedom(kind)):
            w, v = column(i, o, k, kind, axis, s)
            s[i, at + c + k] = product(w, v, n, f)
        if parent >= 0:
            addpair(s, i, HEAD + LINK * parent + WRENCH, n, f)


@device(inline=False)
def virtual_motions(i, b, layout, s):
    """Compute y of every link for the joint velocities in row i of b, and clear the gathered cotangents."""
    zero = s.dtype.type(0)
    none = (zero, zero, zero)
    for l in range(int(layout[i, 0])):
        d = 7 * l + 1
        o = HEAD + LINK * l
        parent = int(layout[i, d])
        w, v = joint_motion(i, o, int(layout[i, d + 1]), int(layout[i, d + 3]), ldvec(layout, i, d + 4), b, s)
        if parent >= 0:
            x, y = ldpair(s, i, HEAD + LINK * parent + VIRTUAL)
            w = add3(w, x)
            v = add3(v, y)
        stpair(s, i, o + VIRTUAL, w, v)
        stpair(s, i, o + WRENCH, none, none)
        stpair(s, i, o + ADJ_ACCELERATION, none, none)
        stpair(s, i, o + ADJ_VELOCITY, none, none)
        stpair(s, i, o + ADJ_POSE, none, none)


@functools.cache
def link_contact(distance, adjoint, normal_law, friction_law, balls, scalars, links):
    """Return link_force and its adjoint for a surface, a normal and a friction law, and numbers of balls, scalars,
    links.
    """
    in_world, in_world_adjoint = posed_shape(distance, adjoint)
    force_at, adjoint_at, load, add, load_friction, add_friction = point_contact(normal_law, friction_law)
    turning, turning_adjoint = turning_friction(friction_law, add_friction)
    dq, du = 4 * balls + scalars, 3 * balls + scalars
    out = HEAD + LINK * links
    read_u, read_q = row_reader(du), row_reader(dq)

    @device(inline=False)
    def near(i, l, slope, o, middle, layout, table, place, turn, size, s):
        """Return true if a point of link l may touch."""
        m = (middle[i, l, 0], middle[i, l, 1], middle[i, l, 2])
        at = add3(ldvec(s, i, 0), ldvec(s, i, o + PLACE))
        at = add3(at, matvec33(ldturn(s, i, o + TURN), m))
        d, _ = in_world(i, at, layout, table, place, turn, size)
        return not d > slope * middle[i, l, 3]

    @device(inline=False)
    def push_link(
        i, l, clock, o, starts, points, roundness, layout, table, place, turn, size, k_n, k_t, s
    ):
        """Add the wrenches of link l's points in contact to its WRENCH."""
        zero = s.dtype.type(0)
        k_link, t_link = k_n[i], k_t[i]
        kn = load(k_link, l)
        kt = load_friction(t_link, l)
        origin = ldvec(s, i, 0)
        R = ldturn(s, i, o + TURN)
        p = ldvec(s, i, o + PLACE)
        w, v = ldpair(s, i, o + VELOCITY)
        for j in range(starts[i, l], starts[i, l + 1]):
            x = add3(p, matvec33(R, (points[i, j, 0], points[i, j, 1], points[i, j, 2])))
            d, n = in_world(i, add3(origin, x), layout, table, place, turn, size)
            gap = d - roundness[i, j]
            if gap < zero:
                at = sub3(x, mul3(n, roundness[i, j]))
                f = force_at(clock, gap, add3(v, cross3(w, at)), n, kn, kt)
                addpair(s, i, o + WRENCH, turning(cross3(at, f), f, w, n, kt, t_link, l), f)

    @device
    def link_force(
        i, clock, q, u, tree, starts, slope, layout, table, frame, points, roundness, middle, place, turn, size,
        k_n, k_t, s,
    ):
        """Compute the forces on the joints."""
        zero = s.dtype.type(0)
        poses(i, q, tree, frame, s)
        velocities(i, u, tree, s)
        for k in range(du):
            s[i, out + k] = zero
        for l in range(int(tree[i, 0])):
            o = HEAD + LINK * l
            stpair(s, i, o + WRENCH, (zero, zero, zero), (zero, zero, zero))
            if starts[i, l + 1] > starts[i, l] and near(
                i, l, slope[i, 0], o, middle, layout, table, place, turn, size, s
            ):
                push_link(i, l, clock, o, starts, points, roundness, layout, table, place, turn, size, k_n, k_t, s)
        gather_forces(i, out, tree, s)
        return read_u(s, i, out)

    @device(inline=False)
    def push_link_adjoint(
        i, l, clock, o, starts, points, roundness, layout, table, place, turn, size, k_n, k_t, s,
        adj_points, adj_roundness, adj_place, adj_turn, adj_size, adj_k_n, adj_k_t,
    ):
        """Add the cotangents of link l's pose, velocity and virtual motion as wrenches, and those of its contact
        data.
        """
        zero = s.dtype.type(0)
        none = (zero, zero, zero)
        k_link, t_link, adj_k, adj_t = k_n[i], k_t[i], adj_k_n[i], adj_k_t[i]
        kn = load(k_link, l)
        kt = load_friction(t_link, l)
        origin = ldvec(s, i, 0)
        R = ldturn(s, i, o + TURN)
        p = ldvec(s, i, o + PLACE)
        w, v = ldpair(s, i, o + VELOCITY)
        y_w, y_v = ldpair(s, i, o + VIRTUAL)
        for j in range(starts[i, l], starts[i, l + 1]):
            rho = roundness[i, j]
            x = add3(p, matvec33(R, (points[i, j, 0], points[i, j, 1], points[i, j, 2])))
            there = add3(origin, x)
            d, n = in_world(i, there, layout, table, place, turn, size)
            if d - rho < zero:
                at = sub3(x, mul3(n, rho))
                speed = add3(v, cross3(w, at))
                f = force_at(clock, d - rho, speed, n, kn, kt)
                a_f, a_w, a_n = turning_adjoint(
                    add3(y_v, cross3(y_w, at)), y_w, f, w, n, kt, t_link, l, none, none, adj_t
                )
                b_c, b_v, b_n, b_kn, b_kt = adjoint_at(clock, d - rho, speed, n, kn, kt, a_f)
                a_at = add3(cross3(f, y_w), cross3(b_v, w))
                a_n = sub3(add3(a_n, b_n), mul3(a_at, rho))
                a_x = add3(a_at, in_world_adjoint(
                    i, there, layout, table, place, turn, size, b_c, a_n, adj_place, adj_turn, adj_size
                ))
                addpair(s, i, o + WRENCH, turning(cross3(at, f), f, w, n, kt, t_link, l), f)
                addpair(s, i, o + ADJ_VELOCITY, add3(cross3(at, b_v), a_w), b_v)
                addpair(s, i, o + ADJ_POSE, cross3(x, a_x), a_x)
                own = tmatvec33(R, a_x)
                for k in range(3):
                    adj_points[i, j, k] += own[k]
                adj_roundness[i, j] -= b_c + dot3(n, a_at)
                add(adj_k, l, b_kn)
                add_friction(adj_t, l, b_kt)

    @device
    def link_force_adjoint(
        i, clock, q, u, tree, starts, slope, layout, table, frame, points, roundness, middle, place, turn, size,
        k_n, k_t, s,
        adj_f, adj_frame, adj_points, adj_roundness, adj_middle, adj_place, adj_turn, adj_size, adj_k_n, adj_k_t,
    ):
        """Transpose of link_force; links out of contact contribute zero and are skipped."""
        zero = s.dtype.type(0)
        count = int(tree[i, 0])
        poses(i, q, tree, frame, s)
        velocities(i, u, tree, s)
        virtual_motions(i, adj_f, tree, s)
        for k in range(du):
            s[i, out + k] = adj_f[i, k]
        for k in range(du + dq):
            s[i, out + du + k] = zero
        touches = False
        for l in range(count):
            o = HEAD + LINK * l
            if starts[i, l + 1] > starts[i, l] and near(
                i, l, slope[i, 0], o, middle, layout, table, place, turn, size, s
            ):
                touches = True
                push_link_adjoint(
                    i, l, clock, o, starts, points, roundness, layout, table, place, turn, size, k_n, k_t, s,
                    adj_points, adj_roundness, adj_place, adj_turn, adj_size, adj_k_n, adj_k_t,
                )
        if touches:
            for back in range(count):
                l = count - 1 - back
                joint_adjoint(i, l, out, out, u, tree, s, out + du)
                pose_adjoint(i, l, q, tree, frame, s, s, out + du + du, adj_frame)
        return read_q(s, i, out + du + du), read_u(s, i, out + du)

    return link_force, link_force_adjoint
