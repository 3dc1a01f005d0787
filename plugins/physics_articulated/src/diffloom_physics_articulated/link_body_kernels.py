"""Kernels of shapes of links as carried bodies: their poses, the joint forces by forces on them, and the transposes.

A body sits on a link: its origin at ``offset`` (bodies, 3) and its axes turned by the quaternion ``turn`` (bodies, 4),
both in the link's axes. Body p of tree t is one of starts[t] to starts[t + 1] - 1, on the link of the simple joint
rows[p]. With the cotangent b of the joint forces every link has a virtual motion (y_w, y_v), and the function that is
transposed is
    phi = sum of force.(y_v + y_w x x) + torque.y_w
over the bodies, at x from O. Cotangents of a body's pose become wrenches of its link, as in link_contact_kernels. A
quaternion r that turns with its link by small turns d becomes r + (0, d) r / 2, so a cotangent a of r is the moment
vec(a r*) / 2.
"""

import functools

from diffloom_kernels import add3, cross3, device, matvec33, mul3, quat_conj, quat_mul, quat_vec3, tmatvec33
from diffloom_physics_articulated.link_contact_kernels import gather_forces, virtual_motions
from diffloom_physics_articulated.row_kernels import row_reader
from diffloom_physics_articulated.spatial_kernels import addpair, addvec, ldpair, ldturn, ldvec, stpair
from diffloom_physics_articulated.tree_adjoint_kernels import joint_adjoint, pose_adjoint
from diffloom_physics_articulated.tree_kernels import (
    ADJ_POSE,
    ADJ_VELOCITY,
    HEAD,
    INERTIA,
    LINK,
    PLACE,
    TURN,
    VELOCITY,
    VIRTUAL,
    WRENCH,
    joint_frame,
    joint_quaternion,
    poses,
    velocities,
)

QUATERNION = INERTIA  # the place of the inertia is unused here


@device
def ldquat(a, i, c):
    """Load four neighbouring numbers of row i."""
    return (a[i, c], a[i, c + 1], a[i, c + 2], a[i, c + 3])


@device(inline=False)
def link_quaternions(t, q, table, frame, s):
    """Compute the axes of every link of tree t as a unit quaternion."""
    for l in range(int(table[t, 0])):
        d = 7 * l + 1
        parent = int(table[t, d])
        _, r = joint_frame(t, l, frame)
        if parent >= 0:
            r = quat_mul(ldquat(s, t, HEAD + LINK * parent + QUATERNION), r)
        kind, c = int(table[t, d + 1]), int(table[t, d + 2])
        r = quat_mul(r, joint_quaternion(t, kind, c, ldvec(table, t, d + 4), q))
        for k in range(4):
            s[t, HEAD + LINK * l + QUATERNION + k] = r[k]


@device
def from_centre(t, p, o, offset, s):
    """Return the origin of body p relative to O; o is the offset of its link in the workspace."""
    own = (offset[p, 0], offset[p, 1], offset[p, 2])
    return add3(ldvec(s, t, o + PLACE), matvec33(ldturn(s, t, o + TURN), own))


@device(inline=False)
def place_bodies(t, q, u, table, starts, rows, turn, frame, offset, s, q_b, u_b):
    """Compute position, quaternion, velocity and angular velocity of the bodies of tree t."""
    poses(t, q, table, frame, s)
    velocities(t, u, table, s)
    link_quaternions(t, q, table, frame, s)
    origin = ldvec(s, t, 0)
    for p in range(starts[t], starts[t + 1]):
        o = HEAD + LINK * rows[p]
        x = from_centre(t, p, o, offset, s)
        w, v = ldpair(s, t, o + VELOCITY)
        r = quat_mul(ldquat(s, t, o + QUATERNION), ldquat(turn, p, 0))
        stpair(u_b, p, 0, add3(v, cross3(w, x)), w)
        x = add3(origin, x)
        for k in range(3):
            q_b[p, k] = x[k]
        for k in range(4):
            q_b[p, 3 + k] = r[k]


