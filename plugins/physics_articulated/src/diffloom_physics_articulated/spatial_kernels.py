"""Kernels of spatial vectors (Featherstone 2008): motions (w, v) and wrenches (n, f), all about one point O.

A motion is an angular velocity w and the velocity v of the body's point that is at O. A wrench is a moment n about O
and a force f. All are in the world's axes. Rigid-body inertias are ten numbers: mass, first moment (3), second moments
about O (xx yy zz xy xz yz).
"""

from diffloom_kernels import add3, cross3, device, dot3, matmul33, mul3, sub3


@device
def ldpair(a, i, c):
    """Load six neighbouring numbers of row i, from column c on, as two vec3."""
    return (a[i, c], a[i, c + 1], a[i, c + 2]), (a[i, c + 3], a[i, c + 4], a[i, c + 5])


@device
def stpair(a, i, c, w, v):
    """Store two vec3 in six neighbouring numbers."""
    a[i, c] = w[0]
    a[i, c + 1] = w[1]
    a[i, c + 2] = w[2]
    a[i, c + 3] = v[0]
    a[i, c + 4] = v[1]
    a[i, c + 5] = v[2]


@device
def addpair(a, i, c, w, v):
    """Add two vec3 to six neighbouring numbers."""
    a[i, c] += w[0]
    a[i, c + 1] += w[1]
    a[i, c + 2] += w[2]
    a[i, c + 3] += v[0]
    a[i, c + 4] += v[1]
    a[i, c + 5] += v[2]


@device
def ldvec(a, i, c):
    """Load three neighbouring numbers of row i."""
    return (a[i, c], a[i, c + 1], a[i, c + 2])


@device
def addvec(a, i, c, v):
    """Add a vec3 to three neighbouring numbers of row i."""
    a[i, c] += v[0]
    a[i, c + 1] += v[1]
    a[i, c + 2] += v[2]


@device
def ldturn(a, i, c):
    """Load nine neighbouring numbers of row i, a matrix row by row."""
    return (
        a[i, c], a[i, c + 1], a[i, c + 2], a[i, c + 3], a[i, c + 4], a[i, c + 5], a[i, c + 6], a[i, c + 7], a[i, c + 8],
    )


@device
def ldten(a, i, c):
    """Load ten neighbouring numbers of row i: an inertia."""
    return (
        a[i, c], a[i, c + 1], a[i, c + 2], a[i, c + 3], a[i, c + 4], a[i, c + 5], a[i, c + 6], a[i, c + 7],
        a[i, c + 8], a[i, c + 9],
    )


@device
def motion_cross(w, v, x, y):
    """Return (w, v) x (x, y): the rate of change of the second motion when it moves along with the first."""
    return cross3(w, x), add3(cross3(w, y), cross3(v, x))


@device
def wrench_cross(w, v, n, f):
    """Return (w, v) x* (n, f): the rate of change of a wrench that moves along; the negative transpose of
    motion_cross.
    """
    return add3(cross3(w, n), cross3(v, f)), cross3(w, f)


@device
def product(w, v, n, f):
    """Return the power of a wrench in a motion."""
    return dot3(w, n) + dot3(v, f)


@device
def momentum(I, w, v):
    """Return the wrench I (w, v)."""
    h = (I[1], I[2], I[3])
    n = (
        I[4] * w[0] + I[7] * w[1] + I[8] * w[2],
        I[7] * w[0] + I[5] * w[1] + I[9] * w[2],
        I[8] * w[0] + I[9] * w[1] + I[6] * w[2],
    )
    return add3(n, cross3(h, v)), add3(mul3(v, I[0]), cross3(w, h))


@device
def inertia_form(w1, v1, w2, v2):
    """Return the derivative of the form (w1, v1) I (w2, v2) by the ten numbers of I."""
    h = add3(cross3(v2, w1), cross3(v1, w2))
    return (
        dot3(v1, v2), h[0], h[1], h[2], w1[0] * w2[0], w1[1] * w2[1], w1[2] * w2[2],
        w1[0] * w2[1] + w1[1] * w2[0], w1[0] * w2[2] + w1[2] * w2[0], w1[1] * w2[2] + w1[2] * w2[1],
    )


@device
def form_wrench(I, w1, v1, w2, v2):
    """Return the derivative of the form (w1, v1) I (w2, v2) by a motion of the body, with both motions constant.

    It is -(x1 x* I x2 + x2 x* I x1).
    """
    n1, f1 = momentum(I, w1, v1)
    n2, f2 = momentum(I, w2, v2)
    a, b = wrench_cross(w1, v1, n2, f2)
    c, d = wrench_cross(w2, v2, n1, f1)
    n = add3(a, c)
    f = add3(b, d)
    return (-n[0], -n[1], -n[2]), (-f[0], -f[1], -f[2])


@device
def world_inertia(I, R, p):
    """Return, about O, an inertia given about a link's origin p in axes turned by R."""
    m = I[0]
    c = (
        R[0] * I[1] + R[1] * I[2] + R[2] * I[3],
        R[3] * I[1] + R[4] * I[2] + R[5] * I[3],
        R[6] * I[1] + R[7] * I[2] + R[8] * I[3],
    )
    T = matmul33(R, (I[4], I[7], I[8], I[7], I[5], I[9], I[8], I[9], I[6]))
    k = add3(c, c)
    e = add3(k, mul3(p, m))  # 2 c + m p: the parts of both products that share p
    d = dot3(p, e)
    cp = add3(c, mul3(p, m))
    return (
        m, cp[0], cp[1], cp[2],
        T[0] * R[0] + T[1] * R[1] + T[2] * R[2] + d - p[0] * e[0],
        T[3] * R[3] + T[4] * R[4] + T[5] * R[5] + d - p[1] * e[1],
        T[6] * R[6] + T[7] * R[7] + T[8] * R[8] + d - p[2] * e[2],
        T[0] * R[3] + T[1] * R[4] + T[2] * R[5] - p[0] * c[1] - c[0] * p[1] - m * p[0] * p[1],
        T[0] * R[6] + T[1] * R[7] + T[2] * R[8] - p[0] * c[2] - c[0] * p[2] - m * p[0] * p[2],
        T[3] * R[6] + T[4] * R[7] + T[5] * R[8] - p[1] * c[2] - c[1] * p[2] - m * p[1] * p[2],
    )


@device
def link_motion(R, p, w, v):
    """Return a motion in a link's own axes, about its origin."""
    x = add3(v, cross3(w, p))
    return (
        (R[0] * w[0] + R[3] * w[1] + R[6] * w[2], R[1] * w[0] + R[4] * w[1] + R[7] * w[2],
         R[2] * w[0] + R[5] * w[1] + R[8] * w[2]),
        (R[0] * x[0] + R[3] * x[1] + R[6] * x[2], R[1] * x[0] + R[4] * x[1] + R[7] * x[2],
         R[2] * x[0] + R[5] * x[1] + R[8] * x[2]),
    )


@device
def moment_about(o, n, f):
    """Return the moment of a wrench about the point o."""
    return sub3(n, cross3(o, f))
