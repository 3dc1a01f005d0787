"""Interpolation weights as Kaolin defines them: affine on the image, with a guard added to the area.

Corners (x_i, y_i) lie on an image plane that spans [-1, 1] on both axes, x right and y up; forward they are scaled by
``multiplier``, and backward not, which decides how much the guard ``eps`` weighs (records.Guard).
"""

from __future__ import annotations

from diffloom_kernels import constant, device, where


@device
def _guarded(area, eps):
    return area + where(area < constant(area, 0), -eps, eps)


@device
def affine_weights(px, py, corner, guard):
    """w (3) = E_i / (E_0 + E_1 + E_2 +- eps) in scaled coordinates."""
    multiplier = guard.multiplier
    x, y = px * multiplier, py * multiplier
    ax, ay = corner[0] * multiplier - x, corner[1] * multiplier - y
    bx, by = corner[2] * multiplier - x, corner[3] * multiplier - y
    cx, cy = corner[4] * multiplier - x, corner[5] * multiplier - y
    e0 = bx * cy - by * cx
    e1 = cx * ay - cy * ax
    e2 = ax * by - ay * bx
    n = _guarded(e0 + e1 + e2, guard.eps)
    return (e0 / n, e1 / n, e2 / n)


@device
def affine_weights_adjoint(corner, w, eps, adj_w):
    """adj_corner (6) from adj_w (3), the pixel being sum w_i v_i.

    grad w_b = (e2_y, -e2_x) / det, grad w_c = (-e1_y, e1_x) / det, grad w_a = -(grad w_b + grad w_c) with e1 = b - a,
    e2 = c - a; the pixel stays where it is, hence d w_k / d v_i = -w_i grad w_k. The weights w_i of that product are
    found anew from the point, guard and all.
    """
    one = constant(adj_w[0], 1)
    e1x, e1y = corner[2] - corner[0], corner[3] - corner[1]
    e2x, e2y = corner[4] - corner[0], corner[5] - corner[1]
    s = w[0] * corner[0] + w[1] * corner[2] + w[2] * corner[4] - corner[0]
    t = w[0] * corner[1] + w[1] * corner[3] + w[2] * corner[5] - corner[1]
    det = _guarded(e1x * e2y - e1y * e2x, eps)
    wb = (s * e2y - t * e2x) / det
    wc = (e1x * t - e1y * s) / det
    wa = one - wb - wc
    db, dc = adj_w[1] - adj_w[0], adj_w[2] - adj_w[0]
    gx = (db * e2y - dc * e1y) / det
    gy = (dc * e1x - db * e2x) / det
    return (-wa * gx, -wa * gy, -wb * gx, -wb * gy, -wc * gx, -wc * gy)
