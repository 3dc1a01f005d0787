"""Kernels of springs between points of two bodies, and between a point and a moving place, with their adjoints.

An end is a particle, or a point of a rigid body at ``offset`` in its axes: device functions compute its position and
velocity, and apply a force there to the node. Elements have one corner in each node set.
"""

import functools

from diffloom_kernels import (
    add3,
    cross3,
    device,
    dot3,
    fma3,
    ld3,
    ld6,
    ld7,
    matvec33,
    minimum,
    mul3,
    neg3,
    outer3,
    quat_matrix,
    quat_matrix_adjoint,
    sqrt,
    store_corners,
    sub3,
    where,
)


@device
def particle_end(e, q, u, nodes, offset):
    """Return position, velocity and arm; a particle has no arm."""
    i = nodes[e, 0]
    zero = q.dtype.type(0)
    return ld3(q, i), ld3(u, i), (zero, zero, zero)


@device
def particle_store(e, f, arm, out):
    """Store the force at a particle."""
    store_corners(out, e, (f,))


@device
def particle_cotangent(e, nodes, arm, adj_f):
    """Return the cotangent of a force at the end."""
    return ld3(adj_f, nodes[e, 0])


@device
def particle_end_adjoint(e, q, u, nodes, offset, arm, f, adj_f, a_x, a_v, adj_q, adj_u):
    """Return the cotangents of the node for those of position and velocity of its end."""
    store_corners(adj_q, e, (a_x,))
    store_corners(adj_u, e, (a_v,))


@device
def body_end(e, q, u, nodes, offset):
    """Return x + arm and v + w x arm, with arm = R offset."""
    i = nodes[e, 0]
    x, r = ld7(q, i)
    v, w = ld6(u, i)
    arm = matvec33(quat_matrix(r), ld3(offset, e))
    return add3(x, arm), add3(v, cross3(w, arm)), arm


@device
def body_store(e, f, arm, out):
    """Store f and arm x f."""
    turn = cross3(arm, f)
    for c in range(3):
        out[e, 0, c] = f[c]
        out[e, 0, c + 3] = turn[c]


@device
def body_cotangent(e, nodes, arm, adj_f):
    """Return the cotangent of a force at the end, with that of its torque."""
    force, turn = ld6(adj_f, nodes[e, 0])
    return add3(force, cross3(turn, arm))


@device
def body_end_adjoint(e, q, u, nodes, offset, arm, f, adj_f, a_x, a_v, adj_q, adj_u):
    """Transpose of body_end and body_store.

    adj_arm = f x adj_torque + a_x + a_v x w; adj_R = adj_arm offset^T; adj_w = arm x a_v.
    """
    i = nodes[e, 0]
    _, r = ld7(q, i)
    _, w = ld6(u, i)
    _, turn = ld6(adj_f, i)
    a_arm = add3(cross3(f, turn), add3(a_x, cross3(a_v, w)))
    a_r = quat_matrix_adjoint(r, outer3(a_arm, ld3(offset, e)))
    a_w = cross3(arm, a_v)
    for c in range(3):
        adj_q[e, 0, c] = a_x[c]
        adj_u[e, 0, c] = a_v[c]
        adj_u[e, 0, c + 3] = a_w[c]
    for c in range(4):
        adj_q[e, 0, c + 3] = a_r[c]


#: Functions for a particle (False) and a rigid body (True): position, force, cotangent of a force, adjoint of position.
ENDS = {
    False: (particle_end, particle_store, particle_cotangent, particle_end_adjoint),
    True: (body_end, body_store, body_cotangent, body_end_adjoint),
}


@functools.cache
def springs_between(first, second):
    """Return force and adjoint of damped springs whose ends are on a rigid body (True) or are particles."""
    end_a, store_a, cotangent_a, adjoint_a = ENDS[first]
    end_b, store_b, cotangent_b, adjoint_b = ENDS[second]

    @device
    def spring_force(
        e, clock, q, u, nodes, q_b, u_b, nodes_b, offset, offset_b, stiffness, damping, length, out, out_b
    ):
        """Compute f = (k (L - L0) + c n.s) n on the first end and -f on the second; n leads from first to second."""
        R = q.dtype.type
        x, v, arm = end_a(e, q, u, nodes, offset)
        y, w, arm_b = end_b(e, q_b, u_b, nodes_b, offset_b)
        d = sub3(y, x)
        far = sqrt(dot3(d, d))
        n = mul3(d, R(1) / where(far > R(0), far, R(1)))
        f = mul3(n, stiffness[e] * (far - length[e]) + damping[e] * dot3(n, sub3(w, v)))
        store_a(e, f, arm, out)
        store_b(e, neg3(f), arm_b, out_b)

    @device
    def spring_force_adjoint(
        e, clock, q, u, nodes, q_b, u_b, nodes_b, offset, offset_b, stiffness, damping, length,
        adj_f, adj_f_b, adj_q, adj_u, adj_q_b, adj_u_b, adj_stiffness, adj_damping, adj_length,
    ):
        """Transpose of spring_force, as between particles, with a the difference of the cotangents of a force at
        both ends.
        """
        R = q.dtype.type
        x, v, arm = end_a(e, q, u, nodes, offset)
        y, w, arm_b = end_b(e, q_b, u_b, nodes_b, offset_b)
        d = sub3(y, x)
        s = sub3(w, v)
        far = sqrt(dot3(d, d))
        inverse = where(far > R(0), R(1), R(0)) / where(far > R(0), far, R(1))
        n = mul3(d, inverse)
        stretch = far - length[e]
        rate = dot3(n, s)
        tension = stiffness[e] * stretch + damping[e] * rate
        f = mul3(n, tension)
        a = sub3(cotangent_a(e, nodes, arm, adj_f), cotangent_b(e, nodes_b, arm_b, adj_f_b))
        a_tension = dot3(n, a)
        a_n = add3(mul3(a, tension), mul3(s, damping[e] * a_tension))
        a_d = mul3(fma3(n, stiffness[e] * a_tension * far - dot3(n, a_n), a_n), inverse)
        a_s = mul3(n, damping[e] * a_tension)
        adjoint_a(e, q, u, nodes, offset, arm, f, adj_f, neg3(a_d), neg3(a_s), adj_q, adj_u)
        adjoint_b(e, q_b, u_b, nodes_b, offset_b, arm_b, neg3(f), adj_f_b, a_d, a_s, adj_q_b, adj_u_b)
        adj_stiffness[e] += a_tension * stretch
        adj_damping[e] += a_tension * rate
        adj_length[e] -= a_tension * stiffness[e]

    return spring_force, spring_force_adjoint


