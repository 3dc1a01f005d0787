"""Bending across interior edges, as elements of four corners: the two of the edge, then those opposite it.

The force on corner i is -(k (phi - phi0 + activation) + c dphi/dt) dphi/dxi, phi the dihedral angle, which comes from
the energy k/2 (phi - phi0 + activation)^2. Hinges without damping, c = 0, have functions of their own: they need no
velocities, which is a third of what there is to load.
"""

from diffloom_kernels import add3, device, fma, fma3, ld3, mul3, neg3, store_corners, sub3
from diffloom_physics_cloth.dihedral_kernels import curvature, hinge, slope, slope_adjoint


@device
def relative(v, nodes, k):
    """v at corners 1, 2, 3 of hinge k relative to corner 0."""
    v0 = ld3(v, nodes[k, 0])
    return sub3(ld3(v, nodes[k, 1]), v0), sub3(ld3(v, nodes[k, 2]), v0), sub3(ld3(v, nodes[k, 3]), v0)


@device
def store(out, k, f1, f2, f3):
    """Vectors at corners 1, 2, 3, and the opposite of their sum at corner 0."""
    store_corners(out, k, (neg3(add3(f1, add3(f2, f3))), f1, f2, f3))


@device
def hinge_force(k, clock, x, u, nodes, stiffness, damping, rest_angle, activation, out):
    """Bending forces of hinge k on its four corners."""
    row = clock.row if activation.shape[0] > 1 else 0
    e, a, b = relative(x, nodes, k)
    u1, u2, u3 = relative(u, nodes, k)
    phi, h, _ = hinge(e, a, b)
    bend = phi - rest_angle[k] + activation[row, k]
    moment = fma(stiffness[k], bend, damping[k] * slope(h, u1, u2, u3))
    f1, f2, f3 = slope_adjoint(h, -moment)
    store(out, k, f1, f2, f3)


@device
def hinge_force_adjoint(
    k, clock, x, u, nodes, stiffness, damping, rest_angle, activation,
    adj_f, adj_x, adj_u, adj_stiffness, adj_damping, adj_rest_angle, adj_activation,
):
    """With y the cotangent of the forces and M the moment: adj_M = -y.dphi/dx, adj_phi = k adj_M, adj_rate = c adj_M,
    and adj_x = adj_phi dphi/dx + (second derivative of phi) z, where z = -M y + adj_rate u."""
    row = clock.row if activation.shape[0] > 1 else 0
    e, a, b = relative(x, nodes, k)
    u1, u2, u3 = relative(u, nodes, k)
    y1, y2, y3 = relative(adj_f, nodes, k)
    phi, h, inverses = hinge(e, a, b)
    rate = slope(h, u1, u2, u3)
    bend = phi - rest_angle[k] + activation[row, k]
    moment = fma(stiffness[k], bend, damping[k] * rate)
    adj_M = -slope(h, y1, y2, y3)
    adj_phi = stiffness[k] * adj_M
    adj_rate = damping[k] * adj_M

    z1 = fma3(u1, adj_rate, mul3(y1, -moment))
    z2 = fma3(u2, adj_rate, mul3(y2, -moment))
    z3 = fma3(u3, adj_rate, mul3(y3, -moment))
    c1, c2, c3 = curvature(e, a, b, h, inverses, z1, z2, z3)
    s1, s2, s3 = slope_adjoint(h, adj_phi)
    v1, v2, v3 = slope_adjoint(h, adj_rate)
    store(adj_x, k, add3(c1, s1), add3(c2, s2), add3(c3, s3))
    store(adj_u, k, v1, v2, v3)
    adj_stiffness[k] += adj_M * bend
    adj_damping[k] += adj_M * rate
    adj_rest_angle[k] -= adj_phi
    adj_activation[row, k] += adj_phi


@device
def undamped_hinge_force(k, clock, x, u, nodes, stiffness, rest_angle, activation, out):
    """hinge_force with no damping."""
    row = clock.row if activation.shape[0] > 1 else 0
    e, a, b = relative(x, nodes, k)
    phi, h, _ = hinge(e, a, b)
    moment = stiffness[k] * (phi - rest_angle[k] + activation[row, k])
    f1, f2, f3 = slope_adjoint(h, -moment)
    store(out, k, f1, f2, f3)


@device
def undamped_hinge_force_adjoint(
    k, clock, x, u, nodes, stiffness, rest_angle, activation,
    adj_f, adj_x, adj_u, adj_stiffness, adj_rest_angle, adj_activation,
):
    """Transpose of undamped_hinge_force. Slots of adj_u are zero from the start and stay so."""
    row = clock.row if activation.shape[0] > 1 else 0
    e, a, b = relative(x, nodes, k)
    y1, y2, y3 = relative(adj_f, nodes, k)
    phi, h, inverses = hinge(e, a, b)
    bend = phi - rest_angle[k] + activation[row, k]
    moment = stiffness[k] * bend
    adj_M = -slope(h, y1, y2, y3)
    adj_phi = stiffness[k] * adj_M
    c1, c2, c3 = curvature(e, a, b, h, inverses, mul3(y1, moment), mul3(y2, moment), mul3(y3, moment))
    s1, s2, s3 = slope_adjoint(h, adj_phi)
    store(adj_x, k, sub3(s1, c1), sub3(s2, c2), sub3(s3, c3))
    adj_stiffness[k] += adj_M * bend
    adj_rest_angle[k] -= adj_phi
    adj_activation[row, k] += adj_phi
