"""Transpose of a tree's forward dynamics, without differentiating the recursion that solves for it.

From M a + h = f: with l = M^-1 adj_a, adj_f = l, and every other cotangent is that of the inverse dynamics f = M a + h
at constant a, for the cotangent b = -l of f. With y = sum of S b over the joints up to a link, and for each link
    phi = y.(I a + v x* I v) = y.I a - (v x y).I v,
cotangents of a and v are gathered from the leaves down, as wrenches are. The pose of a link (its S and I) gives a
wrench too, the cotangent of an infinitesimal motion of the link; a joint's coordinate moves all links above it, so its
cotangent is S.(sum of their wrenches). The result does not depend on O.
"""

from diffloom_kernels import add3, device, mul3, neg3, quat_conj, quat_mul, quat_rotate, sub3, tmatvec33
from diffloom_physics_articulated.spatial_kernels import (
    addpair,
    addvec,
    form_wrench,
    inertia_form,
    ldpair,
    ldten,
    ldturn,
    ldvec,
    link_motion,
    moment_about,
    momentum,
    motion_cross,
    product,
    stpair,
    wrench_cross,
)
from diffloom_physics_articulated.tree_kernels import (
    ACCELERATION,
    ADJ_ACCELERATION,
    ADJ_POSE,
    ADJ_VELOCITY,
    BALL,
    DRIVE,
    HEAD,
    INERTIA,
    LINK,
    PLACE,
    PRISMATIC,
    SOLVED,
    TURN,
    VELOCITY,
    VIRTUAL,
    WRENCH,
    column,
    freedom,
    inertial_wrench,
    joint_frame,
    joint_motion,
    solve,
)


@device(inline=False)
def link_adjoint(i, l, o, s, adj_inertia):
    """Add the cotangents of link l's acceleration, velocity, pose and inertia by its own phi; store its wrench."""
    R = ldturn(s, i, o + TURN)
    p = ldvec(s, i, o + PLACE)
    I = ldten(s, i, o + INERTIA)
    w, v = ldpair(s, i, o + VELOCITY)
    a, b = ldpair(s, i, o + ACCELERATION)
    x, y = ldpair(s, i, o + VIRTUAL)
    n, f = inertial_wrench(I, w, v, a, b)
    stpair(s, i, o + WRENCH, n, f)
    n, f = momentum(I, x, y)
    stpair(s, i, o + ADJ_ACCELERATION, n, f)
    c, d = motion_cross(w, v, x, y)
    n, f = momentum(I, w, v)
    n, f = wrench_cross(x, y, n, f)
    n1, f1 = momentum(I, c, d)
    stpair(s, i, o + ADJ_VELOCITY, neg3(add3(n, n1)), neg3(add3(f, f1)))
    n, f = form_wrench(I, x, y, a, b)
    n1, f1 = form_wrench(I, c, d, w, v)
    stpair(s, i, o + ADJ_POSE, sub3(n, n1), sub3(f, f1))
    w, v = link_motion(R, p, w, v)
    a, b = link_motion(R, p, a, b)
    x, y = link_motion(R, p, x, y)
    c, d = link_motion(R, p, c, d)
    g = inertia_form(x, y, a, b)
    h = inertia_form(c, d, w, v)
    for k in range(10):
        adj_inertia[i, 10 * l + k] += g[k] - h[k]


@device
def quaternion_cotangent(r, t):
    """Return the cotangent of a quaternion r of any length: 2 r (0, t) / |r|^2.

    t is the cotangent of small turns d of the rotation in its own axes.
    """
    k = (r[0] * r[0] + r[1] * r[1]) + (r[2] * r[2] + r[3] * r[3])
    two = (k + k) / (k * k)
    zero = k - k
    g = quat_mul(r, (zero, t[0], t[1], t[2]))
    return (g[0] * two, g[1] * two, g[2] * two, g[3] * two)


