"""Force terms with parameters of their own: the interface, and models to which terms are added."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import ClassVar, final

import torch
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import (
    Control,
    InputError,
    MemorySpec,
    Model,
    Params,
    ParamSpec,
    State,
    Stress,
    Surface,
    Trajectory,
    check_param_names,
    make_params,
)
from diffloom.naming import check_name, prefix_spec, select_part
from diffloom_mechanics.node_sets import NodeSet
from diffloom_mechanics.system import Mechanics
from diffloom_mechanics.terms import Term, TorchTerm


@dataclass(frozen=True)
class TermContext:
    """Model and nodes that a force term acts on.

    Args:
        model: The model, for its meshes and axes.
        params: Parameters of the model.
        nodes: Node set that the term acts on. Its ``name`` is its kind: "particles" have q and u of width 3, "bodies" q
            of width 7 and u of width 6.
        on: Name of the node set where the model has several.
        control: Values per step of the term's own parameters.
    """

    model: Model
    params: Params
    nodes: NodeSet
    on: str | None = None
    control: Control = field(default_factory=Control)

    @property
    def count(self) -> int:
        """Number of nodes."""
        return self.nodes.count

    @property
    def dtype(self) -> torch.dtype:
        """Precision of all parameters."""
        return self.params.dtype

    @property
    def masses(self) -> Tensor:
        """Masses (nodes,) [kg], 0 for nodes that are held; differentiable."""
        for name, value in self.nodes.arrays:
            if name == "inverse_mass":
                free = value > 0
                return torch.where(free, 1.0 / torch.where(free, value, torch.ones_like(value)), value)
        raise InputError(
            f"masses: the node set {self.nodes.name!r} has no array 'inverse_mass'; expected one that has, such as "
            "particles"
        )

    @property
    def start(self) -> State:
        """Initial state: q (nodes, dq), u (nodes, du)."""
        state = self.model.initial_state(self.params)
        return state if self.on is None else state[self.on]


class ForceTerm(ABC):
    """Force with parameters of its own. Implementations are frozen dataclasses that hold settings only.

    ``WithTerms(model, {"name": term})`` adds terms to a model; the parameters of this term are then called
    ``name.<parameter>`` everywhere. Registered classes also bring ``example(context) -> ForceTerm``, a term that acts
    on the nodes where they start, for the conformance suite (see ``diffloom_testing.check_term``).

    Class attributes for the suite:
        claims: Properties that are tested, of "conservative", "dissipative", "momentum" and "angular_momentum".
        variants: Mappings of parameter values, each for the gradients of the parameters it names.
        expected_failures: Checks that cannot pass, each with its reason.
    """

    claims: ClassVar[tuple[str, ...]] = ()
    variants: ClassVar[tuple[Mapping[str, object], ...]] = ()
    expected_failures: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def example(cls, context: TermContext) -> ForceTerm:
        """Return a term that acts on some nodes where they start; one with default settings unless overridden.

        Args:
            context: The nodes.

        Returns:
            The term.
        """
        return cls()

    @property
    @abstractmethod
    def specs(self) -> tuple[ParamSpec, ...]:
        """Parameters in a fixed order. A shape may name the axis "nodes", and those of ``axes``."""

    @property
    def axes(self) -> Mapping[str, int]:
        """Lengths of axes that shapes name besides "nodes"; none by default."""
        return {}

    @property
    def memory(self) -> tuple[MemorySpec, ...]:
        """Internal variables, those of the term that ``term`` returns; none by default."""
        return ()

    @classmethod
    @abstractmethod
    def refuses(cls, nodes: NodeSet) -> str | None:
        """Return the reason why the term does not fit some nodes.

        Args:
            nodes: Node set to test.

        Returns:
            Sentence that names the nodes it fits, or None where it fits.
        """

    @abstractmethod
    def term(self, name: str, params: Mapping[str, Tensor], context: TermContext) -> Term:
        """Return the force on the nodes of a model.

        Args:
            name: Name of the force.
            params: Values of the term's parameters, by their own names.
            context: Model and nodes.

        Returns:
            The force term.
        """


def get_step_values(
    name: str, params: Mapping[str, Tensor], control: Mapping[str, Tensor], shape: Sequence[int]
) -> Tensor:
    """Return the values of a parameter that may change from step to step.

    Args:
        name: Name of the parameter.
        params: Parameter values.
        control: Values per step (steps, ...) of the parameters that a control drives.
        shape: Shape of the parameter at one step.

    Returns:
        (steps, *shape) if the control drives the parameter, else (1, *shape).
    """
    if name in control:
        rows = control[name]
        narrow = rows.dim() - 1
        return broadcast(
            rows.reshape(rows.shape[0], *[1] * (len(shape) - narrow), *rows.shape[1:]), (rows.shape[0], *shape)
        )
    return broadcast(params[name], (1, *shape))


@final
class WithTerms(Model):
    """Model with additional force terms on its nodes.

    Initial state, surface and integrators are those of the model.

    Args:
        model: The model; its dynamics must be a ``Mechanics``.
        terms: Force terms by names of your own. The parameters of each are called ``name.<parameter>``, beside those of
            the model.
        on: Name of the node set for a term, by the term's name, where the term fits several sets of the model.

    Raises:
        InputError: A term fits no node set, or several without ``on``.

    Example:
        ``WithTerms(get_model("fem")(), {"ball": get_term("sphere")(radius=0.3)})``
    """

    def __init__(self, model: Model, terms: Mapping[str, ForceTerm], on: Mapping[str, str] | None = None) -> None:
        self.model = model
        self.default_integrator = model.default_integrator
        self.terms = MappingProxyType(dict(terms))
        for name, term in self.terms.items():
            _check(name, term)
        given = dict(on or {})
        unknown = sorted(set(given) - set(self.terms))
        if unknown:
            raise InputError(f"on: there is no term {unknown[0]!r}; the terms are {', '.join(self.terms)}")
        taken = {spec.name.partition(".")[0] for spec in model.specs if "." in spec.name} & set(self.terms)
        if taken:
            raise InputError(f"terms: the model has a term {min(taken)!r} already; give this one another name")
        sets = _mechanics(model, model.dynamics(model.params(), Control()), self.terms).sets
        self.on = MappingProxyType(
            {name: _set_of(name, self.terms[name], sets, given.get(name), model) for name in terms}
        )
        self._counts = {name: sets[self.on[name]].count for name in self.terms}
        self._inner = frozenset(spec.name for spec in model.specs)
        self._specs = (*model.specs, *(spec for name in self.terms for spec in self._own_specs(name)))

    def __reduce__(self) -> tuple[object, ...]:
        return WithTerms, (self.model, dict(self.terms), dict(self.on))

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        return self._specs

    @property
    def axes(self) -> Mapping[str, int]:
        own = {f"{name}.{axis}": n for name in self.terms for axis, n in self._axes_of(name).items()}
        return {**self.model.axes, **own}

    def params(self, dtype: torch.dtype = torch.float32, *, batch: object = None, **values: object) -> Params:
        if batch is not None:
            return super().params(dtype, batch=batch, **values)
        check_param_names(type(self.model).__name__, {spec.name: spec for spec in self.specs}, values)
        made = dict(self.model.params(dtype, **{k: v for k, v in values.items() if k in self._inner}))
        for term in self.terms:
            given = {k: v for k, v in values.items() if k.startswith(f"{term}.")}
            made |= make_params(term, self._own_specs(term), self.axes, given, dtype)
        return Params(made, dtype, frozenset(made))

    @property
    def memory(self) -> tuple[MemorySpec, ...]:
        return (*self.model.memory, *(spec for name in self.terms for spec in self._memory_of(name)))

    def derived(self, params: Params) -> Mapping[str, torch.Tensor]:
        return self.model.derived(self._models(params))

    def initial_state(self, params: Params) -> State:
        return self.model.initial_state(self._models(params))

    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        return self.model.surface(trajectory, self._models(params))

    def stress(self, trajectory: Trajectory, params: Params, control: Control | None = None) -> Stress | None:
        driven = {name: value for name, value in (control or {}).items() if name in self._inner}
        return self.model.stress(trajectory, self._models(params), Control(driven))

    def dynamics(self, params: Params, control: Control) -> Mechanics:
        inner = self._models(params)
        driven = Control({name: value for name, value in control.items() if name in self._inner})
        system = _mechanics(self.model, self.model.dynamics(inner, driven), self.terms)
        added = []
        for name, term in self.terms.items():
            nodes = system.sets[self.on[name]]
            context = TermContext(self.model, inner, nodes, self.on[name] or None, Control(select_part(name, control)))
            made = term.term(name, Params(select_part(name, params), params.dtype), context)
            if not isinstance(made, TorchTerm) and made.memory:
                made = replace(made, memory=self._memory_of(name))
            added.append(made)
        return replace(system, terms=(*system.terms, *added))

    def suggested_dt(self, params: Params | None = None) -> float:
        """Return a step length for explicit integrators: the shorter of that of the model and that of all forces at the
        start.

        Args:
            params: Parameters; their defaults if None.

        Returns:
            The step [s].
        """
        from diffloom_mechanics.stability import suggest_explicit_step

        given = self.params(torch.float64) if params is None else params
        suggest = getattr(self.model, "suggested_dt", None)
        own = math.inf if suggest is None else float(suggest(self._models(given)))
        return min(own, suggest_explicit_step(self, given))

    def _models(self, params: Params) -> Params:
        """Return the parameters of the model without those of the terms."""
        return Params({name: value for name, value in params.items() if name in self._inner}, params.dtype)

    def _axes_of(self, name: str) -> Mapping[str, int]:
        return {"nodes": self._counts[name], **self.terms[name].axes}

    def _own_specs(self, name: str) -> tuple[ParamSpec, ...]:
        """Return the specs of a term under the names they have here."""
        return tuple(prefix_spec(name, spec) for spec in self.terms[name].specs)

    def _memory_of(self, name: str) -> tuple[MemorySpec, ...]:
        """Return the internal variables of a term under the names they have here."""
        specs = self.terms[name].memory
        return tuple(replace(s, name=f"{name}.{s.name}", shape=(f"{name}.{s.axis}", *s.row)) for s in specs)


def _check(name: object, term: object) -> None:
    """Raise InputError unless a name and a term are valid."""
    check_name("terms", name)
    if not isinstance(term, ForceTerm):
        raise InputError(f"term {name!r}: got {term!r}; expected a ForceTerm, such as get_term('sphere')(radius=0.3)")


def _mechanics(model: Model, dynamics: object, terms: Iterable[str]) -> Mechanics:
    """Return the dynamics as a Mechanics, or raise InputError."""
    if isinstance(dynamics, Mechanics):
        return dynamics
    raise InputError(
        f"terms {', '.join(map(repr, terms))}: {type(model).__name__} brings a step of its own "
        f"({type(dynamics).__name__}), to which no force can be added; terms fit models whose dynamics is a Mechanics"
    )


def _set_of(name: str, term: ForceTerm, sets: Mapping[str, NodeSet], on: str | None, model: Model) -> str:
    """Return the name of the node set that a term acts on."""
    if on is not None and on not in sets:
        raise InputError(
            f"term {name!r}: there is no node set {on!r} in {type(model).__name__}; there are "
            f"{', '.join(map(repr, sets))}"
        )
    asked = list(sets) if on is None else [on]
    reasons = {key: term.refuses(sets[key]) for key in asked}
    fitting = [key for key, reason in reasons.items() if reason is None]
    if not fitting:
        why = "; ".join(dict.fromkeys(str(reason) for reason in reasons.values()))
        raise InputError(f"term {name!r} ({type(term).__name__}) does not fit {type(model).__name__}: {why}")
    if len(fitting) > 1:
        raise InputError(
            f"term {name!r} fits the node sets {', '.join(map(repr, fitting))} of {type(model).__name__}; say which "
            f"with on={{{name!r}: {fitting[0]!r}}}"
        )
    return fitting[0]
