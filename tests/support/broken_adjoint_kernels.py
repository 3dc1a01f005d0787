"""Kernels of a term whose hand-written adjoint is right or wrong."""

from diffloom_kernels import device, fma3, ld3, mul3


@device
def drag_force(i, clock, q, u, drag):
    """f = -c v."""
    return mul3(ld3(u, i), -drag[i])


@device
def sound_adjoint(i, clock, q, u, drag, adj_f, adj_drag):
    """adj_c = -v.a, adj_v = -c a."""
    v, a = ld3(u, i), ld3(adj_f, i)
    adj_drag[i] -= v[0] * a[0] + v[1] * a[1] + v[2] * a[2]
    none = mul3(a, drag.dtype.type(0))
    return none, fma3(a, -drag[i], none)


@device
def wrong_adjoint(i, clock, q, u, drag, adj_f, adj_drag):
    """The cotangent of the drag lacks one component."""
    v, a = ld3(u, i), ld3(adj_f, i)
    adj_drag[i] -= v[0] * a[0] + v[1] * a[1]
    none = mul3(a, drag.dtype.type(0))
    return none, fma3(a, -drag[i], none)
