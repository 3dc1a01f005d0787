"""Constant-strain tetrahedron of stable neo-Hookean material (Smith et al. 2018) with activation and objective damping.

Formulas in edge vectors take fewer operations than those in the deformation gradient, with equal results. With Ds = [d1
d2 d3] the edges from corner 0, Ds' their rates, B the inverse of Ds at rest, V the volume at rest:

    F = Ds B,   I_C = tr F^T F,   J = det F,   energy density  Psi = mu/2 (I_C - 3) + lam/2 (J - alpha)^2
    - mu/2 log(I_C + 1)   with   alpha = 1 + 3/4 mu/lam + a
    P = dPsi/dF + F S,   S = k (F^T F' + F'^T F)/2      the damping stress: k times the rate of Green's strain

and forces -V P B^T on corners 1 to 3. S is symmetric and made of F^T F', so damping exerts no torque, is zero for
translations and rotations, and its power -V S:(F^T F' + F'^T F)/2 is never positive. Of its rest shape, the element
needs only the *metric* K = V B B^T (symmetric: 00 01 02 11 12 22, in m) and w = 1/det Ds = 1/(6 V) (1/m^3):

    T = Ds K,   M = (Ds^T Ds' + Ds'^T Ds)/2,   C = cof Ds = [d2 x d3, d3 x d1, d1 x d2]
    I_C = 6 w Ds:T,   J = w det Ds,   c = mu (1 - 1/(I_C + 1)),   l = (lam (J - 1 - a) - 3/4 mu)/6
    H = T (c I + 6 k w M K) + l C,   forces -H on corners 1 to 3 and the sum of its columns on corner 0.
"""

from diffloom_kernels import add3, cross3, device, dot3, dot33, fma, fma3, ld3, mul3, neg3, store_corners, sub3


@device
def combine(a0, a1, a2, s0, s1, s2):
    """a0 s0 + a1 s1 + a2 s2."""
    return fma3(a2, s2, fma3(a1, s1, mul3(a0, s0)))


@device
def combine_onto(total, a0, a1, a2, s0, s1, s2):
    """total + a0 s0 + a1 s1 + a2 s2."""
    return fma3(a2, s2, fma3(a1, s1, fma3(a0, s0, total)))


@device
def dot_onto(total, a, b):
    """total + a . b."""
    return fma(a[2], b[2], fma(a[1], b[1], fma(a[0], b[0], total)))


@device
def ld_metric(metric, e):
    """Return the six entries of K of element e."""
    return metric[e, 0], metric[e, 1], metric[e, 2], metric[e, 3], metric[e, 4], metric[e, 5]


@device
def strain_rate(d1, d2, d3, r1, r2, r3, half):
    """Return the six entries of M = (Ds^T Ds' + Ds'^T Ds)/2."""
    return (
        dot3(d1, r1), half * dot_onto(dot3(d1, r2), d2, r1), half * dot_onto(dot3(d1, r3), d3, r1),
        dot3(d2, r2), half * dot_onto(dot3(d2, r3), d3, r2), dot3(d3, r3),
    )


@device
def symmetric(K):
    """Return the rows of a symmetric matrix of six entries."""
    return (K[0], K[1], K[2]), (K[1], K[3], K[4]), (K[2], K[4], K[5])


@device
def mul_sym(M, K):
    """Return M K of two symmetric matrices of six entries: nine entries, row by row."""
    m0, m1, m2 = symmetric(M)
    k0, k1, k2 = symmetric(K)
    return (
        dot3(m0, k0), dot3(m0, k1), dot3(m0, k2),
        dot3(m1, k0), dot3(m1, k1), dot3(m1, k2),
        dot3(m2, k0), dot3(m2, k1), dot3(m2, k2),
    )


