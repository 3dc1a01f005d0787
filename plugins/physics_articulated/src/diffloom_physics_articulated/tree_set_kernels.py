"""Device functions of trees as nodes, for every width of coordinates and velocities.

Coordinates of a tree are the quaternions of its balls, four numbers each, then the scalars of its other joints;
velocities are angular velocities in the links' axes, three each, then rates. Smaller trees are padded by quaternions
(1, 0, 0, 0) and by zeros, which stay constant.
"""

import functools

from diffloom_kernels import device, quat_mul, quat_mul_adjoint, quat_normalize, quat_normalize_adjoint
from diffloom_physics_articulated.rotation_kernels import quat_exp, quat_exp_adjoint
from diffloom_physics_articulated.row_kernels import picker, row_reader, row_writer
from diffloom_physics_articulated.tree_adjoint_kernels import accelerations_adjoint
from diffloom_physics_articulated.tree_kernels import HEAD, LINK, accelerations


@functools.cache
def tree_functions(balls, scalars, links):
    """Return acceleration and acceleration_adjoint of trees with at most so many balls, scalars and links."""
    dq, du = 4 * balls + scalars, 3 * balls + scalars
    at = HEAD + LINK * links
    read_u, read_q = row_reader(du), row_reader(dq)
    write_u, write_q = row_writer(du), row_writer(dq)

    @device
    def tree_acceleration(i, q, u, f, layout, frame, inertia, armature, gravity, q_now, u_now, space):
        """Compute a = M^-1 (f - h)."""
        write_q(q_now, i, 0, q)
        write_u(u_now, i, 0, u)
        write_u(space, i, at, f)
        accelerations(i, at, q_now, u_now, layout, frame, inertia, armature, gravity, space)
        return read_u(space, i, at)

    @device
    def tree_acceleration_adjoint(
        i, q, u, f, layout, frame, inertia, armature, gravity, q_now, u_now, space,
        adj, adj_layout, adj_frame, adj_inertia, adj_armature, adj_gravity, adj_q_now, adj_u_now, adj_space,
    ):
        """Transpose of tree_acceleration, by the inverse dynamics."""
        write_q(q_now, i, 0, q)
        write_u(u_now, i, 0, u)
        write_u(space, i, at, f)
        accelerations(i, at, q_now, u_now, layout, frame, inertia, armature, gravity, space)
        write_u(space, i, at + du, adj)
        zero = space.dtype.type(0)
        for k in range(du + dq):
            space[i, at + 2 * du + k] = zero
        accelerations_adjoint(
            i, at, du, q_now, u_now, layout, frame, inertia, armature, gravity, space,
            adj_frame, adj_inertia, adj_armature, adj_gravity,
        )
        for k in range(du):
            space[i, at + k] = -space[i, at + du + k]
        return read_q(space, i, at + 3 * du), read_u(space, i, at + 2 * du), read_u(space, i, at)

    return tree_acceleration, tree_acceleration_adjoint


def space_width(balls: int, scalars: int, links: int) -> int:
    """Return the width of a tree's row of the workspace."""
    return HEAD + LINK * links + 3 * (3 * balls + scalars) + 4 * balls + scalars


