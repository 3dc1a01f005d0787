"""A ball, or a point, that touches a triangle with friction, and the transpose.

The gap leads from the nearest point of the triangle, sum w x, to the centre p of the ball of radius rho; along it,
n = gap / |gap|. Both touch where the depth rho + thickness - |gap| is above 0, at the place p - rho n: the force f of
the contact law acts there on the ball, and on the triangle as carried_kernels hands it on to its corners. So no force
and no torque is lost, and what moves as one body does not slide.

``meeting`` is (whether they touch, w, feature, gap, |gap|, n, place, what carries the place).
"""

import functools

from diffloom_kernels import add3, constant, device, dot3, mul3, sqrt, sub3
from diffloom_mechanics.contact.carried_kernels import (
    blend,
    carried,
    carried_adjoint,
    carrier,
    carrier_adjoint,
    handed_on,
)
from diffloom_mechanics.contact.closest_point_kernels import closest_point, closest_point_adjoint
from diffloom_mechanics.contact.kernels import contact


@device
def meet(p, rho, thickness, a, b, c):
    """Where a ball and the triangle (a, b, c) touch."""
    w, feature = closest_point(p, a, b, c)
    gap = sub3(p, blend(w, a, b, c))
    distance = sqrt(dot3(gap, gap))
    zero = constant(distance, 0)
    one = constant(distance, 1)
    touches = distance < rho + thickness and distance > zero
    n = mul3(gap, one / (distance if distance > zero else one))
    place = sub3(p, mul3(n, rho))
    return touches, w, feature, gap, distance, n, place, carrier(place, a, b, c)


@functools.cache
def sliding(normal_law, friction_law):
    """Force and adjoint under a NormalFunctions and a FrictionFunctions (see diffloom_mechanics.contact.law).

    u: the ball's velocity at the place; v0, v1, v2: those of the corners.
    """
    force_at, adjoint_at, _, _, _, _ = contact(normal_law, friction_law)

    @device
    def force(clock, meeting, rho, thickness, u, v0, v1, v2, kn, kt):
        """The force on a ball that touches, and what the corners take of it, to be subtracted from theirs."""
        _, w, _, _, distance, n, _, carried_by = meeting
        slip = sub3(u, carried(carried_by, w, n, v0, v1, v2))
        f = force_at(clock, distance - (rho + thickness), slip, n, kn, kt)
        return f, handed_on(carried_by, w, n, f)

    @device
    def force_adjoint(clock, meeting, rho, thickness, u, v0, v1, v2, kn, kt, z, z0, z1, z2):
        """For the cotangents z of the force at the place and z0, z1, z2 of those on the corners: the force, the
        cotangents of u and of the gap's length, those of n, w and what carries the place, and of kn and kt."""
        _, w, _, _, distance, n, _, carried_by = meeting
        slip = sub3(u, carried(carried_by, w, n, v0, v1, v2))
        depth = distance - (rho + thickness)
        f = force_at(clock, depth, slip, n, kn, kt)
        across = sub3(z, carried(carried_by, w, n, z0, z1, z2))
        adj_c, adj_u, adj_n, adj_kn, adj_kt = adjoint_at(clock, depth, slip, n, kn, kt, across)
        zero = constant(distance, 0)
        none = (zero, zero, zero)
        w_a, n_a, by_a = carried_adjoint(carried_by, w, n, v0, v1, v2, sub3(none, adj_u))
        w_b, n_b, by_b = carried_adjoint(carried_by, w, n, z0, z1, z2, sub3(none, f))
        by = (
            add3(by_a[0], by_b[0]), add3(by_a[1], by_b[1]), by_a[2] + by_b[2], by_a[3] + by_b[3],
            add3(by_a[4], by_b[4]),
        )  # fmt: skip
        return f, adj_u, adj_c, (add3(adj_n, add3(n_a, n_b)), add3(w_a, w_b), by), adj_kn, adj_kt

    return force, force_adjoint


@device
def meet_adjoint(p, rho, a, b, c, meeting, adj_c, adj, adj_place):
    """Cotangents of p and of the corners for those that force_adjoint returns, and for that of the place."""
    _, w, feature, gap, distance, n, place, carried_by = meeting
    adj_n, adj_w, by = adj
    of_place, x0, x1, x2 = carrier_adjoint(place, a, b, c, carried_by, by)
    adj_place = add3(adj_place, of_place)
    adj_n = sub3(adj_n, mul3(adj_place, rho))
    across = sub3(adj_n, mul3(n, dot3(n, adj_n)))
    adj_gap = add3(mul3(n, adj_c), mul3(across, constant(distance, 1) / distance))
    # Only differences between the weights' cotangents count, so corners may be taken relative to p.
    adj_w = (
        adj_w[0] - dot3(sub3(a, p), adj_gap),
        adj_w[1] - dot3(sub3(b, p), adj_gap),
        adj_w[2] - dot3(sub3(c, p), adj_gap),
    )
    L, m = closest_point_adjoint(a, b, c, feature, adj_w)
    A = add3(adj_gap, L)
    x0 = add3(x0, sub3(mul3(gap, m[0]), mul3(A, w[0])))
    x1 = add3(x1, sub3(mul3(gap, m[1]), mul3(A, w[1])))
    x2 = add3(x2, sub3(mul3(gap, m[2]), mul3(A, w[2])))
    return add3(A, adj_place), (x0, x1, x2)
