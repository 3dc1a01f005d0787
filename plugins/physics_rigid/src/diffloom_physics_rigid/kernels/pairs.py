"""Contact between bodies: the points of one against the shape of the other, and the transpose.

Each body sums over its neighbours, taking both parts: its own points in the neighbour's shape, and the neighbour's
points in its own. Every contact is thus computed by both bodies of a pair, and nobody writes where another reads.

``points`` is the tuple (reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points),
``shapes`` that of kernels.distance, ``bounds`` (low, high) of the shapes, ``contact`` (k_e, k_d, k_f, mu).
"""

from diffloom.contact.kernels import plane_force, plane_force_adjoint
from diffloom.kernels import (
    Tmatmul33,
    add3,
    add33,
    constant,
    cross3,
    device,
    dot3,
    ld3,
    ld6,
    ld7,
    matvec33,
    mul3,
    outer3,
    quat_matrix,
    sub3,
    tmatvec33,
)
from diffloom_physics_rigid.kernels.distance import may_touch, shape_distance, shape_distance_adjoint
from diffloom_physics_rigid.kernels.rotations import quat_matrix_vjp


@device
def in_series(a, b):
    """a b / (a + b): two springs, or two dampers, one behind the other."""
    s = a + b
    return a * b / s if s > constant(s, 0) else constant(s, 0)


@device
def in_series_slope(a, b):
    """d in_series / da = (b / (a + b))^2."""
    s = a + b
    if s > constant(s, 0):
        share = b / s
        return share * share
    return constant(s, 0)


@device
def pair_contact(a, b, contact):
    """k_e, k_d, k_f of both bodies in series, and the mean of their mu."""
    k_e, k_d, k_f, mu = contact
    return (
        in_series(k_e[a], k_e[b]), in_series(k_d[a], k_d[b]), in_series(k_f[a], k_f[b]),
        constant(mu[a], 0.5) * (mu[a] + mu[b]),
    )


@device
def near_box(p, margin, low, high, b):
    """Whether p is within ``margin`` of the box around shape b, per axis."""
    return (
        p[0] > low[b, 0] - margin and p[0] < high[b, 0] + margin
        and p[1] > low[b, 1] - margin and p[1] < high[b, 1] + margin
        and p[2] > low[b, 2] - margin and p[2] < high[b, 2] + margin
    )


@device
def points_in_shape(a, b, clock, q, u, points, shapes, bounds, contact):
    """Force f of shape b on the points of body a, summed: F, arm_a x f and arm_b x f."""
    reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, own = points
    zero = q.dtype.type(0)
    none = (zero, zero, zero)
    force = none
    turn_a = none
    turn_b = none
    xa, ra = ld7(q, a)
    xb, rb = ld7(q, b)
    va, wa = ld6(u, a)
    vb, wb = ld6(u, b)
    A = quat_matrix(ra)
    B = quat_matrix(rb)
    M = Tmatmul33(B, A)
    apart = sub3(xa, xb)
    t = tmatvec33(B, apart)
    rho = roundness[a]
    k_e, k_d, k_f, mu = pair_contact(a, b, contact)
    for c in range(cluster_starts[a], cluster_starts[a + 1]):
        if near_box(add3(matvec33(M, ld3(cluster_centre, c)), t), cluster_radius[c] + rho, bounds[0], bounds[1], b):
            for j in range(point_starts[c], point_starts[c + 1]):
                p = ld3(own, j)
                inside = add3(matvec33(M, p), t)
                if near_box(inside, rho, bounds[0], bounds[1], b) and may_touch(b, inside, shapes, rho):
                    distance, way = shape_distance(b, inside, shapes)
                    if distance < rho:
                        n = matvec33(B, way)
                        arm_a = sub3(matvec33(A, p), mul3(n, rho))
                        arm_b = add3(arm_a, apart)
                        slip = sub3(add3(va, cross3(wa, arm_a)), add3(vb, cross3(wb, arm_b)))
                        f = plane_force(clock, none, slip, n, rho - distance, k_e, k_d, k_f, mu)
                        force = add3(force, f)
                        turn_a = add3(turn_a, cross3(arm_a, f))
                        turn_b = add3(turn_b, cross3(arm_b, f))
    return force, turn_a, turn_b


