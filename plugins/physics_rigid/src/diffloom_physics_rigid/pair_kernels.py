"""Contact between bodies: each body sums its own points in its neighbours' shapes and their points in its own.

Candidates are found by sorting bodies along x (sweep and prune), then by bounding balls.
"""

import functools

from diffloom_kernels import device, dot3, ld3, sub3
from diffloom_mechanics.contact.kernels import body_cotangents, body_pair_contact


@device
def sort_bodies(
    i, clock, q, u, movable, widest, reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts,
    points, kind, dims, low, high, grid_start, grid_size, grid_origin, grid_cell, grid_values, k_n, k_t,
    order, place, along,
):
    """Sort the bodies by x, once per evaluation, by a Shell sort on (x, number), so the result depends on the state
    alone.

    ``order`` lists the bodies by x, ``place`` inverts it, ``along`` holds the sorted x.
    """
    count = q.shape[0]
    for k in range(count):
        order[k] = k
    gap = count // 2
    while gap > 0:
        for k in range(gap, count):
            body = order[k]
            x = q[body, 0]
            at = k
            while at >= gap:
                other = order[at - gap]
                if q[other, 0] > x or (q[other, 0] == x and other > body):
                    order[at] = other
                    at -= gap
                else:
                    break
            order[at] = body
        gap = gap // 2
    for k in range(count):
        place[order[k]] = k
        along[k] = q[order[k], 0]


@device
def first_near(i, width, place, along):
    """Return the first place in the sorted order that may hold a neighbour of body i."""
    at = place[i]
    x = along[at]
    while at > 0 and along[at - 1] >= x - width:
        at -= 1
    return at


@device
def near_pair(i, j, q, movable, reach):
    """Return true if the bounding balls of bodies i and j overlap and one of the bodies moves."""
    d = sub3(ld3(q, i), ld3(q, j))
    r = reach[i] + reach[j]
    return i != j and (movable[i] == 1 or movable[j] == 1) and r > q.dtype.type(0) and dot3(d, d) < r * r


@functools.cache
def pair_contact(normal_law, friction_law):
    """Return pair_force and its adjoint for a NormalFunctions and a FrictionFunctions."""
    _, _, both_forces, both_forces_adjoint = body_pair_contact(normal_law, friction_law)

    @device
    def pair_force(
        i, clock, q, u, movable, widest, reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts,
        points, kind, dims, low, high, grid_start, grid_size, grid_origin, grid_cell, grid_values, k_n, k_t,
        order, place, along,
    ):
        """Sum force and torque on body i over all its neighbours."""
        own = (reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points)
        shapes = (kind, dims, grid_start, grid_size, grid_origin, grid_cell, grid_values)
        side = (q, u, k_n, k_t)
        zero = q.dtype.type(0)
        force = (zero, zero, zero)
        torque = (zero, zero, zero)
        width = reach[i] + widest[0]
        x = q[i, 0]
        for at in range(first_near(i, width, place, along), q.shape[0]):
            if along[at] > x + width:
                break
            j = order[at]
            if near_pair(i, j, q, movable, reach):
                force, torque = both_forces(i, j, clock, side, own, shapes, (low, high), force, torque)
        return (force[0], force[1], force[2], torque[0], torque[1], torque[2])

    @device
    def pair_force_adjoint(
        i, clock, q, u, movable, widest, reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts,
        points, kind, dims, low, high, grid_start, grid_size, grid_origin, grid_cell, grid_values, k_n, k_t,
        order, place, along, adj_f, adj_k_n, adj_k_t,
    ):
        """Sum the cotangents of body i's state and contact parameters over all contacts of the body."""
        own = (reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points)
        shapes = (kind, dims, grid_start, grid_size, grid_origin, grid_cell, grid_values)
        side = (q, u, k_n, k_t)
        zero = q.dtype.type(0)
        a_x = (zero, zero, zero)
        a_v = a_x
        a_w = a_x
        a_R = (zero, zero, zero, zero, zero, zero, zero, zero, zero)
        width = reach[i] + widest[0]
        x = q[i, 0]
        for at in range(first_near(i, width, place, along), q.shape[0]):
            if along[at] > x + width:
                break
            j = order[at]
            if near_pair(i, j, q, movable, reach):
                a_x, a_v, a_w, a_R = both_forces_adjoint(
                    i, j, clock, side, own, shapes, (low, high), adj_f, (adj_k_n, adj_k_t), a_x, a_v, a_w, a_R
                )
        return body_cotangents(i, q, a_x, a_R, a_v, a_w)

    return pair_force, pair_force_adjoint
