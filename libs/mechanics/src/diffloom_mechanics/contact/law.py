"""Contact laws: what a model of contact is chosen from by name, and what a plugin brings to add one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

from diffloom.interfaces import InputError, ParamSpec

#: The law of every model that is not told otherwise.
DEFAULT_LAW = "hunt_crossley"
_POSITIVE = (0.0, None)


class NormalFunctions(NamedTuple):
    """The device functions of a normal law over ``width`` parameters (1 to 4), as normal_kernels describes them.

    lanes: whether force and adjoint also take scenes side by side (see NodeTerm): ``where`` in place of ``if`` on data.
    """

    width: int
    force: Any
    adjoint: Any
    pair: Any
    pair_adjoint: Any
    lanes: bool = False


class FrictionFunctions(NamedTuple):
    """The device functions of a friction law over ``width`` parameters (1 to 5), as friction_kernels describes them.

    anisotropic: whether the last three of these stretch the sliding velocity (anisotropic_kernels). turning: whether
    two radii follow them, of torsional and of rolling friction of bodies (turning_kernels). lanes: as for normal laws,
    of slope and adjoint.
    """

    width: int
    slope: Any
    adjoint: Any
    pair: Any
    pair_adjoint: Any
    anisotropic: bool = False
    turning: bool = False
    lanes: bool = False


class FrictionLaw(ABC):
    """How a touching point is held back along the surface. Implementations are frozen dataclasses."""

    @property
    @abstractmethod
    def specs(self) -> tuple[ParamSpec, ...]:
        """Its parameters, ``friction_stiffness`` [N s/m] first, each with a default."""

    @abstractmethod
    def functions(self) -> FrictionFunctions:
        """Its device functions, imported when this is called."""


class ContactLaw(ABC):
    """A normal law with a friction law. Implementations are frozen dataclasses with a field ``friction``.

    The first of ``normal_specs`` is ``contact_stiffness`` [N/m], the second the damping, under a name of the law's own:
    values for one law are then never taken for another's.
    """

    friction: FrictionLaw

    @property
    @abstractmethod
    def normal_specs(self) -> tuple[ParamSpec, ...]:
        """The parameters of the normal law, in the order of its device functions, each with a default."""

    @abstractmethod
    def normal(self) -> NormalFunctions:
        """The device functions of the normal law, imported when this is called."""

    @abstractmethod
    def damping(self, restitution: float, reference_speed: float, stiffness: float, mass: float) -> float:
        """The damping with which a point of ``mass`` [kg] that hits at ``reference_speed`` [m/s] leaves with
        ``restitution`` (above 0, at most 1) of it."""

    @abstractmethod
    def rate(self, values: Mapping[str, float], mobility: float, speed: float) -> float:
        """The fastest rate [1/s] of a contact that begins at ``speed`` [m/s], where a force accelerates the touching
        points by ``mobility`` [1/kg] times itself."""

    def per_point(self, name: str) -> bool:
        """Whether a parameter counts for one point, so that a body with more points has less of it on each."""
        return name in ("contact_stiffness", "friction_stiffness")

    @property
    def extra_specs(self) -> tuple[ParamSpec, ...]:
        """Optional parameters that others follow from, see ``resolve``."""
        return ()

    def resolve(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """``params`` with those of normal and friction law worked out from ``extra_specs``, where these are given."""
        return params

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        """The parameters of the normal law and of the friction law."""
        return (*self.normal_specs, *self.friction.specs)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(spec.name for spec in self.specs)

    @property
    def damping_name(self) -> str:
        """The name of its damping."""
        return self.normal_specs[1].name


def resolve_contact_law(given: object) -> ContactLaw:
    """The law of this name, or ``given`` itself where it is one.

    A table names the law and its options: ``{"law": "hunt_crossley", "friction": "stribeck"}``.
    """
    if isinstance(given, ContactLaw):
        return given
    options: dict[str, Any] = {}
    if isinstance(given, Mapping):
        options = dict(given)
        given = options.pop("law", DEFAULT_LAW)
    from diffloom_mechanics.kinds import CONTACT_LAWS, get_contact_law

    known = CONTACT_LAWS.names()
    if not isinstance(given, str):
        raise InputError(f"contact: got {given!r}; expected the name of a contact law: {', '.join(known)}")
    if given not in known:
        hint = "; a body touches with its 'vertices' or is 'round' by the key contact of its own table"
        raise InputError(
            f"contact: got {given!r}; expected the name of a contact law: {', '.join(known)}"
            + (hint if given in ("vertices", "round") else "")
        )
    try:
        law = get_contact_law(given)(**options)
    except TypeError as cause:
        raise InputError(f"contact: the law {given!r} does not take {options}: {cause}") from cause
    if not isinstance(law, ContactLaw):
        raise InputError(f"contact: {given!r} made {law!r}; expected a ContactLaw")
    return law


def make_friction_spec(default: float = 0.5) -> ParamSpec:
    """The Coulomb coefficient."""
    return ParamSpec("friction", default, "", "Coulomb friction coefficient (mu)", bounds=_POSITIVE)


def make_stiffness_spec(default: float = 1e4) -> ParamSpec:
    """The normal stiffness."""
    doc = "normal force per depth, each node (k_e)"
    return ParamSpec("contact_stiffness", default, "N/m", doc, bounds=_POSITIVE)
