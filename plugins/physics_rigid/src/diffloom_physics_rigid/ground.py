"""Contact of bodies with the ground plane, as a term."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffloom.contact import unit_normal
from diffloom.contact.point_clusters import ContactPoints
from diffloom.dynamics import NodeTerm, broadcast

CONTACT = ("contact_stiffness", "contact_damping", "friction_stiffness", "friction")


def body_ground(points: ContactPoints, params: Mapping[str, Tensor], exempt: NDArray[np.bool_]) -> NodeTerm:
    """Every contact point of every body that is not ``exempt`` against the plane n.x = ground_height."""
    from diffloom_physics_rigid.ground_kernels import body_ground_force, body_ground_force_adjoint

    count = len(points.reach)
    reach = np.where(exempt, -np.inf, points.reach)
    return NodeTerm(
        "ground",
        force=body_ground_force,
        adjoint=body_ground_force_adjoint,
        constants=(reach, *points.arrays[1:]),
        params=(
            ("ground_normal", broadcast(unit_normal(params["ground_normal"]), (count, 3))),
            ("ground_height", broadcast(params["ground_height"], (count,))),
            *((name, broadcast(params[name], (count,))) for name in CONTACT),
        ),
    )