@device(inline=False)
def pose_adjoint(i, l, q, layout, frame, s, adj_q, at, adj_frame):
    """Add the cotangents of the coordinates of link l's joint to columns ``at``.. of adj_q, and those of its frame.

    They follow from the wrench ADJ_POSE of link l and all links above; the wrench is added to the parent's.
    """
    d = 7 * l + 1
    o = HEAD + LINK * l
    parent = int(layout[i, d])
    kind = int(layout[i, d + 1])
    c = int(layout[i, d + 2])
    axis = ldvec(layout, i, d + 4)
    n, f = ldpair(s, i, o + ADJ_POSE)
    origin = ldvec(s, i, o + PLACE)
    if kind == BALL:
        t = tmatvec33(ldturn(s, i, o + TURN), moment_about(origin, n, f))
        g = quaternion_cotangent((q[i, c], q[i, c + 1], q[i, c + 2], q[i, c + 3]), t)
        for k in range(4):
            adj_q[i, at + c + k] += g[k]
    elif freedom(kind) == 1:
        w, v = column(i, o, 0, kind, axis, s)
        adj_q[i, at + c] += product(w, v, n, f)
        if kind == PRISMATIC:
            origin = sub3(origin, mul3(v, q[i, c]))
    _, e = joint_frame(i, l, frame)
    t = moment_about(origin, n, f)
    r = f
    if parent >= 0:
        R = ldturn(s, i, HEAD + LINK * parent + TURN)
        t = tmatvec33(R, t)
        r = tmatvec33(R, r)
        addpair(s, i, HEAD + LINK * parent + ADJ_POSE, n, f)
    addvec(adj_frame, i, 7 * l, r)
    a = 7 * l + 3
    g = quaternion_cotangent(
        (frame[i, a], frame[i, a + 1], frame[i, a + 2], frame[i, a + 3]), quat_rotate(quat_conj(e), t)
    )
    for k in range(4):
        adj_frame[i, a + k] += g[k]


@device(inline=False)
def joint_adjoint(i, l, a_at, b_at, u, layout, s, at):
    """Add the cotangents of link l's joint velocities to columns ``at``.. of s, and those of its S to ADJ_POSE.

    All links above l come first.
    """
    d = 7 * l + 1
    o = HEAD + LINK * l
    parent = int(layout[i, d])
    kind = int(layout[i, d + 1])
    c = int(layout[i, d + 3])
    axis = ldvec(layout, i, d + 4)
    w, v = ldpair(s, i, o + VELOCITY)
    na, fa = ldpair(s, i, o + ADJ_ACCELERATION)
    x, y = joint_motion(i, o, kind, c, axis, u, s)
    n, f = wrench_cross(x, y, na, fa)
    addpair(s, i, o + ADJ_VELOCITY, n, f)
    nv, fv = ldpair(s, i, o + ADJ_VELOCITY)
    n, f = wrench_cross(w, v, na, fa)
    n = sub3(nv, n)
    f = sub3(fv, f)
    ns, fs = ldpair(s, i, o + WRENCH)
    for k in range(freedom(kind)):
        x, y = column(i, o, k, kind, axis, s)
        s[i, at + c + k] += product(x, y, n, f)
        rate = u[i, c + k]
        a = s[i, a_at + c + k]
        b = s[i, b_at + c + k]
        nk = add3(add3(mul3(n, rate), mul3(na, a)), mul3(ns, b))
        fk = add3(add3(mul3(f, rate), mul3(fa, a)), mul3(fs, b))
        nk, fk = wrench_cross(x, y, nk, fk)
        addpair(s, i, o + ADJ_POSE, nk, fk)
    if parent >= 0:
        e = HEAD + LINK * parent
        addpair(s, i, e + ADJ_ACCELERATION, na, fa)
        addpair(s, i, e + ADJ_VELOCITY, nv, fv)
        addpair(s, i, e + WRENCH, ns, fs)


@device(inline=False)
def accelerations_adjoint(
    i, at, du, q, u, layout, frame, inertia, armature, gravity, s, adj_frame, adj_inertia, adj_armature, adj_gravity
):
    """Transpose of accelerations, which has run: columns ``at``.. of s hold a, the next du numbers adj_a.

    Afterwards these hold -adj_f, and the next du and dq numbers, initially zero, adj_u and adj_q.
    """
    links = int(layout[i, 0])
    zero = s.dtype.type(0)
    for l in range(links):
        o = HEAD + LINK * l
        for k in range(6):
            s[i, o + ACCELERATION + k] += s[i, o + SOLVED + k]
            s[i, o + DRIVE + k] = zero
    solve(i, at + du, layout, s)
    for k in range(du):
        s[i, at + du + k] = -s[i, at + du + k]
        adj_armature[i, k] += s[i, at + du + k] * s[i, at + k]
    for l in range(links):
        o = HEAD + LINK * l
        for k in range(6):
            s[i, o + VIRTUAL + k] = -s[i, o + SOLVED + k]
        link_adjoint(i, l, o, s, adj_inertia)
    for back in range(links):
        l = links - 1 - back
        joint_adjoint(i, l, at, at + du, u, layout, s, at + du + du)
        pose_adjoint(i, l, q, layout, frame, s, s, at + du + du + du, adj_frame)
        if int(layout[i, 7 * l + 1]) < 0:
            _, f = ldpair(s, i, HEAD + LINK * l + ADJ_ACCELERATION)
            addvec(adj_gravity, i, 0, neg3(f))
