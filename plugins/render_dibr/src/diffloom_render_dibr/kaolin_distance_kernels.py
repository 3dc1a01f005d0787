"""Squared distance of a pixel from a triangle as Kaolin defines it, in coordinates scaled by its multiplier.

Six candidates: three lines through the sides, which count only where the foot of the perpendicular lies between the
ends (else they are set far away), and three corners. The smallest wins, the first among equals. Which one it was is
the *kind*: 1-3 for the sides, 4-6 for the corners.
"""

from __future__ import annotations

from diffloom_kernels import constant, device, where


@device
def line_distance(px, py, ax, ay, bx, by, far):
    """(A x + B y + C)^2 / (A^2 + B^2 + 1e-7) where the foot lies between a and b, else ``far``."""
    A, B = by - ay, ax - bx
    C = bx * ay - ax * by
    u = A * px + B * py + C
    D = A * A + B * B + constant(px, 1e-7)
    fx, fy = px - A * u / D, py - B * u / D
    between = (fx - ax) * (fx - bx) + (fy - ay) * (fy - by) <= constant(px, 0)
    return where(between, u * u / D, far)


@device
def corner_distance(px, py, ax, ay):
    """|a - p|^2."""
    return (ax - px) * (ax - px) + (ay - py) * (ay - py)


@device
def kaolin_distance(px, py, corner, far):
    """Smallest of the six squared distances, and its kind."""
    best = line_distance(px, py, corner[0], corner[1], corner[2], corner[3], far)
    kind = 1
    d = line_distance(px, py, corner[2], corner[3], corner[4], corner[5], far)
    kind, best = where(d < best, 2, kind), where(d < best, d, best)
    d = line_distance(px, py, corner[4], corner[5], corner[0], corner[1], far)
    kind, best = where(d < best, 3, kind), where(d < best, d, best)
    d = corner_distance(px, py, corner[0], corner[1])
    kind, best = where(d < best, 4, kind), where(d < best, d, best)
    d = corner_distance(px, py, corner[2], corner[3])
    kind, best = where(d < best, 5, kind), where(d < best, d, best)
    d = corner_distance(px, py, corner[4], corner[5])
    kind, best = where(d < best, 6, kind), where(d < best, d, best)
    return best, kind


@device
def line_distance_adjoint(px, py, ax, ay, bx, by, d2):
    """Derivative of line_distance by a and b (4), where the foot lies between them.

    With u = A x + B y + C and D = A^2 + B^2 + 1e-7: by A 2 (x u - d^2 A) / D, by B 2 (y u - d^2 B) / D, by C 2 u / D.
    """
    two = constant(px, 2)
    A, B = by - ay, ax - bx
    C = bx * ay - ax * by
    u = A * px + B * py + C
    D = A * A + B * B + constant(px, 1e-7)
    gA = two * (px * u - d2 * A) / D
    gB = two * (py * u - d2 * B) / D
    gC = two * u / D
    return (gB - by * gC, bx * gC - gA, ay * gC - gB, gA - ax * gC)


@device
def kaolin_distance_adjoint(px, py, corner, far):
    """The squared distance, its kind, and its derivative by the corners (6)."""
    zero, two = constant(px, 0), constant(px, 2)
    d2, kind = kaolin_distance(px, py, corner, far)
    g0, g1, g2, g3, g4, g5 = zero, zero, zero, zero, zero, zero
    if kind == 1:
        g0, g1, g2, g3 = line_distance_adjoint(px, py, corner[0], corner[1], corner[2], corner[3], d2)
    elif kind == 2:
        g2, g3, g4, g5 = line_distance_adjoint(px, py, corner[2], corner[3], corner[4], corner[5], d2)
    elif kind == 3:
        g4, g5, g0, g1 = line_distance_adjoint(px, py, corner[4], corner[5], corner[0], corner[1], d2)
    elif kind == 4:
        g0, g1 = two * (corner[0] - px), two * (corner[1] - py)
    elif kind == 5:
        g2, g3 = two * (corner[2] - px), two * (corner[3] - py)
    else:
        g4, g5 = two * (corner[4] - px), two * (corner[5] - py)
    return d2, kind, (g0, g1, g2, g3, g4, g5)
