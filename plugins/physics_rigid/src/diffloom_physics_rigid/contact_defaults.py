"""Contact parameters and step length that follow from a body's mass and size, from 1 g to 10 t.

A body of mass m and reach L (distance of its farthest point) rests with a total stiffness K = m g / (SAG L). It sinks
in by about a thousandth of its reach, and the time scale sqrt(m / K) depends on the size alone. Each of the n points on
its largest flat side gets K / sqrt(n): a value between K on one corner and K shared by all points.
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


def derive_contact(law: ContactLaw, mass: float, reach: float, side: int, given: Mapping[str, Any]) -> dict[str, float]:
    """Return the parameters of a contact law for a body: given values, and defaults from mass and size.

    Args:
        law: Contact law.
        mass: Mass [kg].
        reach: Distance of the farthest point from the centre [m].
        side: Number of points on the largest flat side.
        given: Values that the user gave. Damping follows ``restitution`` at ``reference_speed``.
    """
    stiffness = float(given.get("contact_stiffness", mass * STANDARD_GRAVITY / (SAG * reach) / math.sqrt(side)))
    if "static_sag" in given:
        stiffness = mass * STANDARD_GRAVITY / (side * float(given["static_sag"]))
    # Small bodies move slowly, so their restitution holds for a fall from their own size unless a speed is given.
    own = math.sqrt(2.0 * STANDARD_GRAVITY * reach)
    slow = DEFAULT_REFERENCE_SPEED if "restitution" in given else min(DEFAULT_REFERENCE_SPEED, own)
    speed = float(given.get("reference_speed", slow))
    usual = {spec.name: float(spec.default) for spec in law.specs} | {
        "contact_stiffness": stiffness,
        law.damping_name: law.damping(float(given.get("restitution", DEFAULT_RESTITUTION)), speed, stiffness, mass),
        "friction_stiffness": math.sqrt(stiffness * mass),
    }
    return {name: float(given.get(name, usual[name])) for name in law.names}


def compute_stable_step(
    law: ContactLaw, sides: Sequence[Points], mass: float, inertia: Matrix, values: Mapping[str, float], speed: float
) -> float:
    """Return a step [s] that resolves the contact of one body: half the inverse of its fastest rate.

    A force on every point of a side accelerates these points by at most ``mobility`` times itself: the largest
    eigenvalue of M^-1 sum J^T J, where J = (1, -[r]x) maps the body's motion to that of the point r. The rates are k_f
    mobility and those of the law at the start of a contact.

    Args:
        law: Contact law.
        sides: Points, from the centre, of each plane on which the body may stand.
        mass: Mass [kg].
        inertia: Inertia (3, 3) [kg m^2].
        values: Parameters of the law.
        speed: Speed at which a contact begins [m/s].
    """
    mobility = max(compute_largest_mobility(side, mass, inertia) for side in sides)
    rate = max(law.rate(values, mobility, speed), values["friction_stiffness"] * mobility)
    return SAFETY / rate if rate > 0.0 else math.inf


def estimate_impact_speeds(start: State, params: Mapping[str, Tensor], reach: Sequence[float]) -> list[float]:
    """Return the speeds [m/s] at which bodies may hit: sqrt(v^2 + 2 g h) + |w| reach, at least REFERENCE_SPEED.

    h is the height [m] of a body's lowest point over the ground at the start.
    """
    q, u = start.q.detach().double(), start.u.detach().double()
    normal = normalise_normal(params["ground_normal"].detach().double())
    radius = torch.tensor(reach, dtype=torch.float64)
    height = (q[:, :3] @ normal - params["ground_height"].detach().double() - radius).clamp(min=0.0)
    pull = float(params["gravity"].detach().double().norm())
    speed = (u[:, :3].square().sum(dim=1) + 2.0 * pull * height).sqrt() + u[:, 3:].norm(dim=1) * radius
    return [float(v) for v in speed.clamp(min=DEFAULT_REFERENCE_SPEED)]


def compute_largest_mobility(side: Points, mass: float, inertia: Matrix) -> float:
    """Return the largest eigenvalue of M^-1 sum J^T J [1/kg] over the points of a side."""
    x, y, z = side.T
    zero = np.zeros(len(side))
    cross = np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]])
    jacobian = np.concatenate([np.tile(np.eye(3)[..., None], len(side)), -cross], axis=1)
    total = np.einsum("aip,ajp->ij", jacobian, jacobian)
    half = np.zeros((6, 6))
    half[:3, :3] = np.eye(3) / math.sqrt(mass)
    half[3:, 3:] = np.linalg.inv(np.linalg.cholesky(inertia))
    return float(np.linalg.eigvalsh(half @ total @ half.T)[-1])


def find_sides(points: Points, roundness: float) -> list[Points]:
    """Return the points of contact on each plane that has all points behind it, largest side first.

    A round body (a ball, or balls along y) stands on all of its balls or on one; a box with round edges on those of one
    face.
    """
    if roundness > 0.0 and not points[:, [0, 2]].any():
        return [points + [0.0, 0.0, -roundness], points[:1] + [0.0, -roundness, 0.0]]
    from scipy.spatial import ConvexHull

    planes = np.unique(ConvexHull(points).equations.round(6), axis=0)
    near = 1e-3 * float(np.ptp(points, axis=0).max())
    sides = [points[points @ plane[:3] + plane[3] > -near] + roundness * plane[:3] for plane in planes]
    return sorted(sides, key=len, reverse=True)