@device
def points_in_shape_adjoint(a, b, clock, q, u, points, shapes, bounds, contact, adj_f):
    """Cotangents of the pair's contact and of both states, where f acts on a and -f on b."""
    reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, own = points
    zero = q.dtype.type(0)
    none = (zero, zero, zero)
    a_xa = none
    a_va = none
    a_wa = none
    a_wb = none
    a_A = (zero, zero, zero, zero, zero, zero, zero, zero, zero)
    a_B = a_A
    a_e = zero
    a_d = zero
    a_f = zero
    a_mu = zero
    xa, ra = ld7(q, a)
    xb, rb = ld7(q, b)
    va, wa = ld6(u, a)
    vb, wb = ld6(u, b)
    force_a, turn_a = ld6(adj_f, a)
    force_b, turn_b = ld6(adj_f, b)
    A = quat_matrix(ra)
    B = quat_matrix(rb)
    M = Tmatmul33(B, A)
    apart = sub3(xa, xb)
    t = tmatvec33(B, apart)
    rho = roundness[a]
    k_e, k_d, k_f, mu = pair_contact(a, b, contact)
    for c in range(cluster_starts[a], cluster_starts[a + 1]):
        if near_box(add3(matvec33(M, ld3(cluster_centre, c)), t), cluster_radius[c] + rho, bounds[0], bounds[1], b):
            for j in range(point_starts[c], point_starts[c + 1]):
                p = ld3(own, j)
                inside = add3(matvec33(M, p), t)
                if near_box(inside, rho, bounds[0], bounds[1], b) and may_touch(b, inside, shapes, rho):
                    distance, way = shape_distance(b, inside, shapes)
                    if distance < rho:
                        n = matvec33(B, way)
                        arm_a = sub3(matvec33(A, p), mul3(n, rho))
                        arm_b = add3(arm_a, apart)
                        slip = sub3(add3(va, cross3(wa, arm_a)), add3(vb, cross3(wb, arm_b)))
                        f = plane_force(clock, none, slip, n, rho - distance, k_e, k_d, k_f, mu)
                        b_f = sub3(add3(force_a, cross3(turn_a, arm_a)), add3(force_b, cross3(turn_b, arm_b)))
                        _, b_v, b_n, b_offset, b_e, b_d, b_slide, b_mu = plane_force_adjoint(
                            clock, none, slip, n, rho - distance, k_e, k_d, k_f, mu, b_f
                        )
                        b_arm_b = sub3(cross3(turn_b, f), cross3(b_v, wb))
                        b_arm_a = add3(add3(cross3(f, turn_a), cross3(b_v, wa)), b_arm_b)
                        b_n = sub3(b_n, mul3(b_arm_a, rho))
                        b_inside = shape_distance_adjoint(b, inside, shapes, -b_offset, tmatvec33(B, b_n))
                        b_place = matvec33(B, b_inside)
                        from_b = add3(matvec33(A, p), apart)
                        a_xa = add3(a_xa, add3(b_arm_b, b_place))
                        a_va = add3(a_va, b_v)
                        a_wa = add3(a_wa, cross3(arm_a, b_v))
                        a_wb = sub3(a_wb, cross3(arm_b, b_v))
                        a_A = add33(a_A, outer3(add3(b_arm_a, b_place), p))
                        a_B = add33(a_B, add33(outer3(b_n, way), outer3(from_b, b_inside)))
                        a_e += b_e
                        a_d += b_d
                        a_f += b_slide
                        a_mu += b_mu
    return (a_xa, a_va, a_wa, a_wb, quat_matrix_vjp(ra, a_A), quat_matrix_vjp(rb, a_B)), (a_e, a_d, a_f, a_mu)


@device
def sort_bodies(
    i, clock, q, u, movable, widest, reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts,
    points, kind, dims, low, high, grid_start, grid_size, grid_origin, grid_cell, grid_values, k_e, k_d, k_f, mu,
    order, place, along,
):
    """Broad phase, run once per evaluation: ``order`` lists the bodies by x, ``place`` inverts it, ``along`` holds
    the sorted x. Shell sort on (x, number): the result depends on the state alone."""
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
    """The first place in the sorted order that may hold a neighbour of body i."""
    at = place[i]
    x = along[at]
    while at > 0 and along[at - 1] >= x - width:
        at -= 1
    return at


