"""A vertex that touches a triangle: compliant contact at the nearest point, and the transpose.

x and u hold the places and velocities of the vertex's body, y and v those of the triangle's, which may be the same.

The gap g = p - sum w x leads from the nearest point of the triangle to the vertex. Closer than the thickness they push
apart along n = g / |g| with the normal force that a contact law gives for the depth thickness - |g| and the rate
d|g|/dt, and the triangle's corners share the reaction by the weights w. The push is central, so it exerts no torque,
and rigid motion does not change |g|; friction would do neither across a gap, and is left out.
"""

import functools

from diffloom.contact.closest_point_kernels import closest_point, closest_point_adjoint
from diffloom.contact.kernels import ZERO
from diffloom.kernels import add3, constant, device, dot3, ld3, mul3, sqrt, sub3


@device
def blend(w, a, b, c):
    """w[0] a + w[1] b + w[2] c."""
    return add3(mul3(a, w[0]), add3(mul3(b, w[1]), mul3(c, w[2])))


@functools.cache
def touch(normal_law):
    """touch_force and touch_force_adjoint under a NormalFunctions (see diffloom.contact.law)."""
    normal_force, normal_adjoint, no_parameters = normal_law.force, normal_law.adjoint, ZERO[normal_law.width]

    @device
    def touch_force(clock, x, u, i, y, v, j0, j1, j2, thickness, k):
        """Force on vertex i and the weights with which the corners take its opposite; zero when apart."""
        zero = constant(thickness, 0)
        p = ld3(x, i)
        a = ld3(y, j0)
        b = ld3(y, j1)
        c = ld3(y, j2)
        w, _ = closest_point(p, a, b, c)
        gap = sub3(p, blend(w, a, b, c))
        distance = sqrt(dot3(gap, gap))
        if distance >= thickness or distance == zero:
            return (zero, zero, zero), w
        normal = mul3(gap, constant(thickness, 1) / distance)
        slide = sub3(ld3(u, i), blend(w, ld3(v, j0), ld3(v, j1), ld3(v, j2)))
        return mul3(normal, normal_force(clock, distance - thickness, dot3(normal, slide), k)), w

    @device
    def touch_force_adjoint(clock, x, u, i, y, v, j0, j1, j2, thickness, k, adj_f, adj_g):
        """Everything both sides need: w, multipliers m, gap, A and B, and the cotangents of k.

        The vertex takes adj_x = A, adj_u = B; corner k takes adj_y = m[k] gap - w[k] A, adj_v = -w[k] B. adj_f, adj_g:
        cotangents of the forces on both bodies.
        """
        zero = constant(thickness, 0)
        none = (zero, zero, zero)
        p = ld3(x, i)
        a = ld3(y, j0)
        b = ld3(y, j1)
        c = ld3(y, j2)
        w, feature = closest_point(p, a, b, c)
        gap = sub3(p, blend(w, a, b, c))
        distance = sqrt(dot3(gap, gap))
        if distance >= thickness or distance == zero:
            return w, none, gap, none, none, no_parameters(thickness)
        inverse = constant(thickness, 1) / distance
        normal = mul3(gap, inverse)
        ua = ld3(v, j0)
        ub = ld3(v, j1)
        uc = ld3(v, j2)
        za = ld3(adj_g, j0)
        zb = ld3(adj_g, j1)
        zc = ld3(adj_g, j2)
        slide = sub3(ld3(u, i), blend(w, ua, ub, uc))
        z = sub3(ld3(adj_f, i), blend(w, za, zb, zc))
        depth = distance - thickness
        rate = dot3(normal, slide)
        push = normal_force(clock, depth, rate, k)

        adj_push = dot3(normal, z)
        adj_depth, adj_rate, adj_k = normal_adjoint(clock, depth, rate, k, adj_push)
        adj_normal = add3(mul3(z, push), mul3(slide, adj_rate))
        along = dot3(normal, adj_normal)
        adj_gap = add3(mul3(normal, adj_depth), mul3(sub3(adj_normal, mul3(normal, along)), inverse))
        adj_slide = mul3(normal, adj_rate)
        # Weights enter through the reaction, the gap and the sliding; only differences between them count, so corners
        # may be taken relative to p.
        f = mul3(normal, push)
        adj_w = (
            -dot3(f, za) - dot3(sub3(a, p), adj_gap) - dot3(ua, adj_slide),
            -dot3(f, zb) - dot3(sub3(b, p), adj_gap) - dot3(ub, adj_slide),
            -dot3(f, zc) - dot3(sub3(c, p), adj_gap) - dot3(uc, adj_slide),
        )
        L, m = closest_point_adjoint(a, b, c, feature, adj_w)
        return w, m, gap, add3(adj_gap, L), adj_slide, adj_k

    return touch_force, touch_force_adjoint
