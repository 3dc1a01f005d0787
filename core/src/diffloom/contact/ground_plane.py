"""Contact of particles with a plane, as a term that any model of particles may use."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from diffloom.dynamics.broadcasting import broadcast
from diffloom.dynamics.terms import NodeTerm
from diffloom.interfaces import InputError, ParamSpec


def contact_specs(
    stiffness: float = 1e4, damping: float = 10.0, friction_stiffness: float = 10.0, friction: float = 0.5
) -> tuple[ParamSpec, ...]:
    """The parameters of plane contact, to be listed among a model's own."""
    positive = (0.0, None)
    return (
        ParamSpec("contact_stiffness", stiffness, "N/m", "normal force per depth, each node (k_e)", bounds=positive),
        ParamSpec("contact_damping", damping, "N s/m", "normal force per closing speed (k_d)", bounds=positive),
        ParamSpec(
            "friction_stiffness", friction_stiffness, "N s/m", "friction per sliding speed before it slips (k_f)",
            bounds=positive,
        ),
        ParamSpec("friction", friction, "", "Coulomb friction coefficient (mu)", bounds=positive),
        ParamSpec("ground_height", 0.0, "m", "offset of the contact plane along its normal"),
        ParamSpec("ground_normal", (0.0, 1.0, 0.0), "", "normal of the contact plane, of any length", shape=(3,)),
    )  # fmt: skip


def unit_normal(normal: Tensor) -> Tensor:
    """``normal`` (3,) or (n, 3) scaled to length 1, differentiable."""
    length = normal.norm(dim=-1, keepdim=True)
    if bool((length.detach() == 0).any()):
        raise InputError("ground_normal: got a vector of length 0; expected a direction such as (0, 1, 0)")
    return torch.as_tensor(normal / length)


def ground(params: Mapping[str, Tensor], count: int, name: str = "ground") -> NodeTerm:
    """Plane contact of ``count`` particles, with the parameters that ``contact_specs`` declares.

    Each parameter is one for all or one per particle. The ground is where n.x < ground_height.
    """
    from diffloom.contact.kernels import ground_force, ground_force_adjoint

    names = ("contact_stiffness", "contact_damping", "friction_stiffness", "friction")
    return NodeTerm(
        name,
        force=ground_force,
        adjoint=ground_force_adjoint,
        params=(
            ("ground_normal", broadcast(unit_normal(params["ground_normal"]), (count, 3))),
            ("ground_height", broadcast(params["ground_height"], (count,))),
            *((key, broadcast(params[key], (count,))) for key in names),
        ),
    )