@device
def near_pair(i, j, q, movable, reach):
    """Whether bodies i and j may touch, by the balls around them."""
    d = sub3(ld3(q, i), ld3(q, j))
    r = reach[i] + reach[j]
    return i != j and (movable[i] == 1 or movable[j] == 1) and r > q.dtype.type(0) and dot3(d, d) < r * r


@device
def pair_force(
    i, clock, q, u, movable, widest, reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts,
    points, kind, dims, low, high, grid_start, grid_size, grid_origin, grid_cell, grid_values, k_e, k_d, k_f, mu,
    order, place, along,
):
    """Force and torque on body i from all its neighbours."""
    own = (reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points)
    shapes = (kind, dims, grid_start, grid_size, grid_origin, grid_cell, grid_values)
    contact = (k_e, k_d, k_f, mu)
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
            for part in range(2):
                a = i if part == 0 else j
                b = j if part == 0 else i
                f, turn_a, turn_b = points_in_shape(a, b, clock, q, u, own, shapes, (low, high), contact)
                if part == 0:
                    force = add3(force, f)
                    torque = add3(torque, turn_a)
                else:
                    force = sub3(force, f)
                    torque = sub3(torque, turn_b)
    return (force[0], force[1], force[2], torque[0], torque[1], torque[2])


@device
def pair_force_adjoint(
    i, clock, q, u, movable, widest, reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts,
    points, kind, dims, low, high, grid_start, grid_size, grid_origin, grid_cell, grid_values, k_e, k_d, k_f, mu,
    order, place, along, adj_f, adj_k_e, adj_k_d, adj_k_f, adj_mu,
):
    """Cotangent of body i's state and contact from every contact it takes part in."""
    own = (reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points)
    shapes = (kind, dims, grid_start, grid_size, grid_origin, grid_cell, grid_values)
    contact = (k_e, k_d, k_f, mu)
    zero = q.dtype.type(0)
    a_x = (zero, zero, zero)
    a_v = a_x
    a_w = a_x
    a_r = (zero, zero, zero, zero)
    width = reach[i] + widest[0]
    x = q[i, 0]
    for at in range(first_near(i, width, place, along), q.shape[0]):
        if along[at] > x + width:
            break
        j = order[at]
        if near_pair(i, j, q, movable, reach):
            for part in range(2):
                a = i if part == 0 else j
                b = j if part == 0 else i
                (b_x, b_v, b_wa, b_wb, b_ra, b_rb), (b_e, b_d, b_f, b_mu) = points_in_shape_adjoint(
                    a, b, clock, q, u, own, shapes, (low, high), contact, adj_f
                )
                if part == 0:
                    a_x = add3(a_x, b_x)
                    a_v = add3(a_v, b_v)
                    a_w = add3(a_w, b_wa)
                    a_r = (a_r[0] + b_ra[0], a_r[1] + b_ra[1], a_r[2] + b_ra[2], a_r[3] + b_ra[3])
                else:
                    a_x = sub3(a_x, b_x)
                    a_v = sub3(a_v, b_v)
                    a_w = add3(a_w, b_wb)
                    a_r = (a_r[0] + b_rb[0], a_r[1] + b_rb[1], a_r[2] + b_rb[2], a_r[3] + b_rb[3])
                adj_k_e[i] += b_e * in_series_slope(k_e[i], k_e[j])
                adj_k_d[i] += b_d * in_series_slope(k_d[i], k_d[j])
                adj_k_f[i] += b_f * in_series_slope(k_f[i], k_f[j])
                adj_mu[i] += constant(b_mu, 0.5) * b_mu
    return (
        (a_x[0], a_x[1], a_x[2], a_r[0], a_r[1], a_r[2], a_r[3]),
        (a_v[0], a_v[1], a_v[2], a_w[0], a_w[1], a_w[2]),
    )
