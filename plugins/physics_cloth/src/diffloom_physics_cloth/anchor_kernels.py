"""Kernels of springs of zero length that tie single vertices to points in space."""

from diffloom_kernels import add_to3, device, dot3, ld3, mul3, store_corners, sub3


@device
def anchor_force(e, clock, x, u, nodes, place, stiffness, damping, out):
    """f = k (place - x) - c u: linear, so it is smooth at zero length."""
    i = nodes[e, 0]
    store_corners(out, e, (sub3(mul3(sub3(ld3(place, e), ld3(x, i)), stiffness[e]), mul3(ld3(u, i), damping[e])),))


@device
def anchor_force_adjoint(
    e, clock, x, u, nodes, place, stiffness, damping, adj_f, adj_x, adj_u, adj_place, adj_stiffness, adj_damping
):
    """Transpose of anchor_force.

    With a = adj_f: adj_place = k a = -adj_x, adj_u = -c a, adj_k = a.(place - x), adj_c = -a.u.
    """
    i = nodes[e, 0]
    a = ld3(adj_f, i)
    pull = mul3(a, stiffness[e])
    add_to3(adj_place, e, pull)
    adj_stiffness[e] += dot3(a, sub3(ld3(place, e), ld3(x, i)))
    adj_damping[e] -= dot3(a, ld3(u, i))
    store_corners(adj_x, e, (mul3(a, -stiffness[e]),))
    store_corners(adj_u, e, (mul3(a, -damping[e]),))
