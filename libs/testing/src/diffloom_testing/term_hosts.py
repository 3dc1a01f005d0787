"""Hosts of a force term under test: every installed model that the term fits, and a small chain of particles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from diffloom.interfaces import Control, ExampleSettings, Model, Params, ParamSpec, State
from diffloom.plugins import get_model, models
from diffloom_mechanics import ForceTerm, Mechanics, NodeSet, TermContext, WithTerms, get_term
from diffloom_testing.results import Skip
from diffloom_testing.systems import ToyChain

#: Name of the term under test within its hosts.
TERM = "tested"


@dataclass(frozen=True)
class Host:
    """A model's example that the term under test fits.

    Args:
        name: Name of the model.
        model: The example.
        values: Parameters of the example that differ from the defaults.
        dt: Step of the example [s].
        make: Returns the term for the nodes of a context.
        on: Node set on which the term acts; "" for the only one.
    """

    name: str
    model: Model
    values: Mapping[str, Any]
    dt: float
    make: Callable[[TermContext], ForceTerm]
    on: str = ""

    @cached_property
    def composed(self) -> WithTerms:
        """The model with the term, placed so that it acts."""
        params = self.model.params(torch.float64, **self.values)
        system = self.model.dynamics(params, Control())
        assert isinstance(system, Mechanics)
        context = TermContext(self.model, params, system.sets[self.on], self.on or None)
        return WithTerms(self.model, {TERM: self.make(context)}, {TERM: self.on} if self.on else None)

    def params(self, dtype: torch.dtype = torch.float64, **own: Any) -> Params:
        """Return parameters of the model with the term, with some of the term's values replaced."""
        given = {f"{TERM}.{name}": value for name, value in own.items()}
        return self.composed.params(dtype, **{**self.values, **given})

    def state(self, dtype: torch.dtype = torch.float64) -> State:
        """Return the start of the example, with velocities that differ from node to node."""
        params = self.params(dtype)
        start = self.composed.initial_state(params)
        start = start[self.on] if self.on else start
        along = torch.linspace(0.0, 9.0, start.u.numel(), dtype=torch.float64).reshape(start.u.shape)
        return State(start.q.detach(), (start.u + 0.4 * torch.sin(3.0 * along).to(dtype)).detach())

    def alone(self, params: Params) -> Mechanics:
        """Return the dynamics of the nodes under the term alone."""
        system = self.composed.dynamics(params, Control())
        nodes = system.set(self.on or None)
        term = next(t for t in system.terms if t.name == TERM)
        return Mechanics({self.on: nodes} if self.on else nodes, (term,))

    def force(self, q: Tensor, u: Tensor, **own: Tensor) -> Tensor:
        """Return the term's force (nodes, du) at a state, differentiable."""
        return self.alone(self.params(q.dtype, **own)).force(q, u, dt=self.dt)


@dataclass(frozen=True)
class TermSubject:
    """A class of force terms under test.

    Args:
        name: Name of the term.
        found: The class, with ``example(context)``.
    """

    name: str
    found: Any
    kind: str = field(default="term", init=False)

    @cached_property
    def hosts(self) -> Mapping[str, Host]:
        """All hosts that the term fits, by name."""
        found = {}
        for name, model, system, settings in _candidates():
            for on in self._sets(system)[:1]:
                found[name] = Host(name, model, settings.values, settings.dt, self.found.example, on)
        return found

    @cached_property
    def refused_models(self) -> Mapping[str, Model]:
        """Installed models that the term does not fit."""
        return {name: model for name, model, system, _ in _candidates() if not self._sets(system)}

    def _sets(self, system: object) -> list[str]:
        """Return the node sets that the term fits, large sets first, because distances between nodes place an
        example.
        """
        if not isinstance(system, Mechanics):
            return []
        fitting = [on for on, nodes in system.sets.items() if self.found.refuses(nodes) is None]
        return sorted(fitting, key=lambda on: -system.sets[on].count)

    @property
    def host(self) -> Host:
        """First of the hosts."""
        if not self.hosts:
            raise Skip("no installed model has nodes that this term fits")
        return next(iter(self.hosts.values()))

    @property
    def term(self) -> ForceTerm:
        """Example of the term on the first host."""
        return self.host.composed.terms[TERM]

    @property
    def model(self) -> Model:
        """First host with the term, for checks of declarations."""
        return self.host.composed

    def spec(self, name: str) -> ParamSpec:
        """Return the declaration of one of the term's parameters in a host."""
        return self.model.spec(f"{TERM}.{name}")


def term_subject(given: Any) -> TermSubject:
    """Return the subject for a registered name or a class of force terms."""
    name, found = (given, get_term(given)) if isinstance(given, str) else (None, given)
    title = str(name or getattr(found, "__name__", found))
    if not (isinstance(found, type) and issubclass(found, ForceTerm)):
        raise TypeError(
            f"{title}: a term is checked as a class that derives from diffloom_mechanics.ForceTerm and has "
            "example(context) -> ForceTerm, a term that acts on the nodes where they start"
        )
    return TermSubject(title, found)


def _candidates() -> list[tuple[str, Model, object, ExampleSettings]]:
    """Return name, example, dynamics and settings of each model with an example; a chain of particles comes first."""
    settings = ExampleSettings(1e-3, 12, "stiffness")
    found: list[tuple[str, Model, ExampleSettings]] = [("particles", ToyChain(), settings)]
    for name in models():
        kind = get_model(name)
        if isinstance(kind, type) and issubclass(kind, Model) and kind.example_settings is not None:
            found.append((name, kind.example(), ExampleSettings.of(name, kind.example_settings)))
    made: list[tuple[str, Model, object, ExampleSettings]] = []
    for name, model, settings in found:
        system = model.dynamics(model.params(torch.float64, **settings.values), Control())
        made.append((name, model, system, settings))
    return made


def dials() -> NodeSet:
    """Return nodes of one coordinate each, which hardly any term fits."""
    mass = torch.ones(2, dtype=torch.float64)
    return NodeSet("dials", 1, 1, None, None, (("inertia", mass),))
