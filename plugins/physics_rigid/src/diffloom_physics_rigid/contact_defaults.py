"""Contact parameters and step length from a body's mass and size, from 1 g to 10 t.

A body of mass m and reach L (its farthest point) rests with a total stiffness K = m g / (SAG L): it sinks in by about
a thousandth of its reach, and the time scale sqrt(m / K) depends on the size alone, not on the mass. With n points
on its largest flat side each point gets K / sqrt(n): between K on one corner and K shared by all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import State
from diffloom_geometry import Points
from diffloom_mechanics.contact import DEFAULT_REFERENCE_SPEED, DEFAULT_RESTITUTION, ContactLaw, normalise_normal

Matrix = NDArray[np.float64]

SAG = 1e-3
STANDARD_GRAVITY = 9.81
SAFETY = 0.5


def default_contact(
    law: ContactLaw, mass: float, reach: float, side: int, given: Mapping[str, Any]
) -> dict[str, float]:
    """The parameters of a contact law for a body: those that are ``given``, and what follows from them, mass and size
    for the rest.

    side: points on its largest flat side. Damping follows ``given["restitution"]`` at ``given["reference_speed"]``.
    """
    stiffness = float(given.get("contact_stiffness", mass * STANDARD_GRAVITY / (SAG * reach) / math.sqrt(side)))
    if "static_sag" in given:
        stiffness = mass * STANDARD_GRAVITY / (side * float(given["static_sag"]))
    # What small bodies do is slow: their restitution holds for a fall from their own size unless it was given.
    own = math.sqrt(2.0 * STANDARD_GRAVITY * reach)
    slow = DEFAULT_REFERENCE_SPEED if "restitution" in given else min(DEFAULT_REFERENCE_SPEED, own)
    speed = float(given.get("reference_speed", slow))
    usual = {spec.name: float(spec.default) for spec in law.specs} | {
        "contact_stiffness": stiffness,
        law.damping_name: law.damping(float(given.get("restitution", DEFAULT_RESTITUTION)), speed, stiffness, mass),
        "friction_stiffness": math.sqrt(stiffness * mass),
    }
    return {name: float(given.get(name, usual[name])) for name in law.names}


def stable_step(
    law: ContactLaw, sides: Sequence[Points], mass: float, inertia: Matrix, values: Mapping[str, float], speed: float
) -> float:
    """A step [s] that follows the contact of one body: half the inverse of its fastest rate.

    sides: the points, from the centre, of each plane the body may stand on. A force on every point of a side, along
    any axis, accelerates the points by at most ``mobility`` times itself: the largest eigenvalue of M^-1 sum J^T J,
    where J = (1, -[r]x) takes a body's motion to that of the point r. Rates are k_f mobility and what the law says of
    a contact that begins at ``speed`` [m/s].
    """
    mobility = max(largest_mobility(side, mass, inertia) for side in sides)
    rate = max(law.rate(values, mobility, speed), values["friction_stiffness"] * mobility)
    return SAFETY / rate if rate > 0.0 else math.inf


def impact_speeds(start: State, params: Mapping[str, Tensor], reach: Sequence[float]) -> list[float]:
    """Speeds [m/s] at which points of bodies may hit: sqrt(v^2 + 2 g h) + |w| reach, at least REFERENCE_SPEED.

    h: height [m] of a body's lowest point over the ground at the start.
    """
    q, u = start.q.detach().double(), start.u.detach().double()
    normal = normalise_normal(params["ground_normal"].detach().double())
    radius = torch.tensor(reach, dtype=torch.float64)
    height = (q[:, :3] @ normal - params["ground_height"].detach().double() - radius).clamp(min=0.0)
    pull = float(params["gravity"].detach().double().norm())
    speed = (u[:, :3].square().sum(dim=1) + 2.0 * pull * height).sqrt() + u[:, 3:].norm(dim=1) * radius
    return [float(v) for v in speed.clamp(min=DEFAULT_REFERENCE_SPEED)]


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

    A round body (a ball, or balls along y) stands on all of its balls, or on one; a box with round edges on those of
    one of its faces.
    """
    if roundness > 0.0 and not points[:, [0, 2]].any():
        return [points + [0.0, 0.0, -roundness], points[:1] + [0.0, -roundness, 0.0]]
    from scipy.spatial import ConvexHull

    planes = np.unique(ConvexHull(points).equations.round(6), axis=0)
    near = 1e-3 * float(np.ptp(points, axis=0).max())
    sides = [points[points @ plane[:3] + plane[3] > -near] + roundness * plane[:3] for plane in planes]
    return sorted(sides, key=len, reverse=True)
