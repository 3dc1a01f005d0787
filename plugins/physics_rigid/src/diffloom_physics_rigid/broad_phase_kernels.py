"""Which bodies may touch: sorted along x, then by the balls around them."""

from diffloom_kernels import device, dot3, ld3, sub3


@device
def sort_bodies(
    i, clock, q, u, movable, widest, reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts,
    points, kind, dims, low, high, grid_start, grid_size, grid_origin, grid_cell, grid_values, k_n, k_t,
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
