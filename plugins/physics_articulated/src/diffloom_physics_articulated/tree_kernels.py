"""Forward dynamics of a tree, a = M(q)^-1 (f - h(q, u)), by the articulated-body algorithm (Featherstone 2008).

All spatial vectors of a tree are taken about one point O, that of its last link, in the world's axes, so links add up
without transformations. Loops run over links, parents before children, or back. The values of a link lie in its part of
the tree's row of ``s``, the workspace: LINK numbers from column ``HEAD`` on, in the order named below.

``layout`` holds for each link seven numbers from column 7 l + 1 on (column 0 is the number of links): parent or -1,
kind of joint, index of its first coordinate and velocity, axis (3). ``frame``: position and quaternion of the joint in
the parent's axes (7). ``inertia``: mass, first moment and second moments about the link's origin in its axes (10).
"""

from diffloom_kernels import (
    add3,
    cos,
    cross3,
    device,
    matmul33,
    matvec33,
    mul3,
    quat_matrix,
    quat_normalize,
    sin,
    sub3,
)
from diffloom_physics_articulated.spatial_kernels import (
    addpair,
    ldpair,
    ldten,
    ldturn,
    ldvec,
    momentum,
    motion_cross,
    product,
    stpair,
    world_inertia,
    wrench_cross,
)

FIXED, REVOLUTE, PRISMATIC, BALL = 0, 1, 2, 3

HEAD = 3  # O
TURN, PLACE, INERTIA = 0, 9, 12
VELOCITY, ACCELERATION, WRENCH = 22, 28, 34
ARTICULATED, PULL, COLUMN = 40, 61, 79  # the inertia below a joint, its columns U = I S, and (1 / D, D^-1 part) of each
DRIVE, SOLVED = 85, 91
VIRTUAL, ADJ_ACCELERATION, ADJ_VELOCITY, ADJ_POSE = 97, 103, 109, 115
LINK = 121


@device
def joint_quaternion(i, kind, c, axis, q):
    """Return the rotation of a joint with the coordinates q[c], q[c + 1], ... of row i; a ball's may have any
    length.
    """
    one = q.dtype.type(1)
    zero = q.dtype.type(0)
    if kind == REVOLUTE:
        half = q[i, c] * q.dtype.type(0.5)
        k = sin(half)
        return (cos(half), axis[0] * k, axis[1] * k, axis[2] * k)
    if kind == BALL:
        return quat_normalize((q[i, c], q[i, c + 1], q[i, c + 2], q[i, c + 3]))
    return (one, zero, zero, zero)


@device
def joint_frame(i, l, frame):
    """Return position and unit quaternion of link l's joint in its parent's axes."""
    c = 7 * l
    return ldvec(frame, i, c), quat_normalize((frame[i, c + 3], frame[i, c + 4], frame[i, c + 5], frame[i, c + 6]))


@device(inline=False)
def poses(i, q, layout, frame, s):
    """Compute rotation and position of every link, about O."""
    links = int(layout[i, 0])
    zero = s.dtype.type(0)
    one = s.dtype.type(1)
    last = HEAD
    for l in range(links):
        d = 7 * l + 1
        parent = int(layout[i, d])
        kind = int(layout[i, d + 1])
        c = int(layout[i, d + 2])
        axis = ldvec(layout, i, d + 4)
        R = (one, zero, zero, zero, one, zero, zero, zero, one)
        p = (zero, zero, zero)
        if parent >= 0:
            R = ldturn(s, i, HEAD + LINK * parent + TURN)
            p = ldvec(s, i, HEAD + LINK * parent + PLACE)
        r, e = joint_frame(i, l, frame)
        p = add3(p, matvec33(R, r))
        R = matmul33(R, quat_matrix(e))
        if kind == PRISMATIC:
            p = add3(p, mul3(matvec33(R, axis), q[i, c]))
        elif kind != FIXED:
            R = matmul33(R, quat_matrix(joint_quaternion(i, kind, c, axis, q)))
        last = HEAD + LINK * l
        for k in range(9):
            s[i, last + TURN + k] = R[k]
        for k in range(3):
            s[i, last + PLACE + k] = p[k]
    o = ldvec(s, i, last + PLACE)
    for k in range(3):
        s[i, k] = o[k]
    for l in range(links):
        for k in range(3):
            s[i, HEAD + LINK * l + PLACE + k] -= o[k]


@device
def freedom(kind):
    """Return the number of velocities of a joint."""
    return 3 if kind == BALL else (0 if kind == FIXED else 1)


@device(inline=False)
def column(i, o, k, kind, axis, s):
    """Return velocity k of a joint as a motion of its link, S_k; the link's part of the workspace begins at o."""
    zero = s.dtype.type(0)
    R = ldturn(s, i, o + TURN)
    if kind == BALL:
        w = (s[i, o + TURN + k], s[i, o + TURN + 3 + k], s[i, o + TURN + 6 + k])
    else:
        w = matvec33(R, axis)
    if kind == PRISMATIC:
        return (zero, zero, zero), w
    return w, cross3(ldvec(s, i, o + PLACE), w)


