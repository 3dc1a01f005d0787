"""Node set of rigid bodies, with mass and inertia as differentiable arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import InputError
from diffloom.transforms import unwrap_values
from diffloom.validation import check_real
from diffloom_geometry.rotations import symmetric_entries, symmetric_matrices
from diffloom_mechanics import NodeMotion, NodeSet
from diffloom_mechanics.contact import ContactPoints


def build_body_set(
    mass: Tensor, inertia: Tensor, gravity: Tensor, fixed: NDArray[np.bool_], points: ContactPoints | None = None
) -> NodeSet:
    """Return the node set of rigid bodies.

    Args:
        mass: Masses (bodies,) [kg].
        inertia: Inertias about the centre in the bodies' axes, (bodies, 6): xx yy zz xy xz yz [kg m^2].
        gravity: Acceleration (3,) or (bodies, 3) [m/s^2].
        fixed: Flags (bodies,) of bodies that never move.
        points: Contact points with obstacles, or None.
    """
    from diffloom_physics_rigid import body_kernels as kernels

    count = int(mass.shape[0])
    check_real("inertia", inertia)
    matrices = symmetric_matrices(inertia)
    check_positive(mass, matrices)
    some_fixed = bool(fixed.any())

    def unless_fixed(rows: Tensor) -> Tensor:
        """Zero the rows of fixed bodies, because no force accelerates them."""
        if not some_fixed:
            return rows
        free = ~torch.as_tensor(fixed, device=rows.device)
        return torch.where(free if rows.dim() == 1 else free[:, None], rows, torch.zeros_like(rows))

    return NodeSet(
        "bodies",
        dq=7,
        du=6,
        acceleration=kernels.body_acceleration,
        acceleration_adjoint=kernels.body_acceleration_adjoint,
        motion=NodeMotion(
            kernels.body_drift,
            kernels.body_drift_adjoint,
            kernels.body_rate,
            kernels.body_rate_adjoint,
            kernels.body_project,
            kernels.body_project_adjoint,
            kernels.body_kicked_drift,
            kernels.body_kicked_drift_adjoint,
        ),
        arrays=(
            ("inverse_mass", unless_fixed(mass.reciprocal())),
            ("gravity", unless_fixed(broadcast(gravity, (count, 3)))),
            ("inertia", inertia),
            ("inverse_inertia", unless_fixed(symmetric_entries(torch.linalg.inv(matrices)))),
        ),
        lanes=True,
        # Bodies that never move need no test for contact.
        contact_points=points
        if points is None or not some_fixed
        else replace(points, reach=np.where(fixed, -np.inf, points.reach)),
    )


def check_positive(mass: Tensor, inertia: Tensor) -> None:
    """Raise InputError unless masses are positive and inertias (..., 3, 3) are those of a physical body."""
    check_real("mass", mass)
    masses = unwrap_values(mass)
    if bool((masses <= 0).any()):
        bad = (masses <= 0).nonzero()[0]
        raise InputError(f"mass: body {int(bad[-1])} has {float(masses[tuple(bad)]):g} kg; expected a positive mass; "
                         "a body that must not move is given fixed = true")  # fmt: skip
    least = torch.linalg.eigvalsh(unwrap_values(inertia).double())[..., 0]
    if bool((least <= 0).any()):
        bad = (least <= 0).nonzero()[0]
        raise InputError(
            f"inertia: body {int(bad[-1])} has a principal moment of {float(least[tuple(bad)]):g} kg m^2; expected a "
            "positive definite matrix, six numbers xx, yy, zz, xy, xz, yz about the centre of mass"
        )
