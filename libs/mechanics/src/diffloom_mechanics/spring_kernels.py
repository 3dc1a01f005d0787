"""Damped springs between two nodes."""

from diffloom_kernels import add3, device, dot3, fma3, ld3, mul3, neg3, sqrt, store_corners, sub3, where


@device
def spring_force(e, clock, q, u, nodes, stiffness, damping, rest_length, out):
    """f = (k (L - L0) + c n.(u1 - u0)) n on node 0 and its opposite on node 1; n is the unit vector from 0 to 1."""
    R = q.dtype.type
    i = nodes[e, 0]
    j = nodes[e, 1]
    d = sub3(ld3(q, j), ld3(q, i))
    s = sub3(ld3(u, j), ld3(u, i))
    length = sqrt(dot3(d, d))
    n = mul3(d, R(1) / where(length > R(0), length, R(1)))
    f = mul3(n, stiffness[e] * (length - rest_length[e]) + damping[e] * dot3(n, s))
    store_corners(out, e, (f, neg3(f)))


@device
def spring_force_adjoint(
    e, clock, q, u, nodes, stiffness, damping, rest_length,
    adj_f, adj_q, adj_u, adj_stiffness, adj_damping, adj_rest_length,
):
    """With a = adj_f0 - adj_f1 and T the tension: adj_T = n.a; adj_n = T a + c adj_T s; adj_d = (adj_n + n
    (k adj_T L - n.adj_n)) / L; adj_s = c adj_T n. Node 1 takes +adj_d, node 0 its opposite."""
    R = q.dtype.type
    i = nodes[e, 0]
    j = nodes[e, 1]
    d = sub3(ld3(q, j), ld3(q, i))
    s = sub3(ld3(u, j), ld3(u, i))
    length = sqrt(dot3(d, d))
    inverse = R(1) / where(length > R(0), length, R(1))
    n = mul3(d, inverse)
    rate = dot3(n, s)
    k = stiffness[e]
    c = damping[e]
    stretch = length - rest_length[e]
    tension = k * stretch + c * rate
    a = sub3(ld3(adj_f, i), ld3(adj_f, j))
    adj_tension = dot3(n, a)
    adj_n = add3(mul3(a, tension), mul3(s, c * adj_tension))
    adj_d = mul3(fma3(n, k * adj_tension * length - dot3(n, adj_n), adj_n), inverse)
    adj_s = mul3(n, c * adj_tension)
    store_corners(adj_q, e, (neg3(adj_d), adj_d))
    store_corners(adj_u, e, (neg3(adj_s), adj_s))
    adj_stiffness[e] += adj_tension * stretch
    adj_damping[e] += adj_tension * rate
    adj_rest_length[e] -= adj_tension * k
