"""Contact of vertices with triangles, computed from both sides, and the transposes.

Each pair is computed twice: from the vertex, which sums the forces on itself, and from the triangle, which sums those
on its corners into rows of its own for the vertices to gather. So no list of pairs is needed, nothing can overflow, no
two threads write to one place, and the order of every sum is fixed.

Vertices (x, u) and triangles (y, v, faces) belong to one shell or to two bodies. middles: centres of the triangles, in
the last row the reach of a contact. cells, starts, order: those of cell_kernels, vertices before triangles in each.
pushes (9 m, 3) of m triangles: row r < 3 m is the force on corner r; rows 3 m + 2 r and 3 m + 2 r + 1 its cotangents of
y and v. k_n, k_t: contact parameters of the vertices. slots: for node i, rows 3 face + corner that belong to it, at
slots[slots[i]] to slots[slots[i + 1]].

A vertex touches a triangle at the nearest point. x and u hold the places and velocities of the vertex's body, y and v
those of the triangle's, which may be one body.

The gap g = p - sum w x leads from the nearest point of the triangle to the vertex. Closer than the thickness they push
apart along n = g / |g| with the normal force of the contact law for the depth thickness - |g| and the rate d|g|/dt; the
triangle's corners share the reaction by the weights w. The push is central, so it exerts no torque, and rigid motion
does not change |g|. With a friction law, triangle_kernels holds back sliding.

Both forms come as force(clock, x, u, i, y, v, j0, j1, j2, thickness, k_n, k_t), the force on vertex i and the parts of
the corners, zero when apart; its adjoint, the cotangents of (x, u) of the vertex, of the corners' y and v, and of the
parameters of row i; and add(adj_k_n, adj_k_t, i, adj_kn, adj_kt), which adds these to their rows.
"""

import functools

from diffloom_kernels import add3, constant, device, dot3, ld3, mul3, neg3, sqrt, st3, sub3
from diffloom_mechanics.contact.cell_kernels import bucket, cells_around, count_cells, in_cell, next_cell
from diffloom_mechanics.contact.point_kernels import parameter_row
from diffloom_mechanics.contact.triangle_kernels import (
    blend,
    closest_point,
    closest_point_adjoint,
    distribute_force,
    find_contact,
    find_contact_adjoint,
    triangle_contact,
)


@functools.cache
def vertex_contact(normal_law, friction_law=None):
    """Return force, adjoint and add under a NormalFunctions and, if any, a FrictionFunctions (see ``contact.law``)."""
    return _frictionless_contact(normal_law) if friction_law is None else _frictional_contact(normal_law, friction_law)


