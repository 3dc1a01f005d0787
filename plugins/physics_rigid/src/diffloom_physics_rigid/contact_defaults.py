"""Contact stiffness, damping and step length from a body's mass and size, from 1 g to 10 t.

A body of mass m and reach L (its farthest point) rests with a total stiffness K = m g / (SAG L): it sinks in by about
a thousandth of its reach, and the time scale sqrt(m / K) depends on the size alone, not on the mass. With n points
on its largest flat side each point gets K / sqrt(n): between K on one corner and K shared by all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffloom.geometry.triangle_checks import Points
from diffloom.interfaces import InputError

Matrix = NDArray[np.float64]

SAG = 1e-3
STANDARD_GRAVITY = 9.81
RESTITUTION = 0.6
FRICTION = 0.5
SAFETY = 0.5


def damping_ratio(restitution: float) -> float:
    """zeta = k_d / (2 sqrt(k_e m)) of one point that bounces with ``restitution`` (0..1].

    The force damps only while the point sinks in, so with no gravity during the impact the rebound is
    e = exp(-zeta acos(zeta) / sqrt(1 - zeta^2)), which falls from 1 at zeta = 0 to 1/e at zeta = 1; beyond that
    (overdamped) e = exp(-zeta arcosh(zeta) / sqrt(zeta^2 - 1)). Solved by bisection.
    """
    if not 0.0 < restitution <= 1.0:
        raise InputError(f"restitution: got {restitution:g}; expected a number above 0, at most 1")
    low, high = 0.0, 1.0
    while rebound(high) > restitution:
        high *= 2.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rebound(middle) > restitution else (low, middle)
    return 0.5 * (low + high)


def rebound(zeta: float) -> float:
    """Restitution of one point with damping ratio ``zeta``: speed after over speed before."""
    if abs(zeta - 1.0) < 1e-7:
        return math.exp(-1.0)
    if zeta < 1.0:
        return math.exp(-zeta * math.acos(zeta) / math.sqrt(1.0 - zeta * zeta))
    return math.exp(-zeta * math.acosh(zeta) / math.sqrt(zeta * zeta - 1.0))


def default_contact(mass: float, reach: float, side: int, given: Mapping[str, Any]) -> dict[str, float]:
    """k_e, k_d, k_f and mu of a body: those that are ``given``, and what follows from them, mass and size for the rest.

    side: points on its largest flat side. Damping follows the stiffness and ``given["restitution"]``.
    """
    stiffness = float(given.get("contact_stiffness", mass * STANDARD_GRAVITY / (SAG * reach) / math.sqrt(side)))
    impedance = math.sqrt(stiffness * mass)
    ratio = damping_ratio(float(given.get("restitution", RESTITUTION)))
    return {
        "contact_stiffness": stiffness,
        "contact_damping": float(given.get("contact_damping", 2.0 * ratio * impedance)),
        "friction_stiffness": float(given.get("friction_stiffness", impedance)),
        "friction": float(given.get("friction", FRICTION)),
    }


def stable_step(
    sides: Sequence[Points], mass: float, inertia: Matrix, stiffness: float, damping: float, sliding: float
) -> float:
    """A step [s] that follows the contact of one body: half the inverse of its fastest rate.

    sides: the points, from the centre, of each plane the body may stand on. A force on every point of a side, along
    any axis, accelerates the points by at most ``mobility`` times itself: the largest eigenvalue of M^-1 sum J^T J,
    where J = (1, -[r]x) takes a body's motion to that of the point r. Rates are sqrt(k_e mobility), k_d mobility and
    k_f mobility.
    """
    mobility = max(largest_mobility(side, mass, inertia) for side in sides)
    rate = max(math.sqrt(stiffness * mobility), damping * mobility, sliding * mobility)
    return SAFETY / rate if rate > 0.0 else math.inf


def largest_mobility(side: Points, mass: float, inertia: Matrix) -> float:
    """The largest eigenvalue of M^-1 sum J^T J [1/kg] over the points of a side."""
    x, y, z = side.T
    zero = np.zeros(len(side))
    cross = np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]])
    jacobian = np.concatenate([np.tile(np.eye(3)[..., None], len(side)), -cross], axis=1)
    total = np.einsum("aip,ajp->ij", jacobian, jacobian)
    half = np.zeros((6, 6))
    half[:3, :3] = np.eye(3) / math.sqrt(mass)
    half[3:, 3:] = np.linalg.inv(np.linalg.cholesky(inertia))
    return float(np.linalg.eigvalsh(half @ total @ half.T)[-1])


def sides_of(points: Points, roundness: float) -> list[Points]:
    """The points on each plane that has all others behind it, where they touch it; largest side first.

    A round body (a ball, or balls along y) stands on all of its balls, or on one.
    """
    if roundness > 0.0:
        return [points + [0.0, 0.0, -roundness], points[:1] + [0.0, -roundness, 0.0]]
    from scipy.spatial import ConvexHull

    planes = np.unique(ConvexHull(points).equations.round(6), axis=0)
    near = 1e-3 * float(np.ptp(points, axis=0).max())
    sides = [points[points @ plane[:3] + plane[3] > -near] for plane in planes]
    return sorted(sides, key=len, reverse=True)
