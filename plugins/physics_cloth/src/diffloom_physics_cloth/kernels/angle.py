"""The angle of a point, free of branches, so that all lanes compute at once where a library call would take turns."""

from diffloom.kernels import absolute, constant, device, maximum, minimum, where


@device
def angle(y, x):
    """atan2(y, x) in radians from -pi to pi; 0 at the origin. Within 2 units in the last place of float32 and float64.

    With t = min(|x|, |y|) / max(|x|, |y|), atan t is taken at t or, beyond tan(pi/8), at (t - 1) / (t + 1), where
    it is pi/4 less. There z + z^3 p(z^2) has a relative error of 4e-17; p is the minimax polynomial of degree 9.
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
    p = constant(x, 0.021258269533451084)
    p = p * s + constant(x, -0.043589683139014284)
    p = p * s + constant(x, 0.05692495711783952)
    p = p * s + constant(x, -0.06641113067858632)
    p = p * s + constant(x, 0.07690067385393815)
    p = p * s + constant(x, -0.0909078234923221)
    p = p * s + constant(x, 0.11111106650961962)
    p = p * s + constant(x, -0.14285714195200055)
    p = p * s + constant(x, 0.19999999999088262)
    p = p * s + constant(x, -0.3333333333333015)
    r = z * s * p + z
    r = where(beyond, r + constant(x, 0.7853981633974483), r)
    r = where(ay > ax, constant(x, 1.5707963267948966) - r, r)
    r = where(x < zero, constant(x, 3.141592653589793) - r, r)
    return where(y < zero, -r, r)
