"""Parameters of a deformable solid, and the choice between alternatives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from diffloom.interfaces import InputError, Params, ParamSpec
from diffloom.validation import check_choice
from diffloom_mechanics.contact import ContactLaw, make_contact_specs
from diffloom_physics_fem.materials import SolidMaterial

_POSITIVE = (0.0, None)
_TETS, _PARTICLES, _POINTS = ("tets",), ("particles",), ("particles", 3)

MATERIAL = (
    ParamSpec("density", 1000.0, "kg/m^3", "mass per volume at rest", _TETS, _POSITIVE),
    ParamSpec("mass", None, "kg", "mass of each particle, instead of density; 0 holds it", _PARTICLES, _POSITIVE),
    ParamSpec("shear_modulus", 1e5, "Pa", "mu of the neo-Hookean energy", _TETS, _POSITIVE),
    ParamSpec("lame_modulus", 1e5, "Pa", "lam of the neo-Hookean energy: resists change of volume", _TETS, _POSITIVE),
    ParamSpec("youngs_modulus", None, "Pa", "E at small strain, instead of mu and lam", _TETS, _POSITIVE),
    ParamSpec("poisson_ratio", None, "", "nu at small strain, with youngs_modulus", _TETS, (-0.99, 0.499)),
    ParamSpec("damping", 1.0, "Pa s", "stress per rate of Green's strain", _TETS, _POSITIVE),
    ParamSpec("activation", 0.0, "", "relative growth of the rest volume (the muscle)", _TETS, per_step=True),
)
START = (
    ParamSpec("position", (0.0, 0.0, 0.0), "m", "initial place of the mesh's origin", (3,)),
    ParamSpec(
        "orientation",
        (1.0, 0.0, 0.0, 0.0),
        "",
        "initial rotation about the mesh's origin: quaternion w x y z of any length",
        (4,),
    ),
    ParamSpec("velocity", (0.0, 0.0, 0.0), "m/s", "initial velocity, for all particles or for each", _POINTS),
    ParamSpec("angular_velocity", (0.0, 0.0, 0.0), "rad/s", "initial angular velocity about the centre of mass", (3,)),
    ParamSpec(
        "start_shape", None, "m", "initial vertices before rotation and shift; the mesh's own if not given", _POINTS
    ),
    ParamSpec(
        "rest_shape", None, "m", "vertices of the shape without elastic force; the mesh's own if not given", _POINTS
    ),
)
WORLD = (ParamSpec("gravity", (0.0, -9.81, 0.0), "m/s^2", "acceleration of free fall", (3,)),)

# Parameters that solids of every material have.
COMMON = ("density", "mass", "damping")
# Parameters of which a region may have its own.
SHAREABLE = (
    "density", "mass", "shear_modulus", "lame_modulus", "youngs_modulus", "poisson_ratio", "damping", "activation",
)  # fmt: skip
# A parameter of the right-hand side replaces the defaults of the left-hand side.
_ALTERNATIVES = (
    (("shear_modulus", "lame_modulus"), ("youngs_modulus", "poisson_ratio")),
    (("density",), ("mass",)),
)
DEFAULT_POISSON = 0.3


def declare_specs(
    shared: Mapping[str, Sequence[str]], contact: ContactLaw | None, material: SolidMaterial | None = None
) -> tuple[ParamSpec, ...]:
    """Return all specs.

    contact: law of the ground, or None. material: None for the neo-Hookean one. shared: by region, names of parameters
    of which it has its own, called ``<parameter>_<region>``.
    """
    common = MATERIAL if material is None else (*(s for s in MATERIAL if s.name in COMMON), *material.specs)
    base = (*common, *START, *WORLD, *(() if contact is None else make_contact_specs(contact)))
    known = {spec.name: spec for spec in base}
    shareable = SHAREABLE if material is None else (*COMMON, *(spec.name for spec in material.specs))
    own = []
    for region, names in shared.items():
        for name in [names] if isinstance(names, str) else names:
            spec = known[check_choice(f"shared, region {region!r}", name, shareable)]
            doc = f"{name} in the region {region!r}; like the rest if not given"
            own.append(ParamSpec(f"{name}_{region}", None, spec.unit, doc, (), spec.bounds, spec.per_step))
    return base + tuple(own)


def choose_alternatives(params: Params, given: Iterable[str]) -> Params:
    """Return ``params`` without the defaults that ``given`` parameters replace; InputError when both kinds are
    given.
    """
    names = set(given)
    left = dict(params)
    for usual, instead in _ALTERNATIVES:
        replacing = sorted(n for n in names if n.startswith(instead))
        replaced = sorted(n for n in names if n.startswith(usual))
        if replacing and replaced:
            raise InputError(
                f"FemModel: got {', '.join(replacing)} and {', '.join(replaced)}; give either {' and '.join(instead)} "
                f"or {' and '.join(usual)}"
            )
        if replacing:
            for name in usual:
                left.pop(name, None)
    if "poisson_ratio" in left and "youngs_modulus" not in left:
        raise InputError("FemModel: got poisson_ratio without youngs_modulus; give both")
    if "youngs_modulus" in left and "poisson_ratio" not in left:
        left["poisson_ratio"] = left["youngs_modulus"].new_tensor(DEFAULT_POISSON)
    return Params(left, params.dtype, frozenset(left))
