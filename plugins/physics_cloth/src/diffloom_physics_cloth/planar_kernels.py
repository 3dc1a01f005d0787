"""Triangles that stay in one plane, such as those of the planar walker.

As the faces of a shell, but with the plane's own normal m: J = m.(Fu x Fv) is then negative for a triangle turned
inside out, and the elastic force drives it back, where a shell could not tell its front from its back.
"""

from diffloom_kernels import add3, cross3, device, dot3, ld3, mul3, neg3, store_corners, sub3
from diffloom_physics_cloth.face_kernels import corners
from diffloom_physics_cloth.membrane_kernels import deformation, membrane_stress, membrane_stress_adjoint


@device
def planar_face_force(e, clock, x, u, nodes, normal, rest, mu, lam, damping, activation, out):
    """In-plane elasticity of triangle e. normal: of the plane; rest: (b0, b1, b2)."""
    i0, i1, i2 = corners(e, nodes)
    row = clock.row if activation.shape[0] > 1 else 0
    x0 = ld3(x, i0)
    u0 = ld3(u, i0)
    b0 = rest[e, 0]
    b1 = rest[e, 1]
    b2 = rest[e, 2]
    m = ld3(normal, e)
    Fu, Fv = deformation(sub3(ld3(x, i1), x0), sub3(ld3(x, i2), x0), b0, b1, b2)
    Ru, Rv = deformation(sub3(ld3(u, i1), u0), sub3(ld3(u, i2), u0), b0, b1, b2)
    J = dot3(m, cross3(Fu, Fv))
    Pu, Pv = membrane_stress(Fu, Fv, Ru, Rv, m, J, mu[e], lam[e], damping[e], activation[row, e])
    f1 = neg3(add3(mul3(Pu, b0), mul3(Pv, b1)))
    f2 = mul3(Pv, -b2)
    store_corners(out, e, (neg3(add3(f1, f2)), f1, f2))


@device
def planar_face_force_adjoint(
    e, clock, x, u, nodes, normal, rest, mu, lam, damping, activation,
    adj_f, adj_x, adj_u, adj_rest, adj_mu, adj_lam, adj_damping, adj_activation,
):
    """Transpose of planar_face_force; the plane is fixed, so its normal takes no cotangent."""
    i0, i1, i2 = corners(e, nodes)
    row = clock.row if activation.shape[0] > 1 else 0
    x0 = ld3(x, i0)
    u0 = ld3(u, i0)
    y0 = ld3(adj_f, i0)
    b0 = rest[e, 0]
    b1 = rest[e, 1]
    b2 = rest[e, 2]
    m = ld3(normal, e)
    d1 = sub3(ld3(x, i1), x0)
    d2 = sub3(ld3(x, i2), x0)
    w1 = sub3(ld3(u, i1), u0)
    w2 = sub3(ld3(u, i2), u0)
    y1 = sub3(ld3(adj_f, i1), y0)
    y2 = sub3(ld3(adj_f, i2), y0)
    Fu, Fv = deformation(d1, d2, b0, b1, b2)
    Ru, Rv = deformation(w1, w2, b0, b1, b2)
    J = dot3(m, cross3(Fu, Fv))
    Zu, Zv = deformation(y1, y2, -b0, -b1, -b2)
    a_Fu, a_Fv, a_Ru, a_Rv, a_mu, a_lam, a_damping, a_activation = membrane_stress_adjoint(
        Fu, Fv, Ru, Rv, m, J, mu[e], lam[e], damping[e], activation[row, e], Zu, Zv
    )
    Pu, Pv = membrane_stress(Fu, Fv, Ru, Rv, m, J, mu[e], lam[e], damping[e], activation[row, e])
    adj_rest[e, 0] += dot3(d1, a_Fu) + dot3(w1, a_Ru) - dot3(y1, Pu)
    adj_rest[e, 1] += dot3(d1, a_Fv) + dot3(w1, a_Rv) - dot3(y1, Pv)
    adj_rest[e, 2] += dot3(d2, a_Fv) + dot3(w2, a_Rv) - dot3(y2, Pv)
    adj_mu[e] += a_mu
    adj_lam[e] += a_lam
    adj_damping[e] += a_damping
    adj_activation[row, e] += a_activation
    a1 = add3(mul3(a_Fu, b0), mul3(a_Fv, b1))
    a2 = mul3(a_Fv, b2)
    v1 = add3(mul3(a_Ru, b0), mul3(a_Rv, b1))
    v2 = mul3(a_Rv, b2)
    store_corners(adj_x, e, (neg3(add3(a1, a2)), a1, a2))
    store_corners(adj_u, e, (neg3(add3(v1, v2)), v1, v2))
