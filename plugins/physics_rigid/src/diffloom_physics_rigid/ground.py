"""Force term of the contact between bodies and the ground plane."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.transforms import unwrap_values
from diffloom_mechanics import NodeTerm
from diffloom_mechanics.contact import ContactLaw, ContactPoints, normalise_normal, pack_contact_rows


def build_ground_term(
    law: ContactLaw, points: ContactPoints, params: Mapping[str, Tensor], exempt: NDArray[np.bool_]
) -> NodeTerm:
    """Return the contact term of every contact point of every body with the plane n.x = ground_height.

    Args:
        law: Contact law.
        points: Contact points of the bodies.
        params: ground_normal, ground_height, gravity, the law's parameters and, optionally, centre_of_mass.
        exempt: Flags (bodies,) of bodies that do not touch the ground.
    """
    from diffloom_physics_rigid.ground_kernels import body_ground_contact

    count = len(points.reach)
    given = params.get("centre_of_mass")
    centre = params["gravity"].new_zeros((count, 3)) if given is None else broadcast(given, (count, 3))
    reach = points.reach
    if given is not None:
        reach = reach + unwrap_values(centre).double().norm(dim=-1).reshape(-1, count).amax(dim=0).cpu().numpy()
    reach = np.where(exempt, -np.inf, reach)
    normal, friction = law.device_functions()
    force, adjoint = body_ground_contact(normal, friction)
    return NodeTerm(
        "ground",
        force=force,
        adjoint=adjoint,
        constants=(reach, *points.arrays[1:]),
        params=(
            ("ground_normal", broadcast(normalise_normal(params["ground_normal"]), (count, 3))),
            ("ground_height", broadcast(params["ground_height"], (count,))),
            ("centre_of_mass", centre),
            *pack_contact_rows(law, params, count),
        ),
        # Turning friction adds to its gradients inside the kernel, also for bodies out of contact, so lanes are off.
        lanes=normal.lanes and friction.lanes and not friction.turning,
    )
