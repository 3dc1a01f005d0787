"""Kernels that drive a point of a body: a path through places at given times, or a given force, with their adjoints."""

import functools

from diffloom_kernels import add3, device, dot3, minimum, mul3, neg3, sub3
from diffloom_physics_world.attachment_kernels import ENDS, place_at


@device
def stop(e, k, places):
    """Load place k of path e."""
    return (places[e, 3 * k], places[e, 3 * k + 1], places[e, 3 * k + 2])


@device
def add_to_stop(e, k, places, a):
    """Add to the cotangent of place k of path e."""
    for c in range(3):
        places[e, 3 * k + c] += a[c]


@device
def between_stops(e, time, times):
    """Return the stop before ``time``, the fraction of the way to the next, and the inverse of its duration.

    The inverse is 0 before the first and after the last stop, where the place is at rest.
    """
    zero = times.dtype.type(0)
    last = times.shape[1] - 1
    k = 0
    while k < last - 1 and times[e, k + 1] <= time:
        k += 1
    if time < times[e, 0]:
        return 0, zero, zero
    if time >= times[e, last]:
        return last - 1, times.dtype.type(1), zero
    rate = times.dtype.type(1) / (times[e, k + 1] - times[e, k])
    return k, (times.dtype.type(time) - times[e, k]) * rate, rate


@functools.cache
def tour_hold(body):
    """Return force and adjoint of the pull on an end along straight lines between places, which it passes at
    ``times``.
    """
    end, store, cotangent, adjoint = ENDS[body]

    @device
    def tour_force(e, clock, q, u, nodes, offset, times, places, stiffness, damping, out):
        """Compute f = k (p - x) + c (p' - v)."""
        at, v, arm = end(e, q, u, nodes, offset)
        k, part, rate = between_stops(e, clock.time, times)
        step = sub3(stop(e, k + 1, places), stop(e, k, places))
        p = add3(stop(e, k, places), mul3(step, part))
        f = add3(mul3(sub3(p, at), stiffness[e]), mul3(sub3(mul3(step, rate), v), damping[e]))
        store(e, f, arm, out)

    @device
    def tour_force_adjoint(
        e, clock, q, u, nodes, offset, times, places, stiffness, damping,
        adj_f, adj_q, adj_u, adj_places, adj_stiffness, adj_damping,
    ):
        """Transpose of tour_force: adj_p = k a and adj_p' = c a, shared by the two places."""
        at, v, arm = end(e, q, u, nodes, offset)
        k, part, rate = between_stops(e, clock.time, times)
        step = sub3(stop(e, k + 1, places), stop(e, k, places))
        off = sub3(add3(stop(e, k, places), mul3(step, part)), at)
        slow = sub3(mul3(step, rate), v)
        f = add3(mul3(off, stiffness[e]), mul3(slow, damping[e]))
        a = cotangent(e, nodes, arm, adj_f)
        pulled = mul3(a, stiffness[e])
        driven = mul3(a, damping[e])
        adjoint(e, q, u, nodes, offset, arm, f, adj_f, neg3(pulled), neg3(driven), adj_q, adj_u)
        ahead = add3(mul3(pulled, part), mul3(driven, rate))
        add_to_stop(e, k + 1, adj_places, ahead)
        add_to_stop(e, k, adj_places, sub3(pulled, ahead))
        adj_stiffness[e] += dot3(a, off)
        adj_damping[e] += dot3(a, slow)

    return tour_force, tour_force_adjoint


@functools.cache
def point_force(body):
    """Return a given force at an end, and its adjoint."""
    end, store, cotangent, adjoint = ENDS[body]

    @device
    def given_force(e, clock, q, u, nodes, offset, x, y, z, out):
        """Load f = (x, y, z) of this step."""
        _, _, arm = end(e, q, u, nodes, offset)
        store(e, place_at(clock.row, e, x, y, z), arm, out)

    @device
    def given_force_adjoint(e, clock, q, u, nodes, offset, x, y, z, adj_f, adj_q, adj_u, adj_x, adj_y, adj_z):
        """Transpose of given_force; for a body it includes the torque of a force off the centre."""
        _, _, arm = end(e, q, u, nodes, offset)
        zero = q.dtype.type(0)
        none = (zero, zero, zero)
        f = place_at(clock.row, e, x, y, z)
        a = cotangent(e, nodes, arm, adj_f)
        adjoint(e, q, u, nodes, offset, arm, f, adj_f, none, none, adj_q, adj_u)
        here = minimum(clock.row, x.shape[0] - 1)
        adj_x[here, e] += a[0]
        adj_y[here, e] += a[1]
        adj_z[here, e] += a[2]

    return given_force, given_force_adjoint
