"""Kernels of rotations: the quaternion of a rotation vector, and its transpose."""

from diffloom_kernels import any_lane, constant, cos, device, dot3, not_lanes, sin, sqrt, where


@device
def half_angle(y):
    """Return cos a, sin a / a and the derivative of the latter by y = a^2; by series for small a."""
    small = y < constant(y, 0.01)
    c = y - y
    s = c
    d = c
    if any_lane(small):
        c = constant(y, 1) + y * (constant(y, -1 / 2) + y * (constant(y, 1 / 24) + y * (
            constant(y, -1 / 720) + y * (constant(y, 1 / 40320) - y * constant(y, 1 / 3628800)))))
        s = constant(y, 1) + y * (constant(y, -1 / 6) + y * (constant(y, 1 / 120) + y * (
            constant(y, -1 / 5040) + y * (constant(y, 1 / 362880) - y * constant(y, 1 / 39916800)))))
        d = constant(y, -1 / 6) + y * (constant(y, 1 / 60) + y * (constant(y, -1 / 1680) + y * (
            constant(y, 1 / 90720) - y * constant(y, 1 / 7983360))))
    if any_lane(not_lanes(small)):
        large = where(small, constant(y, 1), y)
        a = sqrt(large)
        cosine = cos(a)
        sinc = sin(a) / a
        c = where(small, c, cosine)
        s = where(small, s, sinc)
        d = where(small, d, (cosine - sinc) / (large + large))
    return c, s, d


@device
def quat_exp(t):
    """Return the unit quaternion of the rotation vector t: (cos a, t sin a / (2 a)) with a = |t| / 2."""
    half = constant(t[0], 0.5)
    c, s, _ = half_angle(dot3(t, t) * half * half)
    return (c, half * s * t[0], half * s * t[1], half * s * t[2])


@device
def quat_exp_adjoint(t, adj):
    """Return the cotangent of t: with y = |t|^2 / 4, dc/dy = -s / 2 and ds/dy from half_angle."""
    half = constant(t[0], 0.5)
    _, s, d = half_angle(dot3(t, t) * half * half)
    along = adj[1] * t[0] + adj[2] * t[1] + adj[3] * t[2]
    adj_y = half * (d * along - s * adj[0])
    k = half * s
    m = half * adj_y
    return (k * adj[1] + m * t[0], k * adj[2] + m * t[1], k * adj[3] + m * t[2])
