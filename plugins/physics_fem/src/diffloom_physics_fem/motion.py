"""Initial state of a solid: turned, shifted, and moving as a rigid body."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.transforms import needs_gradient, unwrap_values
from diffloom_geometry import assemble
from diffloom_geometry.rotations import rotation_matrix

#: Quaternion of no rotation.
UPRIGHT = [1.0, 0.0, 0.0, 0.0]


def place_points(points: Tensor, position: Tensor, orientation: Tensor) -> Tensor:
    """Return points (points, 3), turned by ``orientation`` and shifted by ``position`` (3,) [m]."""
    count = points.shape[0]
    if not needs_gradient(orientation) and all(
        turn == UPRIGHT for turn in unwrap_values(orientation).reshape(-1, 4).tolist()
    ):
        return points + broadcast(position, (count, 3))
    # Products entry by entry, not a matrix product: the gradient's sum must not depend on threads.
    turned = (broadcast(rotation_matrix(orientation), (count, 3, 3)) * points[:, None, :]).sum(dim=2)
    return turned + broadcast(position, (count, 3))


def compute_velocities(
    points: Tensor, mass: Callable[[], Tensor], velocity: Tensor, angular_velocity: Tensor
) -> Tensor:
    """Return velocities (points, 3) [m/s]: ``velocity`` and a rotation [rad/s] about the centre of mass.

    mass: function that returns the masses; it is called only if there is a rotation.
    """
    count = points.shape[0]
    linear = broadcast(velocity, (count, 3))
    if not needs_gradient(angular_velocity) and not bool(unwrap_values(angular_velocity).any()):
        return linear
    turning: Tensor = torch.linalg.cross(
        broadcast(angular_velocity, (count, 3)), points - compute_centre_of_mass(points, mass())
    )
    return linear + turning


def compute_centre_of_mass(points: Tensor, mass: Tensor) -> Tensor:
    """Return the centre of mass (1, 3) [m]."""
    one = np.zeros((points.shape[0], 1), dtype=np.int64)
    total = assemble(mass[:, None], one, 1)
    return assemble((mass[:, None] * points)[:, None, :], one, 1) / total[:, None]
