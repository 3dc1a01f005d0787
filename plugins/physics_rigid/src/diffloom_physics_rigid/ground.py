"""Contact of bodies with the ground plane, as a term."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.transforms import concrete
from diffloom_mechanics import NodeTerm
from diffloom_mechanics.contact import ContactLaw, ContactPoints, normalise_normal, pack_contact_rows


def body_ground(
    law: ContactLaw, points: ContactPoints, params: Mapping[str, Tensor], exempt: NDArray[np.bool_]
) -> NodeTerm:
    """Every contact point of every body that is not ``exempt`` against the plane n.x = ground_height."""
    from diffloom_physics_rigid.ground_kernels import body_ground_contact

    count = len(points.reach)
    given = params.get("centre_of_mass")
    centre = params["gravity"].new_zeros((count, 3)) if given is None else broadcast(given, (count, 3))
    reach = points.reach
    if given is not None:
        reach = reach + concrete(centre).double().norm(dim=-1).reshape(-1, count).amax(dim=0).cpu().numpy()
    reach = np.where(exempt, -np.inf, reach)
    normal, friction = law.normal(), law.friction.functions()
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
        # Friction that turns adds to its gradients by itself, for bodies that do not touch too.
        lanes=normal.lanes and friction.lanes and not friction.turning,
    )
