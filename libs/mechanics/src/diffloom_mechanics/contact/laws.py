"""Contact laws of this package: Hunt and Crossley's, the linear law of gradSim, and hysteresis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

from diffloom.interfaces import InputError, ParamSpec
from diffloom_mechanics.contact.friction_laws import Coulomb, resolve_friction_law
from diffloom_mechanics.contact.law import ContactLaw, FrictionLaw, NormalFunctions, make_stiffness_spec
from diffloom_mechanics.contact.restitution import check_restitution, damping_ratio, dissipation, solve_dissipation

_POSITIVE = (0.0, None)
_OTHER_DAMPING = (
    (
        "contact_damping",
        "a damping in N s/m belongs to the contact law 'linear'; with 'hunt_crossley' give contact_dissipation [s/m] "
        "or restitution (at reference_speed), or choose contact = 'linear' for the model",
    ),
)
_OTHER_DISSIPATION = (
    "belongs to the contact law 'hunt_crossley'; with 'linear' give contact_damping [N s/m], or choose "
    "contact = 'hunt_crossley' for the model"
)
DEFAULT_RESTITUTION = 0.6
"""Restitution of the default dissipation, at the reference speed."""
DEFAULT_REFERENCE_SPEED = 1.0
"""Speed of impact [m/s] at which a restitution is given."""


def _load_functions(name: str, width: int, lanes: bool = False) -> NormalFunctions:
    """Import the device functions of a law, named after it in normal_kernels."""
    from diffloom_mechanics.contact import normal_kernels as kernels

    force, adjoint, *pair = (
        getattr(kernels, f"{name}_{part}") for part in ("force", "adjoint", "pair", "pair_adjoint")
    )
    return NormalFunctions(width, force, adjoint, pair[0], pair[1], lanes)


@final
@dataclass(frozen=True)
class HuntCrossley(ContactLaw):
    """Hunt-Crossley law f_n = k_e d max(1 - a v_n, 0) for the depth d and normal velocity v_n (Hunt and Crossley 1975).

    Damping grows with depth, so the force is continuous at touch and gradients survive impacts. The dissipation a [s/m]
    determines the restitution at a speed, for any mass and stiffness. With a toe, d^2 / (2 toe) replaces d up to the
    depth ``toe``. A toe of about the distance of one step at impact keeps gradients through many bounces smooth; it
    does not change the restitution.

    Args:
        friction: Friction law, its name, or a table.
        toe: Depth [m] up to which the stiffness sets in; it becomes the parameter ``contact_toe``. None for no toe.
    """

    friction: FrictionLaw = field(default_factory=Coulomb)
    toe: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "friction", resolve_friction_law(self.friction))
        if self.toe is not None and not self.toe > 0.0:
            raise InputError(f"toe: got {self.toe!r}; expected a depth above 0 m, or None for no toe")

    @cached_property
    def normal_specs(self) -> tuple[ParamSpec, ...]:
        default = dissipation(DEFAULT_RESTITUTION, DEFAULT_REFERENCE_SPEED)
        doc = "damping relative to the elastic force, per closing speed (a)"
        specs = (
            make_stiffness_spec(),
            ParamSpec("contact_dissipation", default, "s/m", doc, bounds=_POSITIVE, not_to_be_confused=_OTHER_DAMPING),
        )
        if self.toe is None:
            return specs
        return (
            *specs,
            ParamSpec("contact_toe", self.toe, "m", "depth up to which stiffness sets in", bounds=_POSITIVE),
        )

    @property
    def extra_specs(self) -> tuple[ParamSpec, ...]:
        doc = "instead of contact_dissipation: speed after a bounce over speed before"
        speed = f"speed at which the restitution holds; {DEFAULT_REFERENCE_SPEED:g} m/s if not given"
        return (
            ParamSpec("restitution", None, "", doc, bounds=(1e-2, 1.0), replaces="contact_dissipation"),
            ParamSpec("reference_speed", None, "m/s", speed, bounds=(1e-6, None)),
        )

    def resolve(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        restitution = params.get("restitution")
        if restitution is None:
            return params
        speed = params.get("reference_speed")
        found = solve_dissipation(
            restitution, restitution.new_tensor(DEFAULT_REFERENCE_SPEED) if speed is None else speed
        )
        return {**params, "contact_dissipation": found}

    def normal(self) -> NormalFunctions:
        return (
            _load_functions("hunt_crossley", 2, lanes=True)
            if self.toe is None
            else _load_functions("toe", 3, lanes=True)
        )

    def damping(self, restitution: float, reference_speed: float, stiffness: float, mass: float) -> float:
        return dissipation(restitution, reference_speed)

    def rate(self, values: Mapping[str, float], mobility: float, speed: float) -> float:
        # sqrt(k_e (1 + a v) mobility)
        stiffness, a = values["contact_stiffness"], values["contact_dissipation"]
        return math.sqrt(stiffness * (1.0 + a * speed) * mobility)


@final
@dataclass(frozen=True)
class LinearContact(ContactLaw):
    """Linear law f_n = k_e d - k_d min(v_n, 0) of gradSim (Jatavallabhula, Macklin et al. 2021).

    The damping force jumps at touch, so exact gradients say little about the motion after several impacts.

    Args:
        friction: Friction law, its name, or a table.
    """

    friction: FrictionLaw = field(default_factory=Coulomb)

    def __post_init__(self) -> None:
        object.__setattr__(self, "friction", resolve_friction_law(self.friction))

    @cached_property
    def normal_specs(self) -> tuple[ParamSpec, ...]:
        doc = "normal force per closing speed (k_d)"
        others = tuple(
            (name, f"it {_OTHER_DISSIPATION}") for name in ("contact_dissipation", "restitution", "reference_speed")
        )
        return (
            make_stiffness_spec(),
            ParamSpec("contact_damping", 10.0, "N s/m", doc, bounds=_POSITIVE, not_to_be_confused=others),
        )

    def normal(self) -> NormalFunctions:
        return _load_functions("linear", 2, lanes=True)

    def damping(self, restitution: float, reference_speed: float, stiffness: float, mass: float) -> float:
        # 2 zeta sqrt(k_e m), at any speed
        check_restitution(restitution)
        return 2.0 * damping_ratio(restitution) * math.sqrt(stiffness * mass)

    def rate(self, values: Mapping[str, float], mobility: float, speed: float) -> float:
        # The larger of sqrt(k_e mobility) and k_d mobility.
        return max(math.sqrt(values["contact_stiffness"] * mobility), values["contact_damping"] * mobility)

    def per_point(self, name: str) -> bool:
        return name == "contact_damping" or super().per_point(name)


@final
@dataclass(frozen=True)
class Hysteresis(ContactLaw):
    """Hysteresis f_n = k_e phi(d) (1 - c w) for the depth d and normal velocity v_n, with w = v_n / sqrt(v_n^2 + s^2).

    The material takes the share c at any speed, as foam and rubber do. The restitution is sqrt((1 - c) / (1 + c)) for
    impacts fast compared with s, and can be given instead of c. phi is d^2 / (2 toe) up to the toe and d - toe / 2
    beyond: force and slope are continuous at touch, so gradients survive impacts.

    Args:
        friction: Friction law, its name, or a table.
    """

    friction: FrictionLaw = field(default_factory=Coulomb)

    def __post_init__(self) -> None:
        object.__setattr__(self, "friction", resolve_friction_law(self.friction))

    @cached_property
    def normal_specs(self) -> tuple[ParamSpec, ...]:
        lost = "share of the force that changes its sign with the velocity (c)"
        turning = "speed below which the share fades (s)"
        return (
            make_stiffness_spec(),
            ParamSpec("contact_hysteresis", lost_share(DEFAULT_RESTITUTION), "", lost, bounds=(0.0, 1.0)),
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
        return _load_functions("hysteresis", 4)

    def damping(self, restitution: float, reference_speed: float, stiffness: float, mass: float) -> float:
        # The share c, at any speed.
        return lost_share(restitution)

    def rate(self, values: Mapping[str, float], mobility: float, speed: float) -> float:
        # Rate of the way in, sqrt(k_e (1 + c) mobility).
        return math.sqrt(values["contact_stiffness"] * (1.0 + values["contact_hysteresis"]) * mobility)


def lost_share(restitution: float) -> float:
    """Return the share c of a restitution: the energy (1 + c) k d^2 / 2 is stored, and (1 - c) k d^2 / 2 is
    returned.
    """
    check_restitution(restitution)
    return (1.0 - restitution**2) / (1.0 + restitution**2)
