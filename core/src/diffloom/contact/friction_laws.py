"""Friction laws of the core: Coulomb's cone, and Stribeck's with more friction at low speed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

from diffloom.contact.law import FrictionFunctions, FrictionLaw, friction_spec
from diffloom.interfaces import InputError, ParamSpec

_POSITIVE = (0.0, None)


def _stiffness() -> ParamSpec:
    doc = "friction per sliding speed before it slips (k_f)"
    return ParamSpec("friction_stiffness", 10.0, "N s/m", doc, bounds=_POSITIVE)


@final
@dataclass(frozen=True)
class Coulomb(FrictionLaw):
    """min(mu f_n, k_f |v_t|) against the sliding velocity v_t: a relaxed cone, the same in all directions."""

    @cached_property
    def specs(self) -> tuple[ParamSpec, ...]:
        return (_stiffness(), friction_spec())

    def functions(self) -> FrictionFunctions:
        from diffloom.contact import friction_kernels as kernels

        return FrictionFunctions(
            2, kernels.coulomb_slope, kernels.coulomb_adjoint, kernels.coulomb_pair, kernels.coulomb_pair_adjoint
        )


@final
@dataclass(frozen=True)
class Stribeck(FrictionLaw):
    """As Coulomb, with mu + (mu_s - mu) exp(-(|v_t| / v_s)^2) in place of mu: it takes more to start than to go on."""

    @cached_property
    def specs(self) -> tuple[ParamSpec, ...]:
        return (
            _stiffness(),
            friction_spec(),
            ParamSpec("static_friction", 0.6, "", "friction coefficient at low speed (mu_s)", bounds=_POSITIVE),
            ParamSpec("stribeck_speed", 0.1, "m/s", "sliding speed at which static friction fades (v_s)",
                      bounds=(1e-6, None)),
        )  # fmt: skip

    def functions(self) -> FrictionFunctions:
        from diffloom.contact import friction_kernels as kernels

        return FrictionFunctions(
            4, kernels.stribeck_slope, kernels.stribeck_adjoint, kernels.stribeck_pair, kernels.stribeck_pair_adjoint
        )


FRICTION_LAWS: dict[str, type[FrictionLaw]] = {"coulomb": Coulomb, "stribeck": Stribeck}


def friction_law(given: object) -> FrictionLaw:
    """The friction law of this name, or ``given`` itself where it is one."""
    if isinstance(given, FrictionLaw):
        return given
    if not isinstance(given, str) or given not in FRICTION_LAWS:
        raise InputError(f"friction: got {given!r}; expected a friction law: {', '.join(FRICTION_LAWS)}")
    return FRICTION_LAWS[given]()