@device
def edges(q, u, nodes, e):
    """Return the three edge vectors of element e from its corner 0, in q and in u.

    Nodes are read one by one, so that few addresses are live at a time.
    """
    n0 = nodes[e, 0]
    x0 = ld3(q, n0)
    v0 = ld3(u, n0)
    n1 = nodes[e, 1]
    d1 = sub3(ld3(q, n1), x0)
    r1 = sub3(ld3(u, n1), v0)
    n2 = nodes[e, 2]
    d2 = sub3(ld3(q, n2), x0)
    r2 = sub3(ld3(u, n2), v0)
    n3 = nodes[e, 3]
    d3 = sub3(ld3(q, n3), x0)
    r3 = sub3(ld3(u, n3), v0)
    return d1, d2, d3, r1, r2, r3


@device
def tet_force(e, clock, q, u, nodes, metric, inv_det, mu, lam, damping, activation, out):
    """Store the forces of element e on its four corners in its slots."""
    R = q.dtype.type
    one = R(1)
    row = clock.row if activation.shape[0] > 1 else 0
    d1, d2, d3, r1, r2, r3 = edges(q, u, nodes, e)
    M = strain_rate(d1, d2, d3, r1, r2, r3, R(0.5))
    K = ld_metric(metric, e)
    w6 = R(6) * inv_det[e]
    t1 = combine(d1, d2, d3, K[0], K[1], K[2])
    t2 = combine(d1, d2, d3, K[1], K[3], K[4])
    t3 = combine(d1, d2, d3, K[2], K[4], K[5])
    c1 = cross3(d2, d3)
    c2 = cross3(d3, d1)
    c3 = cross3(d1, d2)
    I_C = w6 * (dot3(d1, t1) + dot3(d2, t2) + dot3(d3, t3))
    J = inv_det[e] * dot3(d1, c1)
    c = mu[e] * (one - one / (I_C + one))
    l = (lam[e] * (J - one - activation[row, e]) - R(0.75) * mu[e]) * R(1.0 / 6.0)
    N = mul_sym(M, K)
    k = damping[e] * w6
    h1 = fma3(c1, l, combine(t1, t2, t3, fma(k, N[0], c), k * N[3], k * N[6]))
    h2 = fma3(c2, l, combine(t1, t2, t3, k * N[1], fma(k, N[4], c), k * N[7]))
    h3 = fma3(c3, l, combine(t1, t2, t3, k * N[2], k * N[5], fma(k, N[8], c)))
    store_corners(out, e, (add3(add3(h1, h2), h3), neg3(h1), neg3(h2), neg3(h3)))


@device
def cross_difference(a, b, c, d):
    """a x b - c x d."""
    return (
        fma(c[2], d[1], fma(-c[1], d[2], fma(a[1], b[2], -(a[2] * b[1])))),
        fma(c[0], d[2], fma(-c[2], d[0], fma(a[2], b[0], -(a[0] * b[2])))),
        fma(c[1], d[0], fma(-c[0], d[1], fma(a[0], b[1], -(a[1] * b[0])))),
    )


@device
def rate_adjoint(A, K, k, kh):
    """Return X = sym(k A K), the cotangent of M: six entries. A is the cotangent of Q, kh half of k."""
    a0, a1, a2 = (A[0], A[1], A[2]), (A[3], A[4], A[5]), (A[6], A[7], A[8])
    k0, k1, k2 = symmetric(K)
    return (
        k * dot3(a0, k0), kh * dot_onto(dot3(a0, k1), a1, k0), kh * dot_onto(dot3(a0, k2), a2, k0),
        k * dot3(a1, k1), kh * dot_onto(dot3(a1, k2), a2, k1), k * dot3(a2, k2),
    )


