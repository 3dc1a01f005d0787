"""Compliant contact of one point with a plane: penalty, damping and a relaxed Coulomb cone, and the transpose."""

from diffloom.kernels import add3, constant, device, dot3, fma3, ld3, maximum, minimum, mul3, sqrt, st3, sub3, where


@device
def closing_speed(clock, c, vn):
    """The velocity that contact damping sees: min(n.v, 0).

    In an implicit step (clock.implicit) it is limited to c / dt: the point is inside only for the last part c / (n.v)
    of the step, and damps for that part. Without this the force would jump at c = 0, and the implicit equation might
    have no solution at all.
    """
    slow = minimum(vn, constant(vn, 0))
    if clock.implicit:
        return maximum(slow, c / clock.dt)
    return slow


@device
def contact_force(clock, c, v, normal, k_e, k_d, k_f, mu):
    """The contact law: force on a point with gap c and velocity v; branch-free, zero outside contact.

    For c < 0: f_n = -k_e c - k_d s along n with s = min(n.v, 0) (see closing_speed), never adhesive, and friction
    -min(mu f_n, k_f |v_t|) v_t / |v_t| on the tangential velocity v_t. Planes and obstacles of every shape use it.
    """
    zero = constant(c, 0)
    one = constant(c, 1)
    vn = dot3(normal, v)
    hit = c < zero
    fn = where(hit, -(k_e * c) - k_d * closing_speed(clock, c, vn), zero)
    vt = sub3(v, mul3(normal, vn))
    speed = sqrt(dot3(vt, vt))
    sticks = k_f * speed <= mu * fn
    slope = where(hit, where(sticks, k_f, mu * fn / where(sticks, one, speed)), zero)
    return sub3(mul3(normal, fn), mul3(vt, slope))


@device
def contact_force_adjoint(clock, c, v, normal, k_e, k_d, k_f, mu, a):
    """Cotangents of (c, v, normal, k_e, k_d, k_f, mu) for the cotangent ``a`` of the force.

    f = n f_n - s v_t with s = k_f when sticking, mu f_n / |v_t| when sliding; the same branch as in contact_force.
    """
    zero = constant(c, 0)
    one = constant(c, 1)
    vn = dot3(normal, v)
    hit = c < zero
    closing = closing_speed(clock, c, vn)
    fn = where(hit, -(k_e * c) - k_d * closing, zero)
    vt = sub3(v, mul3(normal, vn))
    speed = sqrt(dot3(vt, vt))
    sticks = k_f * speed <= mu * fn
    inverse = one / where(sticks, one, speed)
    slope = where(hit, where(sticks, k_f, mu * fn * inverse), zero)

    adj_slope = where(hit, -dot3(vt, a), zero)
    adj_limit = where(sticks, zero, adj_slope * inverse)
    adj_fn = where(hit, dot3(normal, a) + mu * adj_limit, zero)
    adj_vt = sub3(mul3(vt, -(adj_limit * slope * inverse)), mul3(a, slope))
    adj_closing = -(k_d * adj_fn)
    adj_vn = -dot3(normal, adj_vt) + where((vn < zero) & (closing == vn), adj_closing, zero)
    adj_c = -(k_e * adj_fn) + where((vn < zero) & (closing > vn), adj_closing / clock.dt, zero)
    adj_v = fma3(normal, adj_vn, adj_vt)
    adj_normal = add3(sub3(mul3(a, fn), mul3(adj_vt, vn)), mul3(v, adj_vn))
    adj_k_f = where(sticks, adj_slope, zero)
    return adj_c, adj_v, adj_normal, -(c * adj_fn), -(closing * adj_fn), adj_k_f, fn * adj_limit


@device
def plane_force(clock, p, v, normal, offset, k_e, k_d, k_f, mu):
    """Force on a point at p with velocity v: the contact law with the gap n.p - offset."""
    return contact_force(clock, dot3(normal, p) - offset, v, normal, k_e, k_d, k_f, mu)


@device
def plane_force_adjoint(clock, p, v, normal, offset, k_e, k_d, k_f, mu, a):
    """Cotangents of (p, v, normal, offset, k_e, k_d, k_f, mu) for the cotangent ``a`` of the force."""
    adj_c, adj_v, adj_normal, adj_k_e, adj_k_d, adj_k_f, adj_mu = contact_force_adjoint(
        clock, dot3(normal, p) - offset, v, normal, k_e, k_d, k_f, mu, a
    )
    adj_normal = add3(adj_normal, mul3(p, adj_c))
    return mul3(normal, adj_c), adj_v, adj_normal, -adj_c, adj_k_e, adj_k_d, adj_k_f, adj_mu


@device
def ground_force(i, clock, q, u, normal, offset, k_e, k_d, k_f, mu):
    """Contact of particle i with its plane."""
    p = ld3(q, i)
    n = ld3(normal, i)
    if dot3(n, p) >= offset[i]:
        zero = q.dtype.type(0)
        return (zero, zero, zero)
    return plane_force(clock, p, ld3(u, i), n, offset[i], k_e[i], k_d[i], k_f[i], mu[i])


@device
def ground_force_adjoint(
    i, clock, q, u, normal, offset, k_e, k_d, k_f, mu,
    adj_f, adj_normal, adj_offset, adj_k_e, adj_k_d, adj_k_f, adj_mu,
):
    """Transpose of ground_force."""
    p = ld3(q, i)
    n = ld3(normal, i)
    if dot3(n, p) >= offset[i]:
        zero = q.dtype.type(0)
        return (zero, zero, zero), (zero, zero, zero)
    a_p, a_v, a_n, a_offset, a_e, a_d, a_f, a_mu = plane_force_adjoint(
        clock, p, ld3(u, i), n, offset[i], k_e[i], k_d[i], k_f[i], mu[i], ld3(adj_f, i)
    )
    st3(adj_normal, i, add3(ld3(adj_normal, i), a_n))
    adj_offset[i] += a_offset
    adj_k_e[i] += a_e
    adj_k_d[i] += a_d
    adj_k_f[i] += a_f
    adj_mu[i] += a_mu
    return a_p, a_v
