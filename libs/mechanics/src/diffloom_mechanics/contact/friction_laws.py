"""Friction laws: Coulomb's, Coulomb's with a round corner, Stribeck's, and an anisotropic one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import final

from diffloom.interfaces import InputError, ParamSpec
from diffloom_mechanics.contact.law import FrictionFunctions, FrictionLaw, make_friction_spec

_POSITIVE = (0.0, None)


def _stiffness() -> ParamSpec:
    """Return the spec of the friction stiffness."""
    doc = "friction per sliding speed before it slips (k_f)"
    return ParamSpec("friction_stiffness", 10.0, "N s/m", doc, bounds=_POSITIVE)


def _radii(turning: bool) -> tuple[ParamSpec, ...]:
    """Return the specs of the contact patch of a body's point, if torsional and rolling friction are asked for."""
    if not turning:
        return ()
    torsional = "radius of the patch that holds back turning about the normal: a torque of at most mu f_n times it"
    rolling = "radius of the patch that holds back rolling: a torque of at most mu f_n times it"
    return (
        ParamSpec("torsional_radius", 1e-3, "m", torsional, bounds=_POSITIVE),
        ParamSpec("rolling_radius", 1e-3, "m", rolling, bounds=_POSITIVE),
    )


def _load_functions(name: str, width: int, slope: str | None = None, **options: bool) -> FrictionFunctions:
    """Import the device functions of a law, named after it in friction_kernels; ``slope`` names another law's."""
    from diffloom_mechanics.contact import friction_kernels as kernels

    parts = (f"{slope or name}_slope", f"{name}_adjoint", f"{name}_pair", f"{name}_pair_adjoint")
    return FrictionFunctions(width, *(getattr(kernels, part) for part in parts), **options)


@final
@dataclass(frozen=True)
class Coulomb(FrictionLaw):
    """Coulomb friction min(mu f_n, k_f |v_t|) against the sliding velocity v_t: a relaxed cone, isotropic.

    Args:
        turning: True if rigid bodies on the ground have torsional and rolling friction too.
    """

    turning: bool = False

    @cached_property
    def specs(self) -> tuple[ParamSpec, ...]:
        return (_stiffness(), make_friction_spec(), *_radii(self.turning))

    def functions(self) -> FrictionFunctions:
        return _load_functions("coulomb", 2, turning=self.turning, lanes=True)


@final
@dataclass(frozen=True)
class SmoothCoulomb(FrictionLaw):
    """Coulomb friction with a round corner: k_f |v_t| (1 + r^(1/b))^(-b), r = k_f |v_t| / (mu f_n).

    Under Coulomb friction a sliding point has no gradient by k_f, and a sticking point none by mu. Here every point has
    both, so that a fit can start on the wrong side. ``friction_smoothing`` b = 0 is Coulomb friction; 0.5, the largest
    value, adds sticking and sliding in quadrature.

    Args:
        turning: True if rigid bodies on the ground have torsional and rolling friction too.
    """

    turning: bool = False

    @cached_property
    def specs(self) -> tuple[ParamSpec, ...]:
        doc = "how round the corner between sticking and sliding is (b): 0 is Coulomb's law"
        return (
            _stiffness(),
            make_friction_spec(),
            ParamSpec("friction_smoothing", 0.5, "", doc, bounds=(0.0, 0.5)),
            *_radii(self.turning),
        )

    def functions(self) -> FrictionFunctions:
        return _load_functions("smooth", 3, turning=self.turning)


@final
@dataclass(frozen=True)
class Stribeck(FrictionLaw):
    """Coulomb friction with mu + (mu_s - mu) exp(-(|v_t| / v_s)^2) in place of mu: starting takes more force than
    sliding.

    Args:
        turning: True if rigid bodies on the ground have torsional and rolling friction too.
    """

    turning: bool = False

    @cached_property
    def specs(self) -> tuple[ParamSpec, ...]:
        return (
            _stiffness(),
            make_friction_spec(),
            ParamSpec("static_friction", 0.6, "", "friction coefficient at low speed (mu_s)", bounds=_POSITIVE),
            ParamSpec("stribeck_speed", 0.1, "m/s", "sliding speed at which static friction fades (v_s)",
                      bounds=(1e-6, None)),
            *_radii(self.turning),
        )  # fmt: skip

    def functions(self) -> FrictionFunctions:
        return _load_functions("stribeck", 4, turning=self.turning, lanes=True)


@final
@dataclass(frozen=True)
class Anisotropic(FrictionLaw):
    """Coulomb friction, multiplied by friction_x, friction_y and friction_z along the world axes, as of wood or a belt.

    Args:
        turning: True if rigid bodies on the ground have torsional and rolling friction too.
    """

    turning: bool = False

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        along = (
            ParamSpec(
                f"friction_{axis}", 1.0, "", f"factor of the friction along {axis} of the world", bounds=_POSITIVE
            )
            for axis in "xyz"
        )
        return (_stiffness(), make_friction_spec(), *along, *_radii(self.turning))

    def functions(self) -> FrictionFunctions:
        return _load_functions("anisotropic", 5, slope="coulomb", anisotropic=True, turning=self.turning, lanes=True)


FRICTION_LAWS: dict[str, type[FrictionLaw]] = {
    "coulomb": Coulomb, "smooth": SmoothCoulomb, "stribeck": Stribeck, "anisotropic": Anisotropic,
}  # fmt: skip


def resolve_friction_law(given: object) -> FrictionLaw:
    """Return the friction law of a name or table, or ``given`` itself if it is one.

    A table names the law and its options: ``{"law": "stribeck", "turning": True}``.
    """
    if isinstance(given, FrictionLaw):
        return given
    options = dict(given) if isinstance(given, Mapping) else {"law": given}
    name = options.pop("law", "coulomb")
    if not isinstance(name, str) or name not in FRICTION_LAWS:
        raise InputError(f"friction: got {name!r}; expected a friction law: {', '.join(FRICTION_LAWS)}")
    try:
        return FRICTION_LAWS[name](**options)
    except TypeError as cause:
        raise InputError(f"friction: the law {name!r} does not take {options}: {cause}") from cause