@device(inline=False)
def move_bodies(t, b, table, starts, rows, turn, frame, offset, s, q_b, m):
    """Compute velocity and angular velocity of the bodies of tree t for the joint velocities in row t of b."""
    virtual_motions(t, b, table, s)
    for p in range(starts[t], starts[t + 1]):
        o = HEAD + LINK * rows[p]
        w, v = ldpair(s, t, o + VIRTUAL)
        stpair(m, p, 0, add3(v, cross3(w, from_centre(t, p, o, offset, s))), w)


@device(inline=False)
def add_wrenches(t, table, starts, rows, offset, s, f):
    """Add the forces on bodies of tree t to the wrenches WRENCH of its links; return true if there are any."""
    zero = s.dtype.type(0)
    acts = False
    for l in range(int(table[t, 0])):
        stpair(s, t, HEAD + LINK * l + WRENCH, (zero, zero, zero), (zero, zero, zero))
    for p in range(starts[t], starts[t + 1]):
        force, torque = ldpair(f, p, 0)
        some = False
        for k in range(6):
            some = some or f[p, k] != zero
        if some:
            acts = True
            o = HEAD + LINK * rows[p]
            addpair(s, t, o + WRENCH, add3(torque, cross3(from_centre(t, p, o, offset, s), force)), force)
    return acts


@device(inline=False)
def body_cotangents(t, p, o, offset, s, q_b, f, c, adj_offset):
    """Add the cotangents of pose and velocity of a body's link as wrenches, and those of the body's offset."""
    half = s.dtype.type(0.5)
    x = from_centre(t, p, o, offset, s)
    w, _ = ldpair(s, t, o + VELOCITY)
    y, _ = ldpair(s, t, o + VIRTUAL)
    force, _ = ldpair(f, p, 0)
    a_v, a_w = ldpair(c, p, 7)
    turned = quat_vec3(quat_mul(ldquat(c, p, 3), quat_conj(ldquat(q_b, p, 3))))
    a_x = add3(ldvec(c, p, 0), add3(cross3(a_v, w), cross3(force, y)))
    addpair(s, t, o + ADJ_VELOCITY, add3(cross3(x, a_v), a_w), a_v)
    addpair(s, t, o + ADJ_POSE, add3(cross3(x, a_x), mul3(turned, half)), a_x)
    addvec(adj_offset, p, 0, tmatvec33(ldturn(s, t, o + TURN), a_x))


@functools.cache
def carried_links(balls, scalars, links):
    """Return place, move, force and adjoint, as CarriedBodies takes them, for numbers of balls, scalars and links."""
    dq, du = 4 * balls + scalars, 3 * balls + scalars
    out = HEAD + LINK * links
    read_u, read_q = row_reader(du), row_reader(dq)

    @device
    def joint_forces(t, table, starts, rows, turn, frame, offset, s, q_b, f):
        """Compute J^T f."""
        zero = s.dtype.type(0)
        for k in range(du):
            s[t, out + k] = zero
        if add_wrenches(t, table, starts, rows, offset, s, f):
            gather_forces(t, out, table, s)
        return read_u(s, t, out)

    @device
    def joint_forces_adjoint(
        t, q, u, adj_f, table, starts, rows, turn, frame, offset, s, q_b, f, c, adj_frame, adj_offset
    ):
        """Compute the cotangents of the coordinates and velocities of tree t; zero if no force acts."""
        zero = s.dtype.type(0)
        count = int(table[t, 0])
        for k in range(du):
            s[t, out + k] = adj_f[t, k]
        for k in range(du + dq):
            s[t, out + du + k] = zero
        acts = add_wrenches(t, table, starts, rows, offset, s, f)
        for p in range(starts[t], starts[t + 1]):
            some = acts
            for k in range(13):
                some = some or c[p, k] != zero
            if some:
                acts = True
                body_cotangents(t, p, HEAD + LINK * rows[p], offset, s, q_b, f, c, adj_offset)
        if acts:
            for back in range(count):
                l = count - 1 - back
                joint_adjoint(t, l, out, out, u, table, s, out + du)
                pose_adjoint(t, l, q, table, frame, s, s, out + du + du, adj_frame)
        return read_q(s, t, out + du + du), read_u(s, t, out + du)

    return place_bodies, move_bodies, joint_forces, joint_forces_adjoint
