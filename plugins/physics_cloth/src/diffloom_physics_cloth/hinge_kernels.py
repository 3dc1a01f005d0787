"""Bending across interior edges (Bridson et al. 2003; Grinspun et al. 2003), as elements of four corners.

Corners 0 and 1 are those of the edge, 2 and 3 those opposite it. The force on corner i is
-(k (phi - phi0 + activation) + c dphi/dt) dphi/dxi with the dihedral angle phi, from the energy
k/2 (phi - phi0 + activation)^2. Hinges without damping (c = 0) have functions of their own, because these load no
velocities, a third of all loads.

With e, a, b the vectors from the edge's first corner to its second and to the corners opposite it in the two faces,
n1 = e x a and n2 = b x e are the normals and phi = atan2(-|e| n1.b, n1.n2): zero when flat, positive when both corners
lie behind the front. Its derivatives, with p = a.e/|e|^2, q = b.e/|e|^2, alpha = |e|/|n1|^2 and beta = |e|/|n2|^2,

    dphi/da = -alpha n1,  dphi/db = -beta n2,  dphi/de = p alpha n1 + q beta n2,

are finite at every angle. The angle is computed without branches, so that all lanes compute at once.
"""

from diffloom_kernels import (
    absolute,
    add3,
    constant,
    cross3,
    device,
    dot3,
    fma,
    fma3,
    ld3,
    maximum,
    minimum,
    mul3,
    neg3,
    sqrt,
    store_corners,
    sub3,
    where,
)


@device
def linear(s, a, b):
    """Return a + b s."""
    return fma(constant(s, b), s, constant(s, a))


@device
def cubic(s, s2, a, b, c, d):
    """Return a + b s + c s^2 + d s^3, in two independent halves."""
    return fma(linear(s, c, d), s2, linear(s, a, b))


@device
def series(s):
    """Return p(s) with atan z = z + z^3 p(z^2) for |z| <= tan(pi/8).

    The polynomials are minimax: degree 4 with a relative error of 7e-10 for float32, degree 9 with 4e-17 for float64.
    """
    one = constant(s, 1)
    s2 = s * s
    s4 = s2 * s2
    short = cubic(s, s2, -0.33333315186281326, 0.19998471365116469, -0.1424353035624486, 0.10593790548714882)
    short = fma(constant(s, -0.06078159984762444), s4, short)
    low = cubic(s, s2, -0.3333333333333015, 0.19999999999088262, -0.14285714195200055, 0.11111106650961962)
    high = cubic(s, s2, -0.0909078234923221, 0.07690067385393815, -0.06641113067858632, 0.05692495711783952)
    high = fma(linear(s, -0.043589683139014284, 0.021258269533451084), s4, high)
    # The type is known at compile time, so the other polynomial is not compiled.
    return where(one + constant(s, 1e-10) == one, short, fma(high, s4, low))


