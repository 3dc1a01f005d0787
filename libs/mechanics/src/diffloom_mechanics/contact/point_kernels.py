"""Compliant contact of one point: a normal law and a friction law combined, and the transpose.

Laws are device functions (normal_kernels, friction_kernels) and are inlined when a program is compiled, so a law that
is not chosen costs nothing. Their parameters are rows of two arrays, ``k_n`` (nodes, normal parameters) and ``k_t``
(nodes, friction parameters), whose cotangents are added to adj_k_n and adj_k_t.
"""

import functools
from typing import NamedTuple

from diffloom_kernels import add3, constant, device, dot3, fma3, ld3, mul3, sqrt, st3, sub3, where
from diffloom_mechanics.contact.friction_kernels import anisotropic_contact


class ContactFunctions(NamedTuple):
    """Device functions of a contact law, for gap c < 0, velocity v and unit normal of a point.

    force(clock, c, v, normal, kn, kt) -> f; adjoint(clock, c, v, normal, kn, kt, a) -> adj_c, adj_v, adj_normal,
    adj_kn, adj_kt. load(k_n, i), load_friction(k_t, i): parameters in row i; add, add_friction: add to row i.
    """

    force: object
    adjoint: object
    load: object
    add: object
    load_friction: object
    add_friction: object


class ParameterRow(NamedTuple):
    """Device functions for rows of a fixed number of parameters.

    load(k, i): parameters in row i. add(k, i, a): adds to row i. zero(x): zeros of the type of x. keep_where(c, a): a
    where c holds, else zeros.
    """

    load: object
    add: object
    zero: object
    keep_where: object


@functools.cache
def parameter_row(width):
    """Return the ParameterRow of ``width`` parameters, one or more."""
    if width == 1:

        @device
        def load(k, i):
            return (k[i, 0],)

        @device
        def add(k, i, a):
            k[i, 0] += a[0]

        @device
        def zero(x):
            return (constant(x, 0),)

        @device
        def keep_where(c, a):
            return (where(c, a[0], constant(a[0], 0)),)

        return ParameterRow(load, add, zero, keep_where)
    load_before, add_before, zero_before, keep_before = parameter_row(width - 1)
    last = width - 1

    @device
    def load(k, i):
        return load_before(k, i) + (k[i, last],)

    @device
    def add(k, i, a):
        add_before(k, i, a)
        k[i, last] += a[last]

    @device
    def zero(x):
        return zero_before(x) + (constant(x, 0),)

    @device
    def keep_where(c, a):
        return keep_before(c, a) + (where(c, a[last], constant(a[last], 0)),)

    return ParameterRow(load, add, zero, keep_where)


@functools.cache
def point_contact(normal, friction):
    """Return the ContactFunctions of a NormalFunctions and a FrictionFunctions (see ``contact.law``)."""
    normal_force, normal_adjoint = normal.force, normal.adjoint
    friction_slope, friction_adjoint = friction.slope, friction.adjoint

    @device
    def force(clock, c, v, n, kn, kt):
        """Return f_n n - s v_t for the tangential velocity v_t, with f_n and s by the laws. All planes and obstacles
        use it.
        """
        vn = dot3(n, v)
        fn = normal_force(clock, c, vn, kn)
        vt = sub3(v, mul3(n, vn))
        return sub3(mul3(n, fn), mul3(vt, friction_slope(fn, sqrt(dot3(vt, vt)), kt)))

    @device
    def adjoint(clock, c, v, n, kn, kt, a):
        """Transpose of force for the cotangent ``a``, in the branches of force.

        adj_s = -v_t.a, adj_fn = n.a + the slope's, adj_vt = t v_t - s a.
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
    of_normal, of_friction = parameter_row(normal.width), parameter_row(friction.width)
    return ContactFunctions(force, adjoint, of_normal.load, of_normal.add, of_friction.load, of_friction.add)


@functools.cache
def ground_contact(normal, friction):
    """Return the force of a plane on a particle, and the adjoint."""
    force, adjoint, load, add, load_friction, add_friction = point_contact(normal, friction)

    @device
    def ground_force(i, clock, q, u, plane, offset, k_n, k_t):
        """Return the contact force on particle i from its plane, at the gap n.p - offset."""
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
