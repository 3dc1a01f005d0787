"""How a shell starts: its shape turned, moved, and set in motion."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import InputError
from diffloom.transforms import concrete, needs_gradient
from diffloom_geometry import assemble


def place(points: Tensor, position: Tensor, orientation: Tensor) -> Tensor:
    """``points`` (P, 3) turned about the origin by a quaternion (4,) of any length, then moved by ``position`` (3,)."""
    length = orientation.norm()
    if bool((concrete(length) == 0.0).any()):
        raise InputError("orientation: got the quaternion (0, 0, 0, 0); expected w, x, y, z such as (1, 0, 0, 0)")
    count = points.shape[0]
    unit = broadcast(orientation / length, (count, 4))
    w, axis = unit[:, :1], unit[:, 1:]
    across = 2.0 * torch.linalg.cross(axis, points)
    turned: Tensor = points + w * across + torch.linalg.cross(axis, across)
    return turned + broadcast(position, (count, 3))


def set_moving(points: Tensor, mass: Tensor, velocity: Tensor, angular_velocity: Tensor) -> Tensor:
    """Velocities (P, 3) [m/s]: ``velocity``, and a turn [rad/s] about the centre of mass."""
    shape = tuple(points.shape)
    straight = broadcast(velocity, shape)
    if not needs_gradient(angular_velocity) and not bool(concrete(angular_velocity).any()):
        return straight
    turn: Tensor = torch.linalg.cross(
        broadcast(angular_velocity, shape), points - broadcast(centre(points, mass), shape)
    )
    return straight + turn


def centre(points: Tensor, mass: Tensor) -> Tensor:
    """Centre of mass (1, 3) [m], summed in a fixed order."""
    nowhere = np.zeros(points.shape[0], dtype=np.int64)
    weighted = assemble(torch.cat([mass[:, None] * points, mass[:, None]], dim=1), nowhere, 1)
    return weighted[:, :3] / weighted[:, 3:]
