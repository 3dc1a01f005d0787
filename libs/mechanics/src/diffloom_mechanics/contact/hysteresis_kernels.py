"""Hysteresis: pushing in takes more force than pushing out gives back, at any speed, and the adjoint.

f = k_e phi(d) (1 - c w) for the depth d = -gap, with phi as in toe_depth and the direction w = vn / sqrt(vn^2 + s^2),
which turns from -1 to 1 within the speed s. k[0] = k_e, k[1] = c, at most 1, k[2] = the toe, k[3] = s.
"""

from diffloom_kernels import constant, device, sqrt, where
from diffloom_mechanics.contact.normal_kernels import toe_depth, toe_pair, toe_pair_adjoint


@device
def hysteresis_force(clock, gap, vn, k):
    """The normal force [N]."""
    way = vn / sqrt(vn * vn + k[3] * k[3])
    return k[0] * toe_depth(gap, k[2]) * (constant(gap, 1) - k[1] * way)


@device
def hysteresis_adjoint(clock, gap, vn, k, adj_fn):
    """With r^2 = vn^2 + s^2: dw/dvn = s^2 / r^3, dw/ds = -vn s / r^3; dphi/dd and dphi/dt as in toe_adjoint."""
    one = constant(gap, 1)
    square = vn * vn + k[3] * k[3]
    root = sqrt(square)
    way = vn / root
    share = one - k[1] * way
    phi = toe_depth(gap, k[2])
    part = where(-gap < k[2], -gap / where(-gap < k[2], k[2], one), one)
    adj_phi = k[0] * share * adj_fn
    adj_share = k[0] * phi * adj_fn
    turn = k[1] * adj_share * k[3] / (square * root)
    adj_toe = -(constant(gap, 0.5) * part * part * adj_phi)
    return -(part * adj_phi), -(turn * k[3]), (phi * share * adj_fn, -(way * adj_share), adj_toe, turn * vn)


@device
def hysteresis_pair(k, m):
    """Springs in series, which share a depth as the inverses of their stiffnesses, and the mean of the speeds."""
    stiffness, c, toe = toe_pair((k[0], k[1], k[2]), (m[0], m[1], m[2]))
    return stiffness, c, toe, constant(k[0], 0.5) * (k[3] + m[3])


@device
def hysteresis_pair_adjoint(k, m, adj):
    """Half of the mean's cotangent."""
    adj_k, adj_c, adj_toe = toe_pair_adjoint((k[0], k[1], k[2]), (m[0], m[1], m[2]), (adj[0], adj[1], adj[2]))
    return adj_k, adj_c, adj_toe, constant(k[0], 0.5) * adj[3]
