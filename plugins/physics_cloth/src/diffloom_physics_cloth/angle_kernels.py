"""The angle of a point, free of branches, so that all lanes compute at once where a library call would take turns."""

from diffloom_kernels import absolute, constant, device, fma, maximum, minimum, where


@device
def linear(s, a, b):
    """a + b s."""
    return fma(constant(s, b), s, constant(s, a))


@device
def cubic(s, s2, a, b, c, d):
    """a + b s + c s^2 + d s^3, in two halves that can be computed side by side."""
    return fma(linear(s, c, d), s2, linear(s, a, b))


@device
def series(s):
    """p(s) with atan z = z + z^3 p(z^2) for |z| <= tan(pi/8): minimax polynomials, of degree 4 with a relative
    error of 7e-10 for float32, of degree 9 with 4e-17 for float64."""
    one = constant(s, 1)
    s2 = s * s
    s4 = s2 * s2
    short = cubic(s, s2, -0.33333315186281326, 0.19998471365116469, -0.1424353035624486, 0.10593790548714882)
    short = fma(constant(s, -0.06078159984762444), s4, short)
    low = cubic(s, s2, -0.3333333333333015, 0.19999999999088262, -0.14285714195200055, 0.11111106650961962)
    high = cubic(s, s2, -0.0909078234923221, 0.07690067385393815, -0.06641113067858632, 0.05692495711783952)
    high = fma(linear(s, -0.043589683139014284, 0.021258269533451084), s4, high)
    # Which type it is the compiler knows; it leaves the other polynomial out.
    return where(one + constant(s, 1e-10) == one, short, fma(high, s4, low))


@device
def angle(y, x):
    """atan2(y, x) in radians from -pi to pi; 0 at the origin. Within 2 units in the last place of float32 and float64.

    With t = min(|x|, |y|) / max(|x|, |y|), atan t is taken at t or, beyond tan(pi/8), at (t - 1) / (t + 1), where it is
    pi/4 less.
    """
    zero = constant(x, 0)
    one = constant(x, 1)
    ay = absolute(y)
    ax = absolute(x)
    low = minimum(ax, ay)
    high = maximum(ax, ay)
    beyond = low > high * constant(x, 0.41421356237309503)
    below = where(beyond, low + high, high)
    z = where(beyond, low - high, low) / where(below > zero, below, one)
    s = z * z
    r = fma(z * s, series(s), z)
    r = where(beyond, r + constant(x, 0.7853981633974483), r)
    r = where(ay > ax, constant(x, 1.5707963267948966) - r, r)
    r = where(x < zero, constant(x, 3.141592653589793) - r, r)
    return where(y < zero, -r, r)
