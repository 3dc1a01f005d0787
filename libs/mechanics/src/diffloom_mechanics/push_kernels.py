"""External forces that act in a window of time."""

from diffloom_kernels import add3, device, ld3, maximum, minimum, mul3, st3


@device
def window_share(clock, start, end):
    """The part of this step, 0..1, that lies between ``start`` and ``end``: impulses are exact for any step length."""
    zero = clock.dt - clock.dt
    overlap = minimum(clock.start + clock.dt, end) - maximum(clock.start, start)
    return maximum(overlap, zero) / clock.dt


@device
def window_force(i, clock, q, u, starts, window, start, end, force):
    """Sum of the windows of node i: force x the share of the step in which it acts."""
    zero = q.dtype.type(0)
    total = (zero, zero, zero)
    for s in range(starts[i], starts[i + 1]):
        w = window[s]
        total = add3(total, mul3(ld3(force, w), window_share(clock, start[w], end[w])))
    return total


@device
def window_force_adjoint(i, clock, q, u, starts, window, start, end, force, adj_f, adj_force):
    """adj_force = share x adj_f; the times are constants."""
    zero = q.dtype.type(0)
    for s in range(starts[i], starts[i + 1]):
        w = window[s]
        share = window_share(clock, start[w], end[w])
        st3(adj_force, w, add3(ld3(adj_force, w), mul3(ld3(adj_f, i), share)))
    return (zero, zero, zero), (zero, zero, zero)
