"""Interpolation: perspective-correct weights of a pixel inside a triangle, and values mixed with them.

A triangle has corners (x_i, y_i) on the image [px] and depths z_i > 0 [m]. With E_i = (v_j - p) x (v_k - p), twice the
area of the triangle that p makes with the edge opposite corner i, the weights are

    t_i = E_i / z_i,    q_i = t_i / (t_0 + t_1 + t_2),    depth = sum q_i z_i.

No area is divided by, so slivers give large numbers only where the surface really turns away.
"""

from __future__ import annotations

from diffloom_kernels import constant, device, launch

from .triangle_kernels import corner_rows


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


@device
def mix_values(p, mesh, face_index, weights, values, mixed):
    """mixed[p]: the values of the corners at pixel p, weighted; 0 where nothing is shown."""
    n = face_index[p]
    if n < 0:
        for d in range(values.shape[1]):
            mixed[p, d] = mixed.dtype.type(0)
        return
    a, b, c = corner_rows(n, mesh.points, mesh.faces)
    for d in range(values.shape[1]):
        mixed[p, d] = weights[p, 0] * values[a, d] + weights[p, 1] * values[b, d] + weights[p, 2] * values[c, d]


@device
def mix_weights_adjoint(p, mesh, face_index, values, adj_mixed, adj_weights):
    """adj_weights[p]."""
    n = face_index[p]
    zero = adj_weights.dtype.type(0)
    g0, g1, g2 = zero, zero, zero
    if n >= 0:
        a, b, c = corner_rows(n, mesh.points, mesh.faces)
        for d in range(values.shape[1]):
            h = adj_mixed[p, d]
            g0, g1, g2 = g0 + h * values[a, d], g1 + h * values[b, d], g2 + h * values[c, d]
    adj_weights[p, 0], adj_weights[p, 1], adj_weights[p, 2] = g0, g1, g2


@device
def mix_values_adjoint(r, mesh, corners, pixels, weights, adj_mixed, adj_values):
    """adj_values[r]: sums over the pixels of all triangles around row r, in a fixed order."""
    for d in range(adj_values.shape[1]):
        adj_values[r, d] = adj_values.dtype.type(0)
    shift, v = r // mesh.points * mesh.faces.shape[0], r % mesh.points
    for k in range(corners.start[v], corners.start[v + 1]):
        n, c = shift + corners.corner[k] // 3, corners.corner[k] % 3
        for at in range(pixels.start[n], pixels.start[n + 1]):
            p = pixels.pixel[at]
            for d in range(adj_values.shape[1]):
                adj_values[r, d] += weights[p, c] * adj_mixed[p, d]


def interpolate_forward(mesh, face_index, weights, values, mixed):
    """Pipeline: values at pixels. face_index: (pixels,); weights: (pixels, 3); values: (points, n)."""
    launch(face_index.shape[0], mix_values, mesh, face_index, weights, values, mixed)


def interpolate_backward(mesh, corners, face_index, pixels, weights, values, adj_mixed, adj_weights, adj_values):
    """Pipeline: cotangents of weights and values."""
    launch(face_index.shape[0], mix_weights_adjoint, mesh, face_index, values, adj_mixed, adj_weights)
    launch(adj_values.shape[0], mix_values_adjoint, mesh, corners, pixels, weights, adj_mixed, adj_values)
