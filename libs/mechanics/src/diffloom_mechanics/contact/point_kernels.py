"""Compliant contact of one point: a normal law and a friction law put together, and the transpose.

Laws are device functions (normal_kernels, friction_kernels) and are built in when a program is compiled: a law that
is not chosen costs nothing. Their parameters come as rows of two arrays, ``k_n`` (nodes, normal parameters) and
``k_t`` (nodes, friction parameters), whose cotangents are added to adj_k_n and adj_k_t.
"""

import functools
from typing import NamedTuple

from diffloom_kernels import add3, constant, device, dot3, fma3, ld3, mul3, sqrt, st3, sub3, where
from diffloom_mechanics.contact.friction_kernels import anisotropic_contact


class Contact(NamedTuple):
    """The device functions of a contact law, for gap c < 0, velocity v and unit normal of a point.

    force(clock, c, v, normal, kn, kt) -> f; adjoint(clock, c, v, normal, kn, kt, a) -> adj_c, adj_v, adj_normal,
    adj_kn, adj_kt. load(k_n, i), load_friction(k_t, i): the parameters in row i; add, add_friction: to row i.
    """

    force: object
    adjoint: object
    load: object
    add: object
    load_friction: object
    add_friction: object


@device
def load_1(k, i):
    return (k[i, 0],)


@device
def load_2(k, i):
    return (k[i, 0], k[i, 1])


@device
def load_3(k, i):
    return (k[i, 0], k[i, 1], k[i, 2])


@device
def load_4(k, i):
    return (k[i, 0], k[i, 1], k[i, 2], k[i, 3])


@device
def load_5(k, i):
    return (k[i, 0], k[i, 1], k[i, 2], k[i, 3], k[i, 4])


@device
def add_1(k, i, a):
    k[i, 0] += a[0]


@device
def add_2(k, i, a):
    k[i, 0] += a[0]
    k[i, 1] += a[1]


@device
def add_3(k, i, a):
    k[i, 0] += a[0]
    k[i, 1] += a[1]
    k[i, 2] += a[2]


@device
def add_4(k, i, a):
    k[i, 0] += a[0]
    k[i, 1] += a[1]
    k[i, 2] += a[2]
    k[i, 3] += a[3]


@device
def add_5(k, i, a):
    k[i, 0] += a[0]
    k[i, 1] += a[1]
    k[i, 2] += a[2]
    k[i, 3] += a[3]
    k[i, 4] += a[4]


@device
def zero_1(x):
    return (constant(x, 0),)


@device
def zero_2(x):
    return (constant(x, 0), constant(x, 0))


@device
def zero_3(x):
    return (constant(x, 0), constant(x, 0), constant(x, 0))


@device
def zero_4(x):
    return (constant(x, 0), constant(x, 0), constant(x, 0), constant(x, 0))


@device
def zero_5(x):
    return (constant(x, 0), constant(x, 0), constant(x, 0), constant(x, 0), constant(x, 0))


@device
def where_1(c, a):
    return (where(c, a[0], constant(a[0], 0)),)


@device
def where_2(c, a):
    return where_1(c, a) + (where(c, a[1], constant(a[1], 0)),)


@device
def where_3(c, a):
    return where_2(c, a) + (where(c, a[2], constant(a[2], 0)),)


@device
def where_4(c, a):
    return where_3(c, a) + (where(c, a[3], constant(a[3], 0)),)


@device
def where_5(c, a):
    return where_4(c, a) + (where(c, a[4], constant(a[4], 0)),)


#: How rows of so many parameters are read and added to, as many zeros of the type of x, and a row where c holds, else
#: zeros.
LOAD_ROW = {1: load_1, 2: load_2, 3: load_3, 4: load_4, 5: load_5}
ADD_ROW = {1: add_1, 2: add_2, 3: add_3, 4: add_4, 5: add_5}
ZERO_ROW = {1: zero_1, 2: zero_2, 3: zero_3, 4: zero_4, 5: zero_5}
WHERE_ROW = {1: where_1, 2: where_2, 3: where_3, 4: where_4, 5: where_5}


