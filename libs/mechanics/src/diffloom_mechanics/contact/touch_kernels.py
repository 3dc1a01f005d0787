"""A vertex that touches a triangle: compliant contact at the nearest point, and the transpose.

x and u hold the places and velocities of the vertex's body, y and v those of the triangle's, which may be the same.

The gap g = p - sum w x leads from the nearest point of the triangle to the vertex. Closer than the thickness they push
apart along n = g / |g| with the normal force that a contact law gives for the depth thickness - |g| and the rate
d|g|/dt, and the triangle's corners share the reaction by the weights w. The push is central, so it exerts no torque,
and rigid motion does not change |g|. With a friction law, sliding_kernels holds back what slides along.

Both forms come as force(clock, x, u, i, y, v, j0, j1, j2, thickness, k_n, k_t), the force on vertex i and what the
corners take of it, zero when apart; its adjoint, the cotangents of (x, u) of the vertex, of the corners' y and v, and
of the parameters of row i; and add(adj_k_n, adj_k_t, i, adj_kn, adj_kt), which adds these to their rows.
"""

import functools

from diffloom_kernels import add3, constant, device, dot3, ld3, mul3, neg3, sqrt, sub3
from diffloom_mechanics.contact.carried_kernels import blend, handed_on
from diffloom_mechanics.contact.closest_point_kernels import closest_point, closest_point_adjoint
from diffloom_mechanics.contact.kernels import ADD, LOAD, ZERO
from diffloom_mechanics.contact.sliding_kernels import meet, meet_adjoint, sliding


@functools.cache
def touch(normal_law, friction_law=None):
    """force, adjoint and add under a NormalFunctions and a FrictionFunctions, if any (see contact.law)."""
    return _pushing(normal_law) if friction_law is None else _sliding(normal_law, friction_law)


def _pushing(normal_law):
    """Without friction; k_t is not read."""
    normal_force, normal_adjoint = normal_law.force, normal_law.adjoint
    load, add_row, no_parameters = LOAD[normal_law.width], ADD[normal_law.width], ZERO[normal_law.width]

    @device
    def force(clock, x, u, i, y, v, j0, j1, j2, thickness, k_n, k_t):
        zero = constant(thickness, 0)
        p = ld3(x, i)
        a = ld3(y, j0)
        b = ld3(y, j1)
        c = ld3(y, j2)
        w, _ = closest_point(p, a, b, c)
        gap = sub3(p, blend(w, a, b, c))
        distance = sqrt(dot3(gap, gap))
        none = (zero, zero, zero)
        if distance >= thickness or distance == zero:
            return none, (none, none, none)
        normal = mul3(gap, constant(thickness, 1) / distance)
        slide = sub3(ld3(u, i), blend(w, ld3(v, j0), ld3(v, j1), ld3(v, j2)))
        f = mul3(normal, normal_force(clock, distance - thickness, dot3(normal, slide), load(k_n, i)))
        return f, (mul3(f, w[0]), mul3(f, w[1]), mul3(f, w[2]))

    @device
    def adjoint(clock, x, u, i, y, v, j0, j1, j2, thickness, k_n, k_t, adj_f, adj_g):
        """With A and B the cotangents of the vertex, corner k takes adj_y = m[k] gap - w[k] A, adj_v = -w[k] B."""
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
            nothing = (none, none, none)
            return (none, none), nothing, nothing, no_parameters(thickness), no_parameters(thickness)
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
        k = load(k_n, i)
        push = normal_force(clock, depth, rate, k)

        adj_push = dot3(normal, z)
        adj_depth, adj_rate, adj_k = normal_adjoint(clock, depth, rate, k, adj_push)
        adj_normal = add3(mul3(z, push), mul3(slide, adj_rate))
        along = dot3(normal, adj_normal)
        adj_gap = add3(mul3(normal, adj_depth), mul3(sub3(adj_normal, mul3(normal, along)), inverse))
        B = mul3(normal, adj_rate)
        # Weights enter through the reaction, the gap and the sliding; only differences between them count, so corners
        # may be taken relative to p.
        f = mul3(normal, push)
        adj_w = (
            -dot3(f, za) - dot3(sub3(a, p), adj_gap) - dot3(ua, B),
            -dot3(f, zb) - dot3(sub3(b, p), adj_gap) - dot3(ub, B),
            -dot3(f, zc) - dot3(sub3(c, p), adj_gap) - dot3(uc, B),
        )
        L, m = closest_point_adjoint(a, b, c, feature, adj_w)
        A = add3(adj_gap, L)
        corners = (
            sub3(mul3(gap, m[0]), mul3(A, w[0])),
            sub3(mul3(gap, m[1]), mul3(A, w[1])),
            sub3(mul3(gap, m[2]), mul3(A, w[2])),
        )
        return (A, B), corners, (mul3(B, -w[0]), mul3(B, -w[1]), mul3(B, -w[2])), adj_k, adj_k

    @device
    def add(adj_k_n, adj_k_t, i, adj_kn, adj_kt):
        add_row(adj_k_n, i, adj_kn)

    return force, adjoint, add


def _sliding(normal_law, friction_law):
    force_on, force_adjoint = sliding(normal_law, friction_law)
    load, add_row, no_normal = LOAD[normal_law.width], ADD[normal_law.width], ZERO[normal_law.width]
    load_friction, add_friction = LOAD[friction_law.width], ADD[friction_law.width]
    no_friction = ZERO[friction_law.width]

    @device
    def force(clock, x, u, i, y, v, j0, j1, j2, thickness, k_n, k_t):
        zero = constant(thickness, 0)
        none = (zero, zero, zero)
        meeting = meet(ld3(x, i), zero, thickness, ld3(y, j0), ld3(y, j1), ld3(y, j2))
        if not meeting[0]:
            return none, (none, none, none)
        return force_on(
            clock, meeting, zero, thickness, ld3(u, i), ld3(v, j0), ld3(v, j1), ld3(v, j2), load(k_n, i),
            load_friction(k_t, i),
        )  # fmt: skip

    @device
    def adjoint(clock, x, u, i, y, v, j0, j1, j2, thickness, k_n, k_t, adj_f, adj_g):
        zero = constant(thickness, 0)
        none = (zero, zero, zero)
        p = ld3(x, i)
        a = ld3(y, j0)
        b = ld3(y, j1)
        c = ld3(y, j2)
        meeting = meet(p, zero, thickness, a, b, c)
        if not meeting[0]:
            nothing = (none, none, none)
            return (none, none), nothing, nothing, no_normal(thickness), no_friction(thickness)
        _, B, adj_c, adj, adj_kn, adj_kt = force_adjoint(
            clock, meeting, zero, thickness, ld3(u, i), ld3(v, j0), ld3(v, j1), ld3(v, j2), load(k_n, i),
            load_friction(k_t, i), ld3(adj_f, i), ld3(adj_g, j0), ld3(adj_g, j1), ld3(adj_g, j2),
        )  # fmt: skip
        A, corners = meet_adjoint(p, zero, a, b, c, meeting, adj_c, adj, none)
        b0, b1, b2 = handed_on(meeting[7], meeting[1], meeting[5], B)
        return (A, B), corners, (neg3(b0), neg3(b1), neg3(b2)), adj_kn, adj_kt

    @device
    def add(adj_k_n, adj_k_t, i, adj_kn, adj_kt):
        add_row(adj_k_n, i, adj_kn)
        add_friction(adj_k_t, i, adj_kt)

    return force, adjoint, add