@device
def angle(y, x):
    """Return atan2(y, x) [rad] from -pi to pi, 0 at the origin, within 2 units in the last place.

    With t = min(|x|, |y|) / max(|x|, |y|), atan t is evaluated at t or, beyond tan(pi/8), at (t - 1) / (t + 1), where
    it is smaller by pi/4.
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


@device
def hinge(e, a, b):
    """Return phi; (n1, n2, alpha, beta, p, q) for its derivatives; and the inverses of |n1|^2, |n2|^2, |e|^2."""
    one = constant(e[0], 1)
    zero = constant(e[0], 0)
    n1 = cross3(e, a)
    n2 = cross3(b, e)
    ee = dot3(e, e)
    N1 = dot3(n1, n1)
    N2 = dot3(n2, n2)
    length = sqrt(ee)
    i1 = one / where(N1 > zero, N1, one)
    i2 = one / where(N2 > zero, N2, one)
    ie = one / where(ee > zero, ee, one)
    phi = angle(-(length * dot3(n1, b)), dot3(n1, n2))
    return phi, (n1, n2, length * i1, length * i2, dot3(a, e) * ie, dot3(b, e) * ie), (i1, i2, ie)


@device
def slope(h, w1, w2, w3):
    """Return dphi/de.w1 + dphi/da.w2 + dphi/db.w3."""
    n1, n2, alpha, beta, p, q = h
    return fma(alpha, fma(p, dot3(n1, w1), -dot3(n1, w2)), beta * fma(q, dot3(n2, w1), -dot3(n2, w3)))


@device
def slope_adjoint(h, s):
    """Return s times (dphi/de, dphi/da, dphi/db)."""
    n1, n2, alpha, beta, p, q = h
    a = mul3(n1, -(alpha * s))
    b = mul3(n2, -(beta * s))
    return neg3(fma3(a, p, mul3(b, q))), a, b


@device
def curvature(e, a, b, h, inverses, z1, z2, z3):
    """Return the gradient by e, a, b of slope(h, z1, z2, z3) with z constant.

    The slope is alpha n1.r1 + beta n2.r2 with r1 = p z1 - z2 and r2 = q z1 - z3. alpha n1 is differentiated as
    |e| n1/|n1|^2, which gives alpha r1 - 2 (alpha n1.r1) n1/|n1|^2.
    """
    n1, n2, alpha, beta, p, q = h
    i1, i2, ie = inverses
    r1 = fma3(z1, p, neg3(z2))
    r2 = fma3(z1, q, neg3(z3))
    s1 = alpha * dot3(n1, r1)
    s2 = beta * dot3(n2, r2)
    an1 = fma3(r1, alpha, mul3(n1, -((s1 + s1) * i1)))
    an2 = fma3(r2, beta, mul3(n2, -((s2 + s2) * i2)))
    ap = alpha * dot3(n1, z1) * ie
    aq = beta * dot3(n2, z1) * ie
    a_a = fma3(e, ap, cross3(an1, e))
    a_b = fma3(e, aq, cross3(e, an2))
    apq = fma(ap, p, aq * q)
    a_e = fma3(a, ap, fma3(b, aq, mul3(e, fma(s1 + s2, ie, -(apq + apq)))))
    return add3(add3(cross3(a, an1), cross3(an2, b)), a_e), a_a, a_b


@device
def relative(v, nodes, k):
    """Load v at corners 1, 2, 3 of hinge k relative to corner 0."""
    v0 = ld3(v, nodes[k, 0])
    return sub3(ld3(v, nodes[k, 1]), v0), sub3(ld3(v, nodes[k, 2]), v0), sub3(ld3(v, nodes[k, 3]), v0)


@device
def store(out, k, f1, f2, f3):
    """Store vectors at corners 1, 2, 3, and the negative of their sum at corner 0."""
    store_corners(out, k, (neg3(add3(f1, add3(f2, f3))), f1, f2, f3))


@device
def hinge_force(k, clock, x, u, nodes, stiffness, damping, rest_angle, activation, out):
    """Compute the bending forces of hinge k on its four corners."""
    row = clock.row if activation.shape[0] > 1 else 0
    e, a, b = relative(x, nodes, k)
    u1, u2, u3 = relative(u, nodes, k)
    phi, h, _ = hinge(e, a, b)
    bend = phi - rest_angle[k] + activation[row, k]
    moment = fma(stiffness[k], bend, damping[k] * slope(h, u1, u2, u3))
    f1, f2, f3 = slope_adjoint(h, -moment)
    store(out, k, f1, f2, f3)


@device
def hinge_force_adjoint(
    k, clock, x, u, nodes, stiffness, damping, rest_angle, activation,
    adj_f, adj_x, adj_u, adj_stiffness, adj_damping, adj_rest_angle, adj_activation,
):
    """Transpose of hinge_force.

    With y the cotangent of the forces and M the moment: adj_M = -y.dphi/dx, adj_phi = k adj_M, adj_rate = c adj_M,
    and adj_x = adj_phi dphi/dx + (second derivative of phi) z, where z = -M y + adj_rate u.
    """
    row = clock.row if activation.shape[0] > 1 else 0
    e, a, b = relative(x, nodes, k)
    u1, u2, u3 = relative(u, nodes, k)
    y1, y2, y3 = relative(adj_f, nodes, k)
    phi, h, inverses = hinge(e, a, b)
    rate = slope(h, u1, u2, u3)
    bend = phi - rest_angle[k] + activation[row, k]
    moment = fma(stiffness[k], bend, damping[k] * rate)
    adj_M = -slope(h, y1, y2, y3)
    adj_phi = stiffness[k] * adj_M
    adj_rate = damping[k] * adj_M

    z1 = fma3(u1, adj_rate, mul3(y1, -moment))
    z2 = fma3(u2, adj_rate, mul3(y2, -moment))
    z3 = fma3(u3, adj_rate, mul3(y3, -moment))
    c1, c2, c3 = curvature(e, a, b, h, inverses, z1, z2, z3)
    s1, s2, s3 = slope_adjoint(h, adj_phi)
    v1, v2, v3 = slope_adjoint(h, adj_rate)
    store(adj_x, k, add3(c1, s1), add3(c2, s2), add3(c3, s3))
    store(adj_u, k, v1, v2, v3)
    adj_stiffness[k] += adj_M * bend
    adj_damping[k] += adj_M * rate
    adj_rest_angle[k] -= adj_phi
    adj_activation[row, k] += adj_phi


@device
def undamped_hinge_force(k, clock, x, u, nodes, stiffness, rest_angle, activation, out):
    """Compute the bending forces of a hinge without damping."""
    row = clock.row if activation.shape[0] > 1 else 0
    e, a, b = relative(x, nodes, k)
    phi, h, _ = hinge(e, a, b)
    moment = stiffness[k] * (phi - rest_angle[k] + activation[row, k])
    f1, f2, f3 = slope_adjoint(h, -moment)
    store(out, k, f1, f2, f3)


@device
def undamped_hinge_force_adjoint(
    k, clock, x, u, nodes, stiffness, rest_angle, activation,
    adj_f, adj_x, adj_u, adj_stiffness, adj_rest_angle, adj_activation,
):
    """Transpose of undamped_hinge_force; adj_u keeps its initial zeros."""
    row = clock.row if activation.shape[0] > 1 else 0
    e, a, b = relative(x, nodes, k)
    y1, y2, y3 = relative(adj_f, nodes, k)
    phi, h, inverses = hinge(e, a, b)
    bend = phi - rest_angle[k] + activation[row, k]
    moment = stiffness[k] * bend
    adj_M = -slope(h, y1, y2, y3)
    adj_phi = stiffness[k] * adj_M
    c1, c2, c3 = curvature(e, a, b, h, inverses, mul3(y1, moment), mul3(y2, moment), mul3(y3, moment))
    s1, s2, s3 = slope_adjoint(h, adj_phi)
    store(adj_x, k, sub3(s1, c1), sub3(s2, c2), sub3(s3, c3))
    adj_stiffness[k] += adj_M * bend
    adj_rest_angle[k] -= adj_phi
    adj_activation[row, k] += adj_phi
