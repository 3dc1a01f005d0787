"""Rotations inside kernels: the exponential map and symmetric 3x3 matrices."""

from diffloom_kernels import anyl, constant, cos, device, dot3, notl, sin, sqrt, where


@device
def half_turn(y):
    """cos h, sin h / h and d(sin h / h)/dy for y = h^2 >= 0. A series up to h = 1/2, so that no digit cancels."""
    one = constant(y, 1)
    small = y < constant(y, 0.25)
    c = y - y
    s = c
    d = c
    if anyl(small):
        c = one - y * constant(y, 1 / 2) * (one - y * constant(y, 1 / 12) * (one - y * constant(y, 1 / 30) * (
            one - y * constant(y, 1 / 56) * (one - y * constant(y, 1 / 90) * (one - y * constant(y, 1 / 132) * (
                one - y * constant(y, 1 / 182)))))))
        s = one - y * constant(y, 1 / 6) * (one - y * constant(y, 1 / 20) * (one - y * constant(y, 1 / 42) * (
            one - y * constant(y, 1 / 72) * (one - y * constant(y, 1 / 110) * (one - y * constant(y, 1 / 156) * (
                one - y * constant(y, 1 / 210)))))))
        d = constant(y, -1 / 6) * (one - y * constant(y, 1 / 10) * (one - y * constant(y, 1 / 28) * (
            one - y * constant(y, 1 / 54) * (one - y * constant(y, 1 / 88) * (one - y * constant(y, 1 / 130) * (
                one - y * constant(y, 1 / 180)))))))
    if anyl(notl(small)):
        large = where(small, one, y)
        h = sqrt(large)
        cosine = cos(h)
        sinc = sin(h) / h
        c = where(small, c, cosine)
        s = where(small, s, sinc)
        d = where(small, d, (cosine - sinc) / (large + large))
    return c, s, d


@device
def quat_exp(s):
    """The unit quaternion that turns by the rotation vector s: (cos |s|/2, s sin(|s|/2)/|s|)."""
    c, k, _ = half_turn(dot3(s, s) * constant(s[0], 0.25))
    k = k * constant(s[0], 0.5)
    return (c, s[0] * k, s[1] * k, s[2] * k)


@device
def quat_exp_adjoint(s, adj):
    """Cotangent of s for y = |s|^2/4, c(y) = cos, k(y) = sinc/2: dc/dy = -k, dk/dy from half_turn."""
    half = constant(s[0], 0.5)
    _, sinc, slope = half_turn(dot3(s, s) * constant(s[0], 0.25))
    along = adj[1] * s[0] + adj[2] * s[1] + adj[3] * s[2]
    adj_y = half * (slope * along - sinc * adj[0])
    k = half * sinc
    t = half * adj_y
    return (k * adj[1] + t * s[0], k * adj[2] + t * s[1], k * adj[3] + t * s[2])


@device
def ld_sym(a, i):
    """Row i as a symmetric matrix: six numbers xx, yy, zz, xy, xz, yz."""
    return (a[i, 0], a[i, 1], a[i, 2], a[i, 3], a[i, 4], a[i, 5])


@device
def sym_mul(S, v):
    """S v for a symmetric S."""
    return (
        S[0] * v[0] + S[3] * v[1] + S[4] * v[2],
        S[3] * v[0] + S[1] * v[1] + S[5] * v[2],
        S[4] * v[0] + S[5] * v[1] + S[2] * v[2],
    )


@device
def sym_scale(S, s):
    """S s, with s a scalar."""
    return (S[0] * s, S[1] * s, S[2] * s, S[3] * s, S[4] * s, S[5] * s)


@device
def sym_outer(a, b):
    """Cotangent of S for S b with cotangent a; an entry off the diagonal counts for both of its places."""
    return (
        a[0] * b[0], a[1] * b[1], a[2] * b[2],
        a[0] * b[1] + a[1] * b[0], a[0] * b[2] + a[2] * b[0], a[1] * b[2] + a[2] * b[1],
    )


@device
def sym_add(S, T):
    """S + T."""
    return (S[0] + T[0], S[1] + T[1], S[2] + T[2], S[3] + T[3], S[4] + T[4], S[5] + T[5])


@device
def add_to_sym(a, i, S):
    """a[i] += S."""
    a[i, 0] += S[0]
    a[i, 1] += S[1]
    a[i, 2] += S[2]
    a[i, 3] += S[3]
    a[i, 4] += S[4]
    a[i, 5] += S[5]


@device
def where6(c, a, b):
    """a where c holds, else b."""
    return (
        where(c, a[0], b[0]), where(c, a[1], b[1]), where(c, a[2], b[2]),
        where(c, a[3], b[3]), where(c, a[4], b[4]), where(c, a[5], b[5]),
    )


@device
def where7(c, a, b):
    """a where c holds, else b."""
    return (
        where(c, a[0], b[0]), where(c, a[1], b[1]), where(c, a[2], b[2]),
        where(c, a[3], b[3]), where(c, a[4], b[4]), where(c, a[5], b[5]), where(c, a[6], b[6]),
    )