@device(inline=False)
def joint_motion(i, o, kind, c, axis, u, s):
    """Return S u of a joint whose first velocity is u[c]."""
    zero = s.dtype.type(0)
    w = (zero, zero, zero)
    v = (zero, zero, zero)
    for k in range(freedom(kind)):
        x, y = column(i, o, k, kind, axis, s)
        w = add3(w, mul3(x, u[i, c + k]))
        v = add3(v, mul3(y, u[i, c + k]))
    return w, v


@device(inline=False)
def velocities(i, u, layout, s):
    """Compute the velocity of every link as a motion."""
    s.dtype.type(0)
    for l in range(int(layout[i, 0])):
        d = 7 * l + 1
        o = HEAD + LINK * l
        parent = int(layout[i, d])
        w, v = joint_motion(i, o, int(layout[i, d + 1]), int(layout[i, d + 3]), ldvec(layout, i, d + 4), u, s)
        if parent >= 0:
            x, y = ldpair(s, i, HEAD + LINK * parent + VELOCITY)
            w = add3(w, x)
            v = add3(v, y)
        stpair(s, i, o + VELOCITY, w, v)


@device
def inertial_wrench(I, w, v, a, b):
    """Return I a + v x* I v for the velocity (w, v) and the acceleration (a, b)."""
    n, f = momentum(I, w, v)
    n, f = wrench_cross(w, v, n, f)
    x, y = momentum(I, a, b)
    return add3(n, x), add3(f, y)


@device(inline=False)
def bias(i, u, layout, inertia, gravity, s):
    """Compute acceleration and wrench of every link with joints at rest: a = a_parent + v x S u, f = I a + v x* I v.

    Gravity enters as an upward acceleration of the ground.
    """
    s.dtype.type(0)
    for l in range(int(layout[i, 0])):
        d = 7 * l + 1
        o = HEAD + LINK * l
        parent = int(layout[i, d])
        x, y = joint_motion(i, o, int(layout[i, d + 1]), int(layout[i, d + 3]), ldvec(layout, i, d + 4), u, s)
        w, v = ldpair(s, i, o + VELOCITY)
        a, b = motion_cross(w, v, x, y)
        if parent >= 0:
            x, y = ldpair(s, i, HEAD + LINK * parent + ACCELERATION)
            a = add3(a, x)
            b = add3(b, y)
        else:
            b = sub3(b, ldvec(gravity, i, 0))
        stpair(s, i, o + ACCELERATION, a, b)
        I = world_inertia(ldten(inertia, i, 10 * l), ldturn(s, i, o + TURN), ldvec(s, i, o + PLACE))
        for k in range(10):
            s[i, o + INERTIA + k] = I[k]
        n, f = inertial_wrench(I, w, v, a, b)
        stpair(s, i, o + WRENCH, n, f)


@device(inline=False)
def articulated_product(i, o, w, v, s):
    """Return the wrench of the articulated inertia for a motion: (A w + B v, B^T w + C v)."""
    c = o + ARTICULATED
    n = (
        s[i, c] * w[0] + s[i, c + 3] * w[1] + s[i, c + 4] * w[2] + s[i, c + 6] * v[0] + s[i, c + 7] * v[1]
        + s[i, c + 8] * v[2],
        s[i, c + 3] * w[0] + s[i, c + 1] * w[1] + s[i, c + 5] * w[2] + s[i, c + 9] * v[0] + s[i, c + 10] * v[1]
        + s[i, c + 11] * v[2],
        s[i, c + 4] * w[0] + s[i, c + 5] * w[1] + s[i, c + 2] * w[2] + s[i, c + 12] * v[0] + s[i, c + 13] * v[1]
        + s[i, c + 14] * v[2],
    )
    f = (
        s[i, c + 6] * w[0] + s[i, c + 9] * w[1] + s[i, c + 12] * w[2] + s[i, c + 15] * v[0] + s[i, c + 18] * v[1]
        + s[i, c + 19] * v[2],
        s[i, c + 7] * w[0] + s[i, c + 10] * w[1] + s[i, c + 13] * w[2] + s[i, c + 18] * v[0] + s[i, c + 16] * v[1]
        + s[i, c + 20] * v[2],
        s[i, c + 8] * w[0] + s[i, c + 11] * w[1] + s[i, c + 14] * w[2] + s[i, c + 19] * v[0] + s[i, c + 20] * v[1]
        + s[i, c + 17] * v[2],
    )
    return n, f


@device(inline=False)
def begin_articulated(i, o, s):
    """Initialise the articulated inertia with that of the link: A = second moments, B = [h], C = m 1."""
    zero = s.dtype.type(0)
    c = o + ARTICULATED
    for k in range(6):
        s[i, c + k] = s[i, o + INERTIA + 4 + k]
    for k in range(6, 21):
        s[i, c + k] = zero
    x = s[i, o + INERTIA + 1]
    y = s[i, o + INERTIA + 2]
    z = s[i, o + INERTIA + 3]
    s[i, c + 7] = -z
    s[i, c + 8] = y
    s[i, c + 9] = z
    s[i, c + 11] = -x
    s[i, c + 12] = -y
    s[i, c + 13] = x
    for k in range(3):
        s[i, c + 15 + k] = s[i, o + INERTIA]


