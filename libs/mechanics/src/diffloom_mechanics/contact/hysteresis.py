"""A contact law with one restitution for all speeds, smooth where points touch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

from diffloom.interfaces import ParamSpec
from diffloom_mechanics.contact.friction_laws import Coulomb, friction_law
from diffloom_mechanics.contact.law import ContactLaw, FrictionLaw, NormalFunctions, stiffness_spec
from diffloom_mechanics.contact.restitution import check_restitution

RESTITUTION = 0.6


@final
@dataclass(frozen=True)
class Hysteresis(ContactLaw):
    """f_n = k_e phi(d) (1 - c w) for the depth d and normal velocity v_n, with w = v_n / sqrt(v_n^2 + s^2).

    The share c is lost to the material whatever the speed is, as in foam and rubber: restitution is
    sqrt((1 - c) / (1 + c)) for impacts fast beside s, and can be given instead of c. phi is d^2 / (2 toe) up to
    the toe and d - toe / 2 beyond: force and slope are continuous at touch, so gradients survive impacts.
    """

    friction: FrictionLaw = field(default_factory=Coulomb)

    def __post_init__(self) -> None:
        object.__setattr__(self, "friction", friction_law(self.friction))

    @cached_property
    def normal_specs(self) -> tuple[ParamSpec, ...]:
        lost = "share of the force that changes its sign with the velocity (c)"
        turning = "speed below which the share fades (s)"
        return (
            stiffness_spec(),
            ParamSpec("contact_hysteresis", share_of(RESTITUTION), "", lost, bounds=(0.0, 1.0)),
            ParamSpec("contact_toe", 1e-3, "m", "depth up to which stiffness sets in", bounds=(1e-9, None)),
            ParamSpec("hysteresis_speed", 0.05, "m/s", turning, bounds=(1e-6, None)),
        )

    @property
    def extra_specs(self) -> tuple[ParamSpec, ...]:
        doc = "instead of contact_hysteresis: speed after a bounce over speed before, at any speed"
        return (ParamSpec("restitution", None, "", doc, bounds=(1e-2, 1.0), replaces="contact_hysteresis"),)

    def resolve(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        restitution = params.get("restitution")
        if restitution is None:
            return params
        return {**params, "contact_hysteresis": (1.0 - restitution**2) / (1.0 + restitution**2)}

    def normal(self) -> NormalFunctions:
        from diffloom_mechanics.contact import hysteresis_kernels as kernels

        return NormalFunctions(
            4, kernels.hysteresis_force, kernels.hysteresis_adjoint, kernels.hysteresis_pair,
            kernels.hysteresis_pair_adjoint,
        )  # fmt: skip

    def damping(self, restitution: float, reference_speed: float, stiffness: float, mass: float) -> float:
        """The share c, at any speed."""
        return share_of(restitution)

    def rate(self, values: Mapping[str, float], mobility: float, speed: float) -> float:
        """That of the way in, sqrt(k_e (1 + c) mobility)."""
        return math.sqrt(values["contact_stiffness"] * (1.0 + values["contact_hysteresis"]) * mobility)


def share_of(restitution: float) -> float:
    """c of a restitution: what is stored on the way in, (1 + c) k d^2 / 2, leaves as (1 - c) k d^2 / 2."""
    check_restitution(restitution)
    return (1.0 - restitution**2) / (1.0 + restitution**2)
