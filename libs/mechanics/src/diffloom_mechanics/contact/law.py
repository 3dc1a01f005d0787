"""Contact laws: the interfaces of normal and friction laws, and the lookup by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

from diffloom.interfaces import InputError, ParamSpec

#: Contact law of models for which none is given.
DEFAULT_LAW = "hunt_crossley"
_POSITIVE = (0.0, None)


class NormalFunctions(NamedTuple):
    """Device functions of a normal law, as normal_kernels describes them.

    Args:
        width: Number of parameters, 1 to 4.
        force: ``force(clock, c, vn, k) -> fn``.
        adjoint: ``adjoint(clock, c, vn, k, adj_fn) -> adj_c, adj_vn, adj_k``; derived from the source if None.
        pair: ``pair(k, m)``: parameters of a contact between two bodies.
        pair_adjoint: ``pair_adjoint(k, m, adj) -> adj_k``; derived from the source if None.
        lanes: True if force and adjoint also serve scenes side by side (see NodeTerm): ``where`` in place of ``if`` on
            data.
    """

    width: int
    force: Any
    adjoint: Any = None
    pair: Any = None
    pair_adjoint: Any = None
    lanes: bool = False


class FrictionFunctions(NamedTuple):
    """Device functions of a friction law, as friction_kernels describes them.

    Args:
        width: Number of parameters, 1 to 5.
        slope: ``slope(fn, speed, k) -> s``.
        adjoint: ``adjoint(fn, speed, k, adj_s) -> adj_fn, t, adj_k``; derived from the source if None.
        pair: ``pair(k, m)``: parameters of a contact between two bodies.
        pair_adjoint: ``pair_adjoint(k, m, adj) -> adj_k``; derived from the source if None.
        anisotropic: True if the last three parameters stretch the sliding velocity.
        turning: True if two radii follow the parameters, of torsional and of rolling friction of bodies.
        lanes: True if slope and adjoint also serve scenes side by side (see NodeTerm).
    """

    width: int
    slope: Any
    adjoint: Any = None
    pair: Any = None
    pair_adjoint: Any = None
    anisotropic: bool = False
    turning: bool = False
    lanes: bool = False


class FrictionLaw(ABC):
    """Force that holds back a touching point along the surface. Implementations are frozen dataclasses."""

    @property
    @abstractmethod
    def specs(self) -> tuple[ParamSpec, ...]:
        """Parameters, ``friction_stiffness`` [N s/m] first, each with a default."""

    @abstractmethod
    def functions(self) -> FrictionFunctions:
        """Return the device functions. They are imported here, so that numba is loaded on first use.

        Returns:
            The device functions.
        """


class ContactLaw(ABC):
    """Normal law with a friction law. Implementations are frozen dataclasses with a field ``friction``.

    The first of ``normal_specs`` is ``contact_stiffness`` [N/m], the second the damping, under a name of the law's own,
    so that values for one law are never taken for those of another.
    """

    friction: FrictionLaw

    @property
    @abstractmethod
    def normal_specs(self) -> tuple[ParamSpec, ...]:
        """Parameters of the normal law, in the order of its device functions, each with a default."""

    @abstractmethod
    def normal(self) -> NormalFunctions:
        """Return the device functions of the normal law. They are imported here, so that numba is loaded on first use.

        Returns:
            The device functions.
        """

    def device_functions(self) -> tuple[NormalFunctions, FrictionFunctions]:
        """Return the device functions of the normal and the friction law; adjoints that they lack are derived.

        Returns:
            The device functions, each with an adjoint.
        """
        normal, friction = self.normal(), self.friction.functions()
        if None not in (normal.adjoint, normal.pair_adjoint, friction.adjoint, friction.pair_adjoint):
            return normal, friction
        from diffloom_mechanics.contact.derived_laws import complete_friction, complete_normal

        return complete_normal(normal), complete_friction(friction)

    @abstractmethod
    def damping(self, restitution: float, reference_speed: float, stiffness: float, mass: float) -> float:
        """Return the damping that gives a bouncing point a restitution.

        Args:
            restitution: Speed after the impact over speed before, above 0, at most 1.
            reference_speed: Speed of the impact [m/s].
            stiffness: Contact stiffness [N/m].
            mass: Mass of the point [kg].

        Returns:
            Value of the parameter ``damping_name``.
        """

    @abstractmethod
    def rate(self, values: Mapping[str, float], mobility: float, speed: float) -> float:
        """Return the fastest rate of a contact, which limits the step length.

        Args:
            values: Parameters of the law by name.
            mobility: Acceleration of the touching points per force [1/kg].
            speed: Speed at which the contact begins [m/s].

        Returns:
            Rate [1/s].
        """

    def per_point(self, name: str) -> bool:
        """Return True if a parameter counts for one point, so that a body with more points has less of it on each.

        Args:
            name: Name of the parameter.

        Returns:
            The answer.
        """
        return name in ("contact_stiffness", "friction_stiffness")

    @property
    def extra_specs(self) -> tuple[ParamSpec, ...]:
        """Optional parameters from which ``resolve`` computes parameters of the law, such as a restitution."""
        return ()

    def resolve(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Compute parameters of the law from the optional ones that are given.

        Args:
            params: Parameters by name.

        Returns:
            The parameters, with those of normal and friction law.
        """
        return params

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        """Parameters of the normal law and of the friction law."""
        return (*self.normal_specs, *self.friction.specs)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(spec.name for spec in self.specs)

    @property
    def damping_name(self) -> str:
        """Name of the damping parameter."""
        return self.normal_specs[1].name


def resolve_contact_law(given: object) -> ContactLaw:
    """Return a contact law from its name, a table or the law itself.

    Args:
        given: Name, ContactLaw, or a table of the name and options: ``{"law": "hunt_crossley", "friction":
            "stribeck"}``.

    Returns:
        The law.

    Raises:
        InputError: No law has this name, or it does not take the options.
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
        raise InputError(
            f"contact: {given!r} is registered with a function that returned {law!r}; expected a ContactLaw"
        )
    return law


def make_friction_spec(default: float = 0.5) -> ParamSpec:
    """Return the spec of the Coulomb coefficient."""
    return ParamSpec("friction", default, "", "Coulomb friction coefficient (mu)", bounds=_POSITIVE)


def make_stiffness_spec(default: float = 1e4) -> ParamSpec:
    """Return the spec of the normal stiffness."""
    doc = "normal force per depth, each node (k_e)"
    return ParamSpec("contact_stiffness", default, "N/m", doc, bounds=_POSITIVE)