@functools.cache
def motion_functions(balls, scalars):
    """Return drift, rate and projection with adjoints, for numbers of balls and scalars; trees without balls need
    none.
    """
    dq, du = 4 * balls + scalars, 3 * balls + scalars
    read_u, read_q = row_reader(du), row_reader(dq)
    write_u, write_q = row_writer(du), row_writer(dq)
    units = unit_quaternions(balls)
    unit_cotangents = unit_quaternions_adjoint(balls)

    @device
    def drift(i, h, q, u, layout, frame, inertia, armature, gravity, q_now, u_now, space):
        """Compute r+ = r exp(h w) for balls and x+ = x + h v for scalars."""
        write_q(q_now, i, 0, q)
        write_u(u_now, i, 0, u)
        for b in range(balls):
            w = (h * u_now[i, 3 * b], h * u_now[i, 3 * b + 1], h * u_now[i, 3 * b + 2])
            r = (q_now[i, 4 * b], q_now[i, 4 * b + 1], q_now[i, 4 * b + 2], q_now[i, 4 * b + 3])
            r = quat_normalize(quat_mul(r, quat_exp(w)))
            for k in range(4):
                q_now[i, 4 * b + k] = r[k]
        for k in range(scalars):
            q_now[i, 4 * balls + k] += h * u_now[i, 3 * balls + k]
        return read_q(q_now, i, 0), u

    @device
    def drift_adjoint(
        i, h, q, u, layout, frame, inertia, armature, gravity, q_now, u_now, space,
        adj_q, adj_u, adj_layout, adj_frame, adj_inertia, adj_armature, adj_gravity, adj_q_now, adj_u_now, adj_space,
    ):
        """Transpose of drift."""
        write_q(q_now, i, 0, q)
        write_u(u_now, i, 0, u)
        write_q(space, i, 0, adj_q)
        write_u(space, i, dq, adj_u)
        for b in range(balls):
            w = (h * u_now[i, 3 * b], h * u_now[i, 3 * b + 1], h * u_now[i, 3 * b + 2])
            r = (q_now[i, 4 * b], q_now[i, 4 * b + 1], q_now[i, 4 * b + 2], q_now[i, 4 * b + 3])
            a = (space[i, 4 * b], space[i, 4 * b + 1], space[i, 4 * b + 2], space[i, 4 * b + 3])
            e = quat_exp(w)
            a, c = quat_mul_adjoint(r, e, quat_normalize_adjoint(quat_mul(r, e), a))
            t = quat_exp_adjoint(w, c)
            for k in range(4):
                space[i, 4 * b + k] = a[k]
            for k in range(3):
                space[i, dq + 3 * b + k] += h * t[k]
        for k in range(scalars):
            space[i, dq + 3 * balls + k] += h * space[i, 4 * balls + k]
        return read_q(space, i, 0), read_u(space, i, dq)

    @device
    def rate(i, q, u, layout, frame, inertia, armature, gravity, q_now, u_now, space):
        """Compute r' = r w / 2 and x' = v."""
        write_q(q_now, i, 0, q)
        write_u(u_now, i, 0, u)
        half = space.dtype.type(0.5)
        zero = space.dtype.type(0)
        for b in range(balls):
            w = (zero, half * u_now[i, 3 * b], half * u_now[i, 3 * b + 1], half * u_now[i, 3 * b + 2])
            r = quat_mul((q_now[i, 4 * b], q_now[i, 4 * b + 1], q_now[i, 4 * b + 2], q_now[i, 4 * b + 3]), w)
            for k in range(4):
                q_now[i, 4 * b + k] = r[k]
        for k in range(scalars):
            q_now[i, 4 * balls + k] = u_now[i, 3 * balls + k]
        for k in range(du):
            u_now[i, k] = zero
        return read_q(q_now, i, 0), read_u(u_now, i, 0)

    @device
    def rate_adjoint(
        i, q, u, layout, frame, inertia, armature, gravity, q_now, u_now, space,
        adj_q, adj_u, adj_layout, adj_frame, adj_inertia, adj_armature, adj_gravity, adj_q_now, adj_u_now, adj_space,
    ):
        """Transpose of rate."""
        write_q(q_now, i, 0, q)
        write_u(u_now, i, 0, u)
        write_q(space, i, 0, adj_q)
        half = space.dtype.type(0.5)
        zero = space.dtype.type(0)
        for b in range(balls):
            w = (zero, half * u_now[i, 3 * b], half * u_now[i, 3 * b + 1], half * u_now[i, 3 * b + 2])
            r = (q_now[i, 4 * b], q_now[i, 4 * b + 1], q_now[i, 4 * b + 2], q_now[i, 4 * b + 3])
            a = (space[i, 4 * b], space[i, 4 * b + 1], space[i, 4 * b + 2], space[i, 4 * b + 3])
            a, c = quat_mul_adjoint(r, w, a)
            for k in range(4):
                space[i, 4 * b + k] = a[k]
            for k in range(3):
                space[i, dq + 3 * b + k] = half * c[k + 1]
        for k in range(scalars):
            space[i, dq + 3 * balls + k] = space[i, 4 * balls + k]
            space[i, 4 * balls + k] = zero
        return read_q(space, i, 0), read_u(space, i, dq)

    if scalars:
        rest = picker(scalars, 4 * balls)

        @device
        def project(i, q):
            """Unit quaternions."""
            return units(q) + rest(q)

        @device
        def project_adjoint(i, q, adj):
            """Transpose of project."""
            return unit_cotangents(q, adj) + rest(adj)

    else:

        @device
        def project(i, q):
            """Unit quaternions."""
            return units(q)

        @device
        def project_adjoint(i, q, adj):
            """Transpose of project."""
            return unit_cotangents(q, adj)

    return drift, drift_adjoint, rate, rate_adjoint, project, project_adjoint


@functools.cache
def unit_quaternions(balls):
    """Return a device function of q that normalises its leading quaternions."""
    last = picker(4, 4 * balls - 4)
    if balls == 1:

        @device
        def units(q):
            return quat_normalize(last(q))

        return units
    before = unit_quaternions(balls - 1)

    @device
    def units(q):
        return before(q) + quat_normalize(last(q))

    return units


@functools.cache
def unit_quaternions_adjoint(balls):
    """Return the transpose of unit_quaternions, a device function of q and adj."""
    last = picker(4, 4 * balls - 4)
    if balls == 1:

        @device
        def units_adjoint(q, adj):
            return quat_normalize_adjoint(last(q), last(adj))

        return units_adjoint
    before = unit_quaternions_adjoint(balls - 1)

    @device
    def units_adjoint(q, adj):
        return before(q, adj) + quat_normalize_adjoint(last(q), last(adj))

    return units_adjoint