@device
def metric_adjoint(d1, d2, d3, b1, b2, b3, i6, M, A, k):
    """Return the cotangent of K, six entries: Ds^T adj_T + k M A, off-diagonal entries with those of their mirror
    images.

    b1, b2, b3 are the columns of G Q^T, which is adj_T without 6 w adj_I Ds.
    """
    b1 = fma3(d1, i6, b1)
    b2 = fma3(d2, i6, b2)
    b3 = fma3(d3, i6, b3)
    m0, m1, m2 = symmetric(M)
    a0, a1, a2 = (A[0], A[3], A[6]), (A[1], A[4], A[7]), (A[2], A[5], A[8])
    return (
        fma(k, dot3(m0, a0), dot3(d1, b1)),
        fma(k, dot3(m0, a1) + dot3(m1, a0), dot3(d1, b2) + dot3(d2, b1)),
        fma(k, dot3(m0, a2) + dot3(m2, a0), dot3(d1, b3) + dot3(d3, b1)),
        fma(k, dot3(m1, a1), dot3(d2, b2)),
        fma(k, dot3(m1, a2) + dot3(m2, a1), dot3(d2, b3) + dot3(d3, b2)),
        fma(k, dot3(m2, a2), dot3(d3, b3)),
    )


@device
def tet_adjoint(e, clock, q, u, nodes, metric, inv_det, mu, lam, damping, activation, adj_f, adj_q, adj_u):
    """Store the cotangents of q and u in the slots; return those of K (six), w, mu, lam, damping and activation.

    With G the cotangent of H and Q = c I + 6 k w M K:

        adj_T = G Q^T + 6 w adj_I Ds,  adj_Q = T^T G,  adj_c = tr adj_Q,  adj_l = G:C,  adj_I = adj_c mu/(I_C + 1)^2,
        X = sym(6 k w adj_Q K) the cotangent of M,
        adj_Ds = adj_T K + 6 w adj_I T + Ds' X + adj_J w C + l (the transpose of cof at Ds, of G),  adj_Ds' = Ds X.
    """
    R = q.dtype.type
    one = R(1)
    half = R(0.5)
    sixth = R(1.0 / 6.0)
    row = clock.row if activation.shape[0] > 1 else 0
    d1, d2, d3, r1, r2, r3 = edges(q, u, nodes, e)
    K = ld_metric(metric, e)
    w = inv_det[e]
    w6 = R(6) * w
    t1 = combine(d1, d2, d3, K[0], K[1], K[2])
    t2 = combine(d1, d2, d3, K[1], K[3], K[4])
    t3 = combine(d1, d2, d3, K[2], K[4], K[5])
    c1 = cross3(d2, d3)
    c2 = cross3(d3, d1)
    c3 = cross3(d1, d2)
    stretch = dot3(d1, t1) + dot3(d2, t2) + dot3(d3, t3)
    det = dot3(d1, c1)
    inverse = one / (w6 * stretch + one)
    c = mu[e] * (one - inverse)
    growth = w * det - one - activation[row, e]
    l = (lam[e] * growth - R(0.75) * mu[e]) * sixth
    M = strain_rate(d1, d2, d3, r1, r2, r3, half)
    N = mul_sym(M, K)
    k = damping[e] * w6

    a0 = ld3(adj_f, nodes[e, 0])
    g1 = sub3(a0, ld3(adj_f, nodes[e, 1]))
    g2 = sub3(a0, ld3(adj_f, nodes[e, 2]))
    g3 = sub3(a0, ld3(adj_f, nodes[e, 3]))
    A = (
        dot3(t1, g1), dot3(t1, g2), dot3(t1, g3), dot3(t2, g1), dot3(t2, g2), dot3(t2, g3),
        dot3(t3, g1), dot3(t3, g2), dot3(t3, g3),
    )  # adj_Q
    adj_c = A[0] + A[4] + A[8]
    adj_k = dot33(A, N)
    adj_l = (dot3(g1, c1) + dot3(g2, c2) + dot3(g3, c3)) * sixth
    i6 = w6 * (adj_c * mu[e] * inverse * inverse)
    j = adj_l * lam[e] * w

    X = rate_adjoint(A, K, k, k * half)
    s1 = combine(d1, d2, d3, X[0], X[1], X[2])
    s2 = combine(d1, d2, d3, X[1], X[3], X[4])
    s3 = combine(d1, d2, d3, X[2], X[4], X[5])
    store_corners(adj_u, e, (neg3(add3(add3(s1, s2), s3)), s1, s2, s3))
    # G Q^T; the rest of adj_T, 6 w adj_I Ds, times K is 6 w adj_I T once more
    b1 = combine(g1, g2, g3, fma(k, N[0], c), k * N[1], k * N[2])
    b2 = combine(g1, g2, g3, k * N[3], fma(k, N[4], c), k * N[5])
    b3 = combine(g1, g2, g3, k * N[6], k * N[7], fma(k, N[8], c))
    i12 = i6 + i6
    p1 = fma3(t1, i12, fma3(c1, j, mul3(cross_difference(d2, g3, d3, g2), l)))
    p2 = fma3(t2, i12, fma3(c2, j, mul3(cross_difference(d3, g1, d1, g3), l)))
    p3 = fma3(t3, i12, fma3(c3, j, mul3(cross_difference(d1, g2, d2, g1), l)))
    p1 = combine_onto(combine_onto(p1, r1, r2, r3, X[0], X[1], X[2]), b1, b2, b3, K[0], K[1], K[2])
    p2 = combine_onto(combine_onto(p2, r1, r2, r3, X[1], X[3], X[4]), b1, b2, b3, K[1], K[3], K[4])
    p3 = combine_onto(combine_onto(p3, r1, r2, r3, X[2], X[4], X[5]), b1, b2, b3, K[2], K[4], K[5])
    store_corners(adj_q, e, (neg3(add3(add3(p1, p2), p3)), p1, p2, p3))

    adj_K = metric_adjoint(d1, d2, d3, b1, b2, b3, i6, M, A, k)
    adj_w = R(6) * (adj_c * mu[e] * inverse * inverse * stretch + adj_k * damping[e]) + adj_l * lam[e] * det
    adj_mu = adj_c * (one - inverse) - R(0.75) * adj_l
    return adj_K, adj_w, adj_mu, adj_l * growth, adj_k * w6, -(adj_l * lam[e])


