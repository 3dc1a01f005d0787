"""The law: its parameters, its device functions, and what restitution and time step follow from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from diffloom.interfaces import ParamSpec
from diffloom_mechanics.contact import ContactLaw, Coulomb, FrictionLaw, HuntCrossley, NormalFunctions

_POSITIVE = (0.0, None)


@dataclass(frozen=True)
class Foam(ContactLaw):
    """f_n = k_e d (1 + h d^2) max(1 - a v_n, 0) for the depth d and the normal velocity v_n: harder the deeper."""

    friction: FrictionLaw = field(default_factory=Coulomb)

    @property
    def normal_specs(self) -> tuple[ParamSpec, ...]:
        return (
            ParamSpec("contact_stiffness", 1e3, "N/m", "normal force per small depth (k_e)", bounds=_POSITIVE),
            ParamSpec("foam_dissipation", 1.0, "s/m", "damping relative to the force (a)", bounds=_POSITIVE),
            ParamSpec("foam_hardening", 1e3, "1/m^2", "growth of the stiffness with depth (h)", bounds=_POSITIVE),
        )

    def normal(self) -> NormalFunctions:
        from loom_foam import kernels

        return NormalFunctions(3, kernels.force, kernels.adjoint, kernels.pair, kernels.pair_adjoint)

    def damping(self, restitution: float, reference_speed: float, stiffness: float, mass: float) -> float:
        # A damping in proportion to the force gives the same restitution for any force.
        return HuntCrossley().damping(restitution, reference_speed, stiffness, mass)

    def rate(self, values: Mapping[str, float], mobility: float, speed: float) -> float:
        """Return the rate at the deepest point without damping: v^2 = mobility k (d^2 + h d^4 / 2)."""
        k, h = values["contact_stiffness"], max(values["foam_hardening"], 1e-9)
        deepest = (math.sqrt(1.0 + 2.0 * h * speed**2 / (mobility * max(k, 1e-9))) - 1.0) / h
        damped = 1.0 + values["foam_dissipation"] * speed
        return math.sqrt(k * (1.0 + 3.0 * h * deepest) * damped * mobility)