def _frictionless_contact(normal_law):
    """Return force, adjoint and add without friction; k_t is not read."""
    normal_force, normal_adjoint = normal_law.force, normal_law.adjoint
    load, add_row, no_parameters, _ = parameter_row(normal_law.width)

    @device
    def force(clock, x, u, i, y, v, j0, j1, j2, thickness, k_n, k_t):
        """Return the force on vertex i, and the parts of it on the corners, zero when apart."""
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
        """Transpose of force: with the vertex' cotangents A and B, corner k has adj_y = m[k] gap - w[k] A, adj_v =
        -w[k] B.
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


def _frictional_contact(normal_law, friction_law):
    """Return force, adjoint and add with friction."""
    force_on, force_adjoint = triangle_contact(normal_law, friction_law)
    load, add_row, no_normal, _ = parameter_row(normal_law.width)
    load_friction, add_friction, no_friction, _ = parameter_row(friction_law.width)

    @device
    def force(clock, x, u, i, y, v, j0, j1, j2, thickness, k_n, k_t):
        """Return the force on vertex i, and the parts of it on the corners, zero when apart."""
        zero = constant(thickness, 0)
        none = (zero, zero, zero)
        meeting = find_contact(ld3(x, i), zero, thickness, ld3(y, j0), ld3(y, j1), ld3(y, j2))
        if not meeting[0]:
            return none, (none, none, none)
        return force_on(
            clock, meeting, zero, thickness, ld3(u, i), ld3(v, j0), ld3(v, j1), ld3(v, j2), load(k_n, i),
            load_friction(k_t, i),
        )  # fmt: skip

    @device
    def adjoint(clock, x, u, i, y, v, j0, j1, j2, thickness, k_n, k_t, adj_f, adj_g):
        """Transpose of force: cotangents of the vertex, of the corners and of the parameters."""
        zero = constant(thickness, 0)
        none = (zero, zero, zero)
        p = ld3(x, i)
        a = ld3(y, j0)
        b = ld3(y, j1)
        c = ld3(y, j2)
        meeting = find_contact(p, zero, thickness, a, b, c)
        if not meeting[0]:
            nothing = (none, none, none)
            return (none, none), nothing, nothing, no_normal(thickness), no_friction(thickness)
        _, B, adj_c, adj, adj_kn, adj_kt = force_adjoint(
            clock, meeting, zero, thickness, ld3(u, i), ld3(v, j0), ld3(v, j1), ld3(v, j2), load(k_n, i),
            load_friction(k_t, i), ld3(adj_f, i), ld3(adj_g, j0), ld3(adj_g, j1), ld3(adj_g, j2),
        )  # fmt: skip
        A, corners = find_contact_adjoint(p, zero, a, b, c, meeting, adj_c, adj, none)
        b0, b1, b2 = distribute_force(meeting[7], meeting[1], meeting[5], B)
        return (A, B), corners, (neg3(b0), neg3(b1), neg3(b2)), adj_kn, adj_kt

    @device
    def add(adj_k_n, adj_k_t, i, adj_kn, adj_kt):
        add_row(adj_k_n, i, adj_kn)
        add_friction(adj_k_t, i, adj_kt)

    return force, adjoint, add


@device
def is_near(a, b, reach):
    """Return True if two points are closer than ``reach``."""
    d = sub3(a, b)
    return dot3(d, d) < reach * reach


@device
def store_corner_forces(f, pushes, s0, s1, s2):
    """Store the forces on the corners of triangle f for their nodes to gather."""
    st3(pushes, 3 * f, s0)
    st3(pushes, 3 * f + 1, s1)
    st3(pushes, 3 * f + 2, s2)


@device
def store_corner_cotangents(f, pushes, count, a):
    """Store the cotangents of y and v of each corner of triangle f, one of ``count``, for their nodes to gather."""
    row = 3 * count + 6 * f
    st3(pushes, row, a[0])
    st3(pushes, row + 1, a[1])
    st3(pushes, row + 2, a[2])
    st3(pushes, row + 3, a[3])
    st3(pushes, row + 4, a[4])
    st3(pushes, row + 5, a[5])


@device
def gather_corner_forces(i, slots, pushes, total):
    """Return ``total`` plus the forces that triangles stored for node i."""
    for s in range(slots[i], slots[i + 1]):
        total = add3(total, ld3(pushes, slots[s]))
    return total


@device
def gather_corner_cotangents(i, slots, pushes, count, a_x, a_u):
    """Return ``a_x`` and ``a_u`` plus the cotangents that ``count`` triangles stored for node i."""
    for s in range(slots[i], slots[i + 1]):
        row = 3 * count + 2 * slots[s]
        a_x = add3(a_x, ld3(pushes, row))
        a_u = add3(a_u, ld3(pushes, row + 1))
    return a_x, a_u


@functools.cache
def skin_contact(normal_law, may_meet, friction_law=None):
    """Return push_corners, push_vertex and their adjoints under a NormalFunctions and, if any, a FrictionFunctions.

    Without the latter there is no friction, and k_t and adj_k_t are not used. may_meet(i, j0, j1, j2, members): True if
    vertex i may touch the triangle of these corners at all.
    """
    touch_force, touch_force_adjoint, add = vertex_contact(normal_law, friction_law)

    @device
    def push_corners(f, clock, x, u, y, v, faces, members, thickness, k_n, k_t, middles, cells, starts, order, pushes):
        """Store the forces on the corners of triangle f from all vertices that touch it."""
        R = x.dtype.type
        zero = (R(0), R(0), R(0))
        s0 = zero
        s1 = zero
        s2 = zero
        j0 = faces[f, 0]
        j1 = faces[f, 1]
        j2 = faces[f, 2]
        m = ld3(middles, f)
        r = middles[faces.shape[0], 0]
        around = cells_around(m, r)
        buckets = starts.shape[1] - 2
        after = around[0]
        for _ in range(count_cells(around)):
            cell = after
            after = next_cell(around, cell)
            b = bucket(cell, buckets)
            for s in range(starts[0, b], starts[0, b + 1]):
                i = order[s]
                if in_cell(cells, i, cell) and may_meet(i, j0, j1, j2, members) and is_near(ld3(x, i), m, r):
                    _, taken = touch_force(clock, x, u, i, y, v, j0, j1, j2, thickness[0], k_n, k_t)
                    s0 = sub3(s0, taken[0])
                    s1 = sub3(s1, taken[1])
                    s2 = sub3(s2, taken[2])
        store_corner_forces(f, pushes, s0, s1, s2)

    @device
    def push_vertex(i, clock, x, u, y, v, faces, members, thickness, k_n, k_t, middles, cells, starts, order, total):
        """Return ``total`` plus the forces on vertex i from all triangles it touches."""
        p = ld3(x, i)
        first = cells.shape[0] - faces.shape[0]
        r = middles[faces.shape[0], 0]
        around = cells_around(p, r)
        buckets = starts.shape[1] - 2
        after = around[0]
        for _ in range(count_cells(around)):
            cell = after
            after = next_cell(around, cell)
            b = bucket(cell, buckets)
            for s in range(starts[1, b], starts[1, b + 1]):
                f = order[first + s]
                if in_cell(cells, first + f, cell) and is_near(p, ld3(middles, f), r):
                    j0 = faces[f, 0]
                    j1 = faces[f, 1]
                    j2 = faces[f, 2]
                    if may_meet(i, j0, j1, j2, members):
                        g, _ = touch_force(clock, x, u, i, y, v, j0, j1, j2, thickness[0], k_n, k_t)
                        total = add3(total, g)
        return total

    @device
    def push_corners_adjoint(
        f, clock, x, u, y, v, faces, members, thickness, k_n, k_t, middles, cells, starts, order, pushes, adj_x,
        adj_y,
    ):
        """Store the corners' part of the transpose. adj_x, adj_y: cotangents of the forces on both."""
        R = x.dtype.type
        zero = (R(0), R(0), R(0))
        x0 = zero
        x1 = zero
        x2 = zero
        u0 = zero
        u1 = zero
        u2 = zero
        j0 = faces[f, 0]
        j1 = faces[f, 1]
        j2 = faces[f, 2]
        c = ld3(middles, f)
        r = middles[faces.shape[0], 0]
        around = cells_around(c, r)
        buckets = starts.shape[1] - 2
        after = around[0]
        for _ in range(count_cells(around)):
            cell = after
            after = next_cell(around, cell)
            b = bucket(cell, buckets)
            for s in range(starts[0, b], starts[0, b + 1]):
                i = order[s]
                if in_cell(cells, i, cell) and may_meet(i, j0, j1, j2, members) and is_near(ld3(x, i), c, r):
                    _, a_y, a_v, _, _ = touch_force_adjoint(
                        clock, x, u, i, y, v, j0, j1, j2, thickness[0], k_n, k_t, adj_x, adj_y
                    )
                    x0 = add3(x0, a_y[0])
                    x1 = add3(x1, a_y[1])
                    x2 = add3(x2, a_y[2])
                    u0 = add3(u0, a_v[0])
                    u1 = add3(u1, a_v[1])
                    u2 = add3(u2, a_v[2])
        store_corner_cotangents(f, pushes, faces.shape[0], (x0, u0, x1, u1, x2, u2))

    @device
    def push_vertex_adjoint(
        i, clock, x, u, y, v, faces, members, thickness, k_n, k_t, middles, cells, starts, order, adj_x, adj_y,
        adj_k_n, adj_k_t, a_x, a_u,
    ):
        """Return the vertex' part of the transpose, added to ``a_x``, ``a_u`` and adj_k_n."""
        p = ld3(x, i)
        first = cells.shape[0] - faces.shape[0]
        r = middles[faces.shape[0], 0]
        around = cells_around(p, r)
        buckets = starts.shape[1] - 2
        after = around[0]
        for _ in range(count_cells(around)):
            cell = after
            after = next_cell(around, cell)
            b = bucket(cell, buckets)
            for s in range(starts[1, b], starts[1, b + 1]):
                f = order[first + s]
                if in_cell(cells, first + f, cell) and is_near(p, ld3(middles, f), r):
                    j0 = faces[f, 0]
                    j1 = faces[f, 1]
                    j2 = faces[f, 2]
                    if may_meet(i, j0, j1, j2, members):
                        own, _, _, a_kn, a_kt = touch_force_adjoint(
                            clock, x, u, i, y, v, j0, j1, j2, thickness[0], k_n, k_t, adj_x, adj_y
                        )
                        a_x = add3(a_x, own[0])
                        a_u = add3(a_u, own[1])
                        add(adj_k_n, adj_k_t, i, a_kn, a_kt)
        return a_x, a_u

    return push_corners, push_vertex, push_corners_adjoint, push_vertex_adjoint
