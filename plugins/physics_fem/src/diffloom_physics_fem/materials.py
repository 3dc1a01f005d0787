"""Materials of a solid by name: their parameters, stress and memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from diffloom.interfaces import InputError, MemorySpec, ParamSpec
from diffloom.validation import check_choice

_TETS, _POSITIVE = ("tets",), (0.0, None)
#: Most parameters of a material, and most numbers that it remembers.
MOST = 9


@dataclass(frozen=True)
class SolidMaterial:
    """Material of a solid, by its stress or its energy density.

    The functions are device functions of numbers, without adjoints, which are derived from their source. F is the
    deformation gradient and P the first Piola-Kirchhoff stress [Pa], nine numbers each, row by row; p is a tuple of the
    parameters of an element. A material with memory also takes a tuple m of what the element remembers, and the time h
    [s] since it was updated.

    Args:
        specs: Parameters, one value for each tetrahedron; one to nine.
        stress: ``stress(F, p) -> P``, or with memory ``stress(F, m, h, p) -> P``.
        energy: ``energy(F, p) -> W``, the energy per volume at rest [J/m^3], instead of ``stress``; without memory.
        memory: Internal variables of each tetrahedron, with nine numbers or less in all.
        update: ``update(F, m, h, p) -> numbers`` of the memory after a step of length h.
        values: Function from a parameter's name and values to what the device functions take for it; the values
            themselves by default.
    """

    specs: tuple[ParamSpec, ...]
    stress: Any = None
    energy: Any = None
    memory: tuple[MemorySpec, ...] = ()
    update: Any = None
    values: Callable[[str, Tensor], Tensor] = lambda name, value: value

    def __post_init__(self) -> None:
        if not 1 <= len(self.specs) <= MOST or self.width > MOST:
            raise InputError(
                f"SolidMaterial: got {len(self.specs)} parameters and {self.width} numbers of memory; expected 1 to "
                f"{MOST}, and {MOST} or less"
            )
        if (self.stress is None) == (self.energy is None) or (self.energy is not None and self.memory):
            raise InputError("SolidMaterial: expected either a stress, or an energy without memory")
        if bool(self.memory) != (self.update is not None):
            raise InputError("SolidMaterial: got memory or update alone; expected both, or neither")

    @property
    def width(self) -> int:
        """Count of numbers that a tetrahedron remembers."""
        return sum(spec.width for spec in self.memory)


def _modulus(name: str, value: float, doc: str) -> ParamSpec:
    return ParamSpec(name, value, "Pa", doc, _TETS, _POSITIVE)


ELASTIC = (
    _modulus("shear_modulus", 1e5, "mu, of small shear"),
    _modulus("bulk_modulus", 2e5, "kappa: resists change of volume"),
)
INELASTIC = MemorySpec(
    "inelastic_metric", (1.0, 0.0, 0.0, 1.0, 0.0, 1.0), "",
    "inverse of the inelastic right Cauchy-Green tensor: entries 00 01 02 11 12 22", ("tets", 6),
)  # fmt: skip
AMOUNT = MemorySpec("plastic_strain", 0.0, "", "accumulated equivalent plastic strain", _TETS)


def _make_von_mises() -> SolidMaterial:
    from diffloom_physics_fem import material_kernels as kernels

    specs = (
        *ELASTIC,
        _modulus("yield_stress", 5e3, "Y: von Mises stress at which flow begins"),
        _modulus("hardening", 0.0, "H: growth of the yield stress per plastic strain"),
    )
    return SolidMaterial(specs, kernels.von_mises_stress, None, (INELASTIC, AMOUNT), kernels.von_mises_update)


def _make_drucker_prager() -> SolidMaterial:
    from diffloom_physics_fem import material_kernels as kernels

    specs = (
        *ELASTIC,
        ParamSpec("friction_angle", 0.6, "rad", "phi: steepest stable slope, up to pi/2", _TETS, (0.0, 1.57)),
        _modulus("cohesion", 0.0, "shear strength without pressure"),
    )
    return SolidMaterial(
        specs, kernels.drucker_prager_stress, None, (INELASTIC, AMOUNT), kernels.drucker_prager_update, _take_sine
    )


def _take_sine(name: str, value: Tensor) -> Tensor:
    """Return the sine of an angle, and other parameters unchanged."""
    return torch.sin(value) if name == "friction_angle" else value


def _make_viscoelastic() -> SolidMaterial:
    from diffloom_physics_fem import material_kernels as kernels

    specs = (
        *ELASTIC,
        _modulus("branch_modulus", 1e5, "shear modulus of the Maxwell branch, which relaxes"),
        ParamSpec("relaxation_time", 0.1, "s", "time in which stress of the branch falls to 1/e", _TETS, (1e-9, None)),
    )
    return SolidMaterial(specs, kernels.viscoelastic_stress, None, (INELASTIC,), kernels.viscoelastic_update)


#: Functions that make the materials with memory, by name; "neo_hookean" has kernels of its own.
MATERIALS: Mapping[str, Callable[[], SolidMaterial]] = {
    "von_mises": _make_von_mises,
    "drucker_prager": _make_drucker_prager,
    "viscoelastic": _make_viscoelastic,
}


def resolve_material(given: object) -> SolidMaterial | None:
    """Return a material; None for the neo-Hookean one.

    Args:
        given: Name, or a SolidMaterial.

    Raises:
        InputError: The name is unknown.
    """
    if isinstance(given, SolidMaterial):
        return given
    name = check_choice("FemModel.material", str(given), ("neo_hookean", *MATERIALS))
    return None if name == "neo_hookean" else MATERIALS[name]()