@functools.cache
def point_contact(normal, friction):
    """The Contact of a NormalFunctions and a FrictionFunctions (see contact.law)."""
    normal_force, normal_adjoint = normal.force, normal.adjoint
    friction_slope, friction_adjoint = friction.slope, friction.adjoint

    @device
    def force(clock, c, v, n, kn, kt):
        """f_n n - s v_t on the tangential velocity v_t, with f_n and s as the laws say. Planes and obstacles of every
        shape use it."""
        vn = dot3(n, v)
        fn = normal_force(clock, c, vn, kn)
        vt = sub3(v, mul3(n, vn))
        return sub3(mul3(n, fn), mul3(vt, friction_slope(fn, sqrt(dot3(vt, vt)), kt)))

    @device
    def adjoint(clock, c, v, n, kn, kt, a):
        """Cotangents for the cotangent ``a`` of the force; the same branches as in force.

        adj_s = -v_t.a, adj_fn = n.a + what the slope takes, adj_vt = t v_t - s a.
        """
        vn = dot3(n, v)
        fn = normal_force(clock, c, vn, kn)
        vt = sub3(v, mul3(n, vn))
        speed = sqrt(dot3(vt, vt))
        slope = friction_slope(fn, speed, kt)
        slope_fn, t, adj_kt = friction_adjoint(fn, speed, kt, -dot3(vt, a))
        adj_vt = sub3(mul3(vt, t), mul3(a, slope))
        adj_c, normal_vn, adj_kn = normal_adjoint(clock, c, vn, kn, dot3(n, a) + slope_fn)
        adj_vn = -dot3(n, adj_vt) + normal_vn
        adj_v = fma3(n, adj_vn, adj_vt)
        adj_n = add3(sub3(mul3(a, fn), mul3(adj_vt, vn)), mul3(v, adj_vn))
        return adj_c, adj_v, adj_n, adj_kn, adj_kt

    if friction.anisotropic:
        force, adjoint = anisotropic_contact(normal, friction)
    return Contact(
        force, adjoint, LOAD_ROW[normal.width], ADD_ROW[normal.width], LOAD_ROW[friction.width], ADD_ROW[friction.width]
    )


@functools.cache
def ground_contact(normal, friction):
    """Force of a particle's plane on it, and the adjoint."""
    force, adjoint, load, add, load_friction, add_friction = point_contact(normal, friction)

    @device
    def ground_force(i, clock, q, u, plane, offset, k_n, k_t):
        """Contact of particle i with its plane, at the gap n.p - offset."""
        p = ld3(q, i)
        n = ld3(plane, i)
        c = dot3(n, p) - offset[i]
        if c >= constant(c, 0):
            zero = q.dtype.type(0)
            return (zero, zero, zero)
        return force(clock, c, ld3(u, i), n, load(k_n, i), load_friction(k_t, i))

    @device
    def ground_force_adjoint(i, clock, q, u, plane, offset, k_n, k_t, adj_f, adj_plane, adj_offset, adj_k_n, adj_k_t):
        """Transpose of ground_force."""
        p = ld3(q, i)
        n = ld3(plane, i)
        c = dot3(n, p) - offset[i]
        if c >= constant(c, 0):
            zero = q.dtype.type(0)
            return (zero, zero, zero), (zero, zero, zero)
        a_c, a_v, a_n, a_kn, a_kt = adjoint(
            clock, c, ld3(u, i), n, load(k_n, i), load_friction(k_t, i), ld3(adj_f, i)
        )
        st3(adj_plane, i, add3(ld3(adj_plane, i), add3(a_n, mul3(p, a_c))))
        adj_offset[i] -= a_c
        add(adj_k_n, i, a_kn)
        add_friction(adj_k_t, i, a_kt)
        return mul3(n, a_c), a_v

    return ground_force, ground_force_adjoint
