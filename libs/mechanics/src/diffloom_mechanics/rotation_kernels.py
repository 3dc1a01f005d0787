"""Rotations inside kernels: the exponential map. Products and matrices of quaternions are in diffloom_kernels."""

from diffloom_kernels import any_lane, constant, cos, device, dot3, not_lanes, sin, sqrt, where


@device
def half_turn(y):
    """Return cos h, sin h / h and d(sin h / h)/dy for y = h^2 >= 0. A series up to h = 1/2 avoids cancellation."""
    one = constant(y, 1)
    small = y < constant(y, 0.25)
    c = y - y
    s = c
    d = c
    if any_lane(small):
        c = one - y * constant(y, 1 / 2) * (one - y * constant(y, 1 / 12) * (one - y * constant(y, 1 / 30) * (
            one - y * constant(y, 1 / 56) * (one - y * constant(y, 1 / 90) * (one - y * constant(y, 1 / 132) * (
                one - y * constant(y, 1 / 182)))))))
        s = one - y * constant(y, 1 / 6) * (one - y * constant(y, 1 / 20) * (one - y * constant(y, 1 / 42) * (
            one - y * constant(y, 1 / 72) * (one - y * constant(y, 1 / 110) * (one - y * constant(y, 1 / 156) * (
                one - y * constant(y, 1 / 210)))))))
        d = constant(y, -1 / 6) * (one - y * constant(y, 1 / 10) * (one - y * constant(y, 1 / 28) * (
            one - y * constant(y, 1 / 54) * (one - y * constant(y, 1 / 88) * (one - y * constant(y, 1 / 130) * (
                one - y * constant(y, 1 / 180)))))))
    if any_lane(not_lanes(small)):
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
    """Return the unit quaternion of the rotation vector s: (cos |s|/2, s sin(|s|/2)/|s|)."""
    c, k, _ = half_turn(dot3(s, s) * constant(s[0], 0.25))
    k = k * constant(s[0], 0.5)
    return (c, s[0] * k, s[1] * k, s[2] * k)


@device
def quat_exp_adjoint(s, adj):
    """Transpose of quat_exp: with y = |s|^2/4, c(y) = cos and k(y) = sinc/2, dc/dy = -k, and dk/dy is from
    half_turn.
    """
    half = constant(s[0], 0.5)
    _, sinc, slope = half_turn(dot3(s, s) * constant(s[0], 0.25))
    along = adj[1] * s[0] + adj[2] * s[1] + adj[3] * s[2]
    adj_y = half * (slope * along - sinc * adj[0])
    k = half * sinc
    t = half * adj_y
    return (k * adj[1] + t * s[0], k * adj[2] + t * s[1], k * adj[3] + t * s[2])