@device
def tet_force_adjoint(
    e, clock, q, u, nodes, metric, inv_det, mu, lam, damping, activation,
    adj_f, adj_q, adj_u, adj_mu, adj_lam, adj_damping, adj_activation,
):
    """Transpose of tet_force for a rest shape that is not fitted, without the cotangents of the rest shape."""
    row = clock.row if activation.shape[0] > 1 else 0
    _, _, a_mu, a_lam, a_damping, a_activation = tet_adjoint(
        e, clock, q, u, nodes, metric, inv_det, mu, lam, damping, activation, adj_f, adj_q, adj_u
    )
    adj_mu[e] += a_mu
    adj_lam[e] += a_lam
    adj_damping[e] += a_damping
    adj_activation[row, e] += a_activation


@device
def tet_force_adjoint_rest(
    e, clock, q, u, nodes, metric, inv_det, mu, lam, damping, activation,
    adj_f, adj_q, adj_u, adj_metric, adj_inv_det, adj_mu, adj_lam, adj_damping, adj_activation,
):
    """Transpose of tet_force, with the cotangents of the rest shape."""
    row = clock.row if activation.shape[0] > 1 else 0
    a_K, a_w, a_mu, a_lam, a_damping, a_activation = tet_adjoint(
        e, clock, q, u, nodes, metric, inv_det, mu, lam, damping, activation, adj_f, adj_q, adj_u
    )
    adj_metric[e, 0] += a_K[0]
    adj_metric[e, 1] += a_K[1]
    adj_metric[e, 2] += a_K[2]
    adj_metric[e, 3] += a_K[3]
    adj_metric[e, 4] += a_K[4]
    adj_metric[e, 5] += a_K[5]
    adj_inv_det[e] += a_w
    adj_mu[e] += a_mu
    adj_lam[e] += a_lam
    adj_damping[e] += a_damping
    adj_activation[row, e] += a_activation
