"""Quaternions (w, x, y, z) as tuples of four.

Functions that rotate take unit quaternions and do not normalise.
"""

from __future__ import annotations

from ..functions import sqrt
from ..language import device


@device
def quat_add(p, q):
    """p + q."""
    return (p[0] + q[0], p[1] + q[1], p[2] + q[2], p[3] + q[3])


@device
def quat_scale(q, s):
    """q s, with s a scalar."""
    return (q[0] * s, q[1] * s, q[2] * s, q[3] * s)


@device
def quat_dot(p, q):
    """p . q as 4-vectors."""
    return p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]


@device
def quat_mul(p, q):
    """Hamilton product p q."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@device
def quat_conj(q):
    """Conjugate, the inverse of a unit quaternion."""
    return (q[0], -q[1], -q[2], -q[3])


@device
def quat_normalize(q):
    """q / |q|."""
    n = sqrt(quat_dot(q, q))
    return (q[0] / n, q[1] / n, q[2] / n, q[3] / n)


@device
def quat_normalize_adjoint(q, adj):
    """Cotangent of q for y = q / |q|: (adj - y (y . adj)) / |q|."""
    n = sqrt(quat_dot(q, q))
    y = (q[0] / n, q[1] / n, q[2] / n, q[3] / n)
    s = quat_dot(y, adj)
    return ((adj[0] - y[0] * s) / n, (adj[1] - y[1] * s) / n, (adj[2] - y[2] * s) / n, (adj[3] - y[3] * s) / n)


@device
def quat_mul_adjoint(p, q, adj):
    """Cotangents of p and q for p q: (adj q*, p* adj)."""
    return quat_mul(adj, quat_conj(q)), quat_mul(quat_conj(p), adj)


@device
def quat_from_vec3(v):
    """(0, v), the pure quaternion of a vec3."""
    return (v[0] - v[0], v[0], v[1], v[2])


@device
def quat_vec3(q):
    """Vector part of q."""
    return (q[1], q[2], q[3])


@device
def quat_rotate(q, v):
    """R(q) v: rotate v by the unit quaternion q."""
    w, x, y, z = q
    tx = y * v[2] - z * v[1]
    ty = z * v[0] - x * v[2]
    tz = x * v[1] - y * v[0]
    tx, ty, tz = tx + tx, ty + ty, tz + tz
    return (
        v[0] + w * tx + (y * tz - z * ty),
        v[1] + w * ty + (z * tx - x * tz),
        v[2] + w * tz + (x * ty - y * tx),
    )


@device
def quat_rotate_inverse(q, v):
    """R(q)^T v: rotate v by the inverse of the unit quaternion q."""
    return quat_rotate(quat_conj(q), v)


@device
def quat_rotate_adjoint(q, v, adj):
    """Cotangents of q and v for quat_rotate(q, v) = v + 2 w (u x v) + 2 u x (u x v), with u the vector part."""
    w, x, y, z = q
    cx, cy, cz = y * v[2] - z * v[1], z * v[0] - x * v[2], x * v[1] - y * v[0]
    ux, uy, uz = x + x, y + y, z + z
    adj_w = adj[0] * cx + adj[1] * cy + adj[2] * cz
    adj_w = adj_w + adj_w
    # t = 2 u x v enters as w t + u x t, so adj_t = w adj + adj x u and adj_u = t x adj + 2 v x adj_t.
    tx, ty, tz = w * adj[0] + (adj[1] * z - adj[2] * y), w * adj[1] + (adj[2] * x - adj[0] * z), w * adj[2] + (
        adj[0] * y - adj[1] * x
    )
    ax = (cy * adj[2] - cz * adj[1]) + (v[1] * tz - v[2] * ty)
    ay = (cz * adj[0] - cx * adj[2]) + (v[2] * tx - v[0] * tz)
    az = (cx * adj[1] - cy * adj[0]) + (v[0] * ty - v[1] * tx)
    adj_v = (adj[0] + (ty * uz - tz * uy), adj[1] + (tz * ux - tx * uz), adj[2] + (tx * uy - ty * ux))
    return (adj_w, ax + ax, ay + ay, az + az), adj_v


@device
def quat_matrix(q):
    """R(q), the rotation matrix of the unit quaternion q, as nine scalars row by row."""
    w, x, y, z = q
    x2, y2, z2 = x + x, y + y, z + z
    # 1 - 2(y^2 + z^2) is written w^2 + x^2 - y^2 - z^2: equal for unit q, and free of a literal.
    ww, xx, yy, zz = w * w, x * x, y * y, z * z
    return (
        ww + xx - yy - zz, x2 * y - z2 * w, x2 * z + y2 * w,
        x2 * y + z2 * w, ww - xx + yy - zz, y2 * z - x2 * w,
        x2 * z - y2 * w, y2 * z + x2 * w, ww - xx - yy + zz,
    )  # fmt: skip


@device
def quat_matrix_adjoint(r, A):
    """Cotangent of the quaternion r for A, the cotangent (nine scalars) of quat_matrix(r)."""
    w, x, y, z = r
    trace = A[0] + A[4] + A[8]
    xy, xz, yz = A[1] + A[3], A[2] + A[6], A[5] + A[7]
    wx, wy, wz = A[7] - A[5], A[2] - A[6], A[3] - A[1]
    a = w * trace + x * wx + y * wy + z * wz
    b = x * (A[0] + A[0] - trace) + y * xy + z * xz + w * wx
    c = y * (A[4] + A[4] - trace) + x * xy + z * yz + w * wy
    d = z * (A[8] + A[8] - trace) + x * xz + y * yz + w * wz
    return (a + a, b + b, c + c, d + d)
