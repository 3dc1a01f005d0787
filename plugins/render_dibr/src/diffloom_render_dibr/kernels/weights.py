"""Perspective-correct interpolation weights of a pixel inside a triangle.

A triangle has corners (x_i, y_i) on the image [px] and depths z_i > 0 [m]. With E_i = (v_j - p) x (v_k - p), twice the
area of the triangle that p makes with the edge opposite corner i, the weights are

    t_i = E_i / z_i,    q_i = t_i / (t_0 + t_1 + t_2),    depth = sum q_i z_i.

No area is divided by, so slivers give large numbers only where the surface really turns away.
"""

from __future__ import annotations

from diffloom.kernels import constant, device


@device
def perspective_weights(px, py, corner, depth):
    """q (3) of pixel (px, py). corner: (x0, y0, x1, y1, x2, y2); depth: (z0, z1, z2)."""
    one = constant(px, 1)
    ax, ay = corner[0] - px, corner[1] - py
    bx, by = corner[2] - px, corner[3] - py
    cx, cy = corner[4] - px, corner[5] - py
    t0 = (bx * cy - by * cx) * (depth[1] * depth[2])
    t1 = (cx * ay - cy * ax) * (depth[2] * depth[0])
    t2 = (ax * by - ay * bx) * (depth[0] * depth[1])
    s = one / (t0 + t1 + t2)
    return (t0 * s, t1 * s, t2 * s)


@device
def perspective_weights_adjoint(px, py, corner, depth, adj_q):
    """adj_corner (6), adj_depth (3) from adj_q (3); the pixel does not move.

    With d q_i = (d t_i - q_i sum_k d t_k) / S:  adj_t_i = (adj_q_i - sum_k adj_q_k q_k) / S,
    adj_E_i = adj_t_i / z_i,  adj_z_i = -adj_t_i E_i / z_i^2,  and each E_i passes to its two corners.
    """
    one = constant(px, 1)
    ax, ay = corner[0] - px, corner[1] - py
    bx, by = corner[2] - px, corner[3] - py
    cx, cy = corner[4] - px, corner[5] - py
    r0, r1, r2 = one / depth[0], one / depth[1], one / depth[2]
    t0 = (bx * cy - by * cx) * r0
    t1 = (cx * ay - cy * ax) * r1
    t2 = (ax * by - ay * bx) * r2
    s = one / (t0 + t1 + t2)
    mean = (adj_q[0] * t0 + adj_q[1] * t1 + adj_q[2] * t2) * s
    adj_t0 = (adj_q[0] - mean) * s
    adj_t1 = (adj_q[1] - mean) * s
    adj_t2 = (adj_q[2] - mean) * s
    adj_depth = (-adj_t0 * t0 * r0, -adj_t1 * t1 * r1, -adj_t2 * t2 * r2)
    g0, g1, g2 = adj_t0 * r0, adj_t1 * r1, adj_t2 * r2
    adj_corner = (
        g2 * by - g1 * cy, g1 * cx - g2 * bx,
        g0 * cy - g2 * ay, g2 * ax - g0 * cx,
        g1 * ay - g0 * by, g0 * bx - g1 * ax,
    )
    return adj_corner, adj_depth
