"""Squared distance of pixels from a triangle they lie outside of.

    d^2 = min over the three sides of |a + t (b - a) - p|^2 with t in [0, 1].

The nearest point is optimal or clamped, so t is a constant to the derivative:
    d d^2 / d a = 2 (1 - t) (nearest - p),    d d^2 / d b = 2 t (nearest - p).

Pixels come as columns x, whose part of the work (``sides_of``) is done once, and then row by row.
"""

from __future__ import annotations

from diffloom_kernels import clamp, constant, device, where

from .triangle_kernels import LENGTH


@device
def side_of(x, n, a, b, k, sides):
    """Side ab of triangle n to the columns x: x - ax, ay, the direction, and t = (along at ay) + (rise) (y - ay)."""
    ax, ay = sides[n, 2 * a], sides[n, 2 * a + 1]
    dx, dy = sides[n, 2 * b] - ax, sides[n, 2 * b + 1] - ay
    inverse, px = sides[n, LENGTH + k], x - ax
    return px, ay, dx, dy, px * (dx * inverse), dy * inverse


@device
def sides_of(x, n, sides):
    """The three sides of triangle n to the columns x."""
    return side_of(x, n, 0, 1, 0, sides), side_of(x, n, 1, 2, 1, sides), side_of(x, n, 2, 0, 2, sides)


@device
def side_distance(y, side):
    """Squared distance in row y, from the pixel to the nearest point (rx, ry), and t."""
    px, ay, dx, dy, along, rise = side
    py = y - ay
    t = clamp(along + rise * py, constant(ay, 0), constant(ay, 1))
    rx, ry = t * dx - px, t * dy - py
    return rx * rx + ry * ry, rx, ry, t


@device
def triangle_distance(y, three):
    """Squared distance in row y from the nearest of a triangle's sides."""
    d0, rx, ry, t = side_distance(y, three[0])
    d1, rx, ry, t = side_distance(y, three[1])
    d2, rx, ry, t = side_distance(y, three[2])
    d0 = where(d1 < d0, d1, d0)
    return where(d2 < d0, d2, d0)


@device
def triangle_distance_adjoint(y, three):
    """d^2, and half its derivative by the corners (6); ties go to the first side, as in triangle_distance."""
    zero, one = constant(y, 0), constant(y, 1)
    d0, rx0, ry0, t0 = side_distance(y, three[0])
    d1, rx1, ry1, t1 = side_distance(y, three[1])
    d2, rx2, ry2, t2 = side_distance(y, three[2])
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