@functools.cache
def holds_between(first, second):
    """Return force and adjoint of springs of zero length, damped in all directions, which keep two points together."""
    end_a, store_a, cotangent_a, adjoint_a = ENDS[first]
    end_b, store_b, cotangent_b, adjoint_b = ENDS[second]

    @device
    def hold_force(e, clock, q, u, nodes, q_b, u_b, nodes_b, offset, offset_b, stiffness, damping, out, out_b):
        """Compute f = k d + c s on the first end and -f on the second."""
        x, v, arm = end_a(e, q, u, nodes, offset)
        y, w, arm_b = end_b(e, q_b, u_b, nodes_b, offset_b)
        f = add3(mul3(sub3(y, x), stiffness[e]), mul3(sub3(w, v), damping[e]))
        store_a(e, f, arm, out)
        store_b(e, neg3(f), arm_b, out_b)

    @device
    def hold_force_adjoint(
        e, clock, q, u, nodes, q_b, u_b, nodes_b, offset, offset_b, stiffness, damping,
        adj_f, adj_f_b, adj_q, adj_u, adj_q_b, adj_u_b, adj_stiffness, adj_damping,
    ):
        """Transpose of hold_force: adj_d = k a, adj_s = c a, adj_k = a.d, adj_c = a.s."""
        x, v, arm = end_a(e, q, u, nodes, offset)
        y, w, arm_b = end_b(e, q_b, u_b, nodes_b, offset_b)
        d = sub3(y, x)
        s = sub3(w, v)
        f = add3(mul3(d, stiffness[e]), mul3(s, damping[e]))
        a = sub3(cotangent_a(e, nodes, arm, adj_f), cotangent_b(e, nodes_b, arm_b, adj_f_b))
        a_d = mul3(a, stiffness[e])
        a_s = mul3(a, damping[e])
        adjoint_a(e, q, u, nodes, offset, arm, f, adj_f, neg3(a_d), neg3(a_s), adj_q, adj_u)
        adjoint_b(e, q_b, u_b, nodes_b, offset_b, arm_b, neg3(f), adj_f_b, a_d, a_s, adj_q_b, adj_u_b)
        adj_stiffness[e] += dot3(a, d)
        adj_damping[e] += dot3(a, s)

    return hold_force, hold_force_adjoint


@device
def place_at(row, e, x, y, z):
    """Load the place at one step, from coordinates with one row per step or one for all."""
    k = minimum(row, x.shape[0] - 1)
    return (x[k, e], y[k, e], z[k, e])


@functools.cache
def path_hold(body):
    """Return force and adjoint of the pull on an end along a path."""
    end, store, cotangent, adjoint = ENDS[body]

    @device
    def path_force(e, clock, q, u, nodes, offset, x, y, z, stiffness, damping, out):
        """Compute f = k (p - x) + c (p' - v), where p' is the velocity towards the place of the next step."""
        at, v, arm = end(e, q, u, nodes, offset)
        p = place_at(clock.row, e, x, y, z)
        way = mul3(sub3(place_at(clock.row + 1, e, x, y, z), p), q.dtype.type(1) / clock.dt)
        f = add3(mul3(sub3(p, at), stiffness[e]), mul3(sub3(way, v), damping[e]))
        store(e, f, arm, out)

    @device
    def path_force_adjoint(
        e, clock, q, u, nodes, offset, x, y, z, stiffness, damping,
        adj_f, adj_q, adj_u, adj_x, adj_y, adj_z, adj_stiffness, adj_damping,
    ):
        """Transpose of path_force: adj_p = k a and adj_p' = c a, shared by the places of this step and the next."""
        at, v, arm = end(e, q, u, nodes, offset)
        p = place_at(clock.row, e, x, y, z)
        step = q.dtype.type(1) / clock.dt
        way = mul3(sub3(place_at(clock.row + 1, e, x, y, z), p), step)
        off = sub3(p, at)
        slow = sub3(way, v)
        f = add3(mul3(off, stiffness[e]), mul3(slow, damping[e]))
        a = cotangent(e, nodes, arm, adj_f)
        pulled = mul3(a, stiffness[e])
        driven = mul3(a, damping[e])
        adjoint(e, q, u, nodes, offset, arm, f, adj_f, neg3(pulled), neg3(driven), adj_q, adj_u)
        here = minimum(clock.row, x.shape[0] - 1)
        there = minimum(clock.row + 1, x.shape[0] - 1)
        now = sub3(pulled, mul3(driven, step))
        then = mul3(driven, step)
        adj_x[here, e] += now[0]
        adj_y[here, e] += now[1]
        adj_z[here, e] += now[2]
        adj_x[there, e] += then[0]
        adj_y[there, e] += then[1]
        adj_z[there, e] += then[2]
        adj_stiffness[e] += dot3(a, off)
        adj_damping[e] += dot3(a, slow)

    return path_force, path_force_adjoint