@device(inline=False)
def take_column(i, o, n, f, share, s):
    """Subtract U U^T / D from the articulated inertia; ``share`` is 1 / D."""
    c = o + ARTICULATED
    a = mul3(n, share)
    b = mul3(f, share)
    for k in range(3):
        s[i, c + k] -= a[k] * n[k]
        s[i, c + 15 + k] -= b[k] * f[k]
        for m in range(3):
            s[i, c + 6 + 3 * k + m] -= a[k] * f[m]
    s[i, c + 3] -= a[0] * n[1]
    s[i, c + 4] -= a[0] * n[2]
    s[i, c + 5] -= a[1] * n[2]
    s[i, c + 18] -= b[0] * f[1]
    s[i, c + 19] -= b[0] * f[2]
    s[i, c + 20] -= b[1] * f[2]


@device(inline=False)
def factor(i, layout, armature, s):
    """Factorise from the leaves down: U = I S, D = S U + armature; I - U U^T / D goes to the parent."""
    one = s.dtype.type(1)
    links = int(layout[i, 0])
    for l in range(links):
        begin_articulated(i, HEAD + LINK * l, s)
    for back in range(links):
        l = links - 1 - back
        d = 7 * l + 1
        o = HEAD + LINK * l
        parent = int(layout[i, d])
        kind = int(layout[i, d + 1])
        c = int(layout[i, d + 3])
        axis = ldvec(layout, i, d + 4)
        count = freedom(kind)
        for j in range(count):
            k = count - 1 - j
            w, v = column(i, o, k, kind, axis, s)
            n, f = articulated_product(i, o, w, v, s)
            share = one / (product(w, v, n, f) + armature[i, c + k])
            stpair(s, i, o + PULL + 6 * k, n, f)
            s[i, o + COLUMN + k] = share
            take_column(i, o, n, f, share, s)
        if parent >= 0:
            for k in range(21):
                s[i, HEAD + LINK * parent + ARTICULATED + k] += s[i, o + ARTICULATED + k]


@device(inline=False)
def solve(i, at, layout, s):
    """Compute x = M^-1 (b - S^T g), in place of b in columns ``at``.. of the workspace.

    g are the wrenches in DRIVE of the links, which are overwritten; the motion S x of all joints up to a link is left
    in SOLVED.
    """
    zero = s.dtype.type(0)
    links = int(layout[i, 0])
    for back in range(links):
        l = links - 1 - back
        d = 7 * l + 1
        o = HEAD + LINK * l
        parent = int(layout[i, d])
        kind = int(layout[i, d + 1])
        c = at + int(layout[i, d + 3])
        axis = ldvec(layout, i, d + 4)
        count = freedom(kind)
        n, f = ldpair(s, i, o + DRIVE)
        for j in range(count):
            k = count - 1 - j
            w, v = column(i, o, k, kind, axis, s)
            b = (s[i, c + k] - product(w, v, n, f)) * s[i, o + COLUMN + k]
            s[i, c + k] = b
            x, y = ldpair(s, i, o + PULL + 6 * k)
            n = add3(n, mul3(x, b))
            f = add3(f, mul3(y, b))
        if parent >= 0:
            addpair(s, i, HEAD + LINK * parent + DRIVE, n, f)
    for l in range(links):
        d = 7 * l + 1
        o = HEAD + LINK * l
        parent = int(layout[i, d])
        kind = int(layout[i, d + 1])
        c = at + int(layout[i, d + 3])
        axis = ldvec(layout, i, d + 4)
        a = (zero, zero, zero)
        b = (zero, zero, zero)
        if parent >= 0:
            a, b = ldpair(s, i, HEAD + LINK * parent + SOLVED)
        for k in range(freedom(kind)):
            n, f = ldpair(s, i, o + PULL + 6 * k)
            x = s[i, c + k] - product(a, b, n, f) * s[i, o + COLUMN + k]
            s[i, c + k] = x
            w, v = column(i, o, k, kind, axis, s)
            a = add3(a, mul3(w, x))
            b = add3(b, mul3(v, x))
        stpair(s, i, o + SOLVED, a, b)


@device(inline=False)
def accelerations(i, at, q, u, layout, frame, inertia, armature, gravity, s):
    """Compute a in place of the force in columns ``at``.. of the workspace; row i of q and u is that of the tree."""
    poses(i, q, layout, frame, s)
    velocities(i, u, layout, s)
    bias(i, u, layout, inertia, gravity, s)
    factor(i, layout, armature, s)
    for l in range(int(layout[i, 0])):
        for k in range(6):
            s[i, HEAD + LINK * l + DRIVE + k] = s[i, HEAD + LINK * l + WRENCH + k]
    solve(i, at, layout, s)
