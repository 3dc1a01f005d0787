"""Squared distance of pixels from a triangle they lie outside of.

    d^2 = min over the three sides of |a + t (b - a) - p|^2 with t in [0, 1].

The nearest point is optimal or clamped, so t is a constant to the derivative:
    d d^2 / d a = 2 (1 - t) (nearest - p),    d d^2 / d b = 2 t (nearest - p).
"""

from __future__ import annotations

from diffloom.kernels import clamp, device, where

from .triangles import LENGTH


@device
def side_distance(x, y, n, a, b, k, sides):
    """Squared distance from side ab of triangle n, from the pixel to the nearest point (rx, ry), and t."""
    R = sides.dtype.type
    ax, ay = sides[n, 2 * a], sides[n, 2 * a + 1]
    dx, dy = sides[n, 2 * b] - ax, sides[n, 2 * b + 1] - ay
    px, py = x - ax, y - ay
    t = clamp((px * dx + py * dy) * sides[n, LENGTH + k], R(0.0), R(1.0))
    rx, ry = t * dx - px, t * dy - py
    return rx * rx + ry * ry, rx, ry, t


@device
def triangle_distance(x, y, n, sides):
    """Squared distance from the nearest side of triangle n."""
    d0, rx, ry, t = side_distance(x, y, n, 0, 1, 0, sides)
    d1, rx, ry, t = side_distance(x, y, n, 1, 2, 1, sides)
    d2, rx, ry, t = side_distance(x, y, n, 2, 0, 2, sides)
    d0 = where(d1 < d0, d1, d0)
    return where(d2 < d0, d2, d0)


@device
def triangle_distance_adjoint(x, y, n, sides):
    """d^2, and half its derivative by the corners (6); ties go to the first side, as in triangle_distance."""
    R = sides.dtype.type
    zero, one = R(0.0), R(1.0)
    d0, rx0, ry0, t0 = side_distance(x, y, n, 0, 1, 0, sides)
    d1, rx1, ry1, t1 = side_distance(x, y, n, 1, 2, 1, sides)
    d2, rx2, ry2, t2 = side_distance(x, y, n, 2, 0, 2, sides)
    second = d1 < d0
    d = where(second, d1, d0)
    third = d2 < d
    d = where(third, d2, d)
    rx = where(third, rx2, where(second, rx1, rx0))
    ry = where(third, ry2, where(second, ry1, ry0))
    # weights of the corners in the nearest point
    u0 = where(third, t2, where(second, zero, one - t0))
    u1 = where(third, zero, where(second, one - t1, t0))
    u2 = where(third, one - t2, where(second, t1, zero))
    return d, (u0 * rx, u0 * ry, u1 * rx, u1 * ry, u2 * rx, u2 * ry)
