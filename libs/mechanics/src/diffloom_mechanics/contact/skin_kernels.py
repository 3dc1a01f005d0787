"""Vertices against triangles that they may touch, from both sides, and the transposes.

Each pair is met twice: from the vertex, which sums the forces on itself, and from the triangle, which sums those on
its corners into rows of its own for the vertices to gather. So no list of pairs is needed, nothing can overflow, no
two threads write to one place, and the order of every sum is fixed.

Vertices (x, u) and triangles (y, v, faces) belong to one shell or to two bodies. middles: centres of the triangles, in
the last row the reach of a contact. cells, starts, order: those of cell_kernels, vertices before triangles in each.
pushes (9 m, 3) of m triangles: row r < 3 m is the force on corner r; rows 3 m + 2 r and the next its cotangents of y
and v. k_n, k_t: contact parameters of the vertices. slots: for node i, rows 3 face + corner that belong to it, at
slots[slots[i]] to slots[slots[i + 1]].
"""

import functools

from diffloom_kernels import add3, device, dot3, ld3, st3, sub3
from diffloom_mechanics.contact.cell_kernels import bucket, cell_count, cells_around, in_cell, next_cell
from diffloom_mechanics.contact.touch_kernels import touch


@device
def near(a, b, reach):
    """Whether two points are closer than ``reach``."""
    d = sub3(a, b)
    return dot3(d, d) < reach * reach


@device
def gathered_pushes(i, slots, pushes, total):
    """``total`` with the forces that triangles left for node i."""
    for s in range(slots[i], slots[i + 1]):
        total = add3(total, ld3(pushes, slots[s]))
    return total


@device
def gathered_cotangents(i, slots, pushes, count, a_x, a_u):
    """``a_x`` and ``a_u`` with the cotangents that ``count`` triangles left for node i."""
    for s in range(slots[i], slots[i + 1]):
        row = 3 * count + 2 * slots[s]
        a_x = add3(a_x, ld3(pushes, row))
        a_u = add3(a_u, ld3(pushes, row + 1))
    return a_x, a_u


@functools.cache
def skin_contact(normal_law, may_meet, friction_law=None):
    """push_corners, push_vertex and their adjoints under a NormalFunctions and a FrictionFunctions (see
    diffloom_mechanics.contact.law); without the latter nothing is held back, and k_t and adj_k_t are not used.

    may_meet(i, j0, j1, j2, members): whether vertex i may touch the triangle of these corners at all.
    """
    touch_force, touch_force_adjoint, add = touch(normal_law, friction_law)

    @device
    def push_corners(f, clock, x, u, y, v, faces, members, thickness, k_n, k_t, middles, cells, starts, order, pushes):
        """Forces on the corners of triangle f from all vertices that touch it."""
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
        for _ in range(cell_count(around)):
            cell = after
            after = next_cell(around, cell)
            b = bucket(cell, buckets)
            for s in range(starts[0, b], starts[0, b + 1]):
                i = order[s]
                if in_cell(cells, i, cell) and may_meet(i, j0, j1, j2, members) and near(ld3(x, i), m, r):
                    _, taken = touch_force(clock, x, u, i, y, v, j0, j1, j2, thickness[0], k_n, k_t)
                    s0 = sub3(s0, taken[0])
                    s1 = sub3(s1, taken[1])
                    s2 = sub3(s2, taken[2])
        st3(pushes, 3 * f, s0)
        st3(pushes, 3 * f + 1, s1)
        st3(pushes, 3 * f + 2, s2)

    @device
    def push_vertex(i, clock, x, u, y, v, faces, members, thickness, k_n, k_t, middles, cells, starts, order, total):
        """``total`` with the forces on vertex i from all triangles it touches."""
        p = ld3(x, i)
        first = cells.shape[0] - faces.shape[0]
        r = middles[faces.shape[0], 0]
        around = cells_around(p, r)
        buckets = starts.shape[1] - 2
        after = around[0]
        for _ in range(cell_count(around)):
            cell = after
            after = next_cell(around, cell)
            b = bucket(cell, buckets)
            for s in range(starts[1, b], starts[1, b + 1]):
                f = order[first + s]
                if in_cell(cells, first + f, cell) and near(p, ld3(middles, f), r):
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
        """The corners' part of the transpose. adj_x, adj_y: cotangents of the forces on both."""
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
        for _ in range(cell_count(around)):
            cell = after
            after = next_cell(around, cell)
            b = bucket(cell, buckets)
            for s in range(starts[0, b], starts[0, b + 1]):
                i = order[s]
                if in_cell(cells, i, cell) and may_meet(i, j0, j1, j2, members) and near(ld3(x, i), c, r):
                    _, a_y, a_v, _, _ = touch_force_adjoint(
                        clock, x, u, i, y, v, j0, j1, j2, thickness[0], k_n, k_t, adj_x, adj_y
                    )
                    x0 = add3(x0, a_y[0])
                    x1 = add3(x1, a_y[1])
                    x2 = add3(x2, a_y[2])
                    u0 = add3(u0, a_v[0])
                    u1 = add3(u1, a_v[1])
                    u2 = add3(u2, a_v[2])
        row = 3 * faces.shape[0] + 6 * f
        st3(pushes, row, x0)
        st3(pushes, row + 1, u0)
        st3(pushes, row + 2, x1)
        st3(pushes, row + 3, u1)
        st3(pushes, row + 4, x2)
        st3(pushes, row + 5, u2)

    @device
    def push_vertex_adjoint(
        i, clock, x, u, y, v, faces, members, thickness, k_n, k_t, middles, cells, starts, order, adj_x, adj_y,
        adj_k_n, adj_k_t, a_x, a_u,
    ):
        """The vertex's part of the transpose, added to ``a_x``, ``a_u`` and adj_k_n."""
        p = ld3(x, i)
        first = cells.shape[0] - faces.shape[0]
        r = middles[faces.shape[0], 0]
        around = cells_around(p, r)
        buckets = starts.shape[1] - 2
        after = around[0]
        for _ in range(cell_count(around)):
            cell = after
            after = next_cell(around, cell)
            b = bucket(cell, buckets)
            for s in range(starts[1, b], starts[1, b + 1]):
                f = order[first + s]
                if in_cell(cells, first + f, cell) and near(p, ld3(middles, f), r):
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
