"""The interface of a force term that any scene may add to any model it fits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from diffloom.errors import InputError
from diffloom.interfaces import Control, Model, Params, ParamSpec, State

if TYPE_CHECKING:
    from diffloom_mechanics import NodeSet, Term


@dataclass(frozen=True)
class TermContext:
    """What a term sees of the model it is added to.

    nodes: the node set it acts on: ``nodes.name`` is its kind ("particles": q and u of width 3, "bodies": q of width 7,
    u of width 6), ``nodes.count`` how many there are. on: the set's name where the model has several. model and params:
    the model, for its meshes and axes, and its own parameters. control: the term's own values per step.
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
        """(nodes,) [kg], 0 for nodes that are held; differentiable."""
        for name, value in self.nodes.arrays:
            if name == "inverse_mass":
                free = value > 0
                return torch.where(free, 1.0 / torch.where(free, value, torch.ones_like(value)), value)
        raise InputError(f"the node set {self.nodes.name!r} has no array 'inverse_mass' to take masses from")

    @property
    def start(self) -> State:
        """Where the nodes start: q (nodes, dq), u (nodes, du)."""
        state = self.model.initial_state(self.params)
        return state if self.on is None else state[self.on]


class ForceTerm(ABC):
    """A force with parameters of its own. Implementations are frozen dataclasses: settings, and nothing that changes.

    ``diffloom.WithTerms(model, {"name": term})`` adds terms to a model; the parameters of this one are then called
    ``name.<parameter>`` everywhere. Classes that are registered also bring ``example(context) -> ForceTerm``, a term
    that acts on the nodes where they start, for the conformance suite (see ``diffloom_testing.check_term``).

    claims: of "conservative", "dissipative", "momentum" and "angular_momentum", what the suite holds it to. variants:
    mappings of values, each for the gradients of the parameters it names. expected_failures: checks that cannot pass,
    each with its reason.
    """

    claims: ClassVar[tuple[str, ...]] = ()
    variants: ClassVar[tuple[Mapping[str, object], ...]] = ()
    expected_failures: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def example(cls, context: TermContext) -> ForceTerm:
        """A term that acts on the nodes of ``context`` where they start; one with default settings unless defined."""
        return cls()

    @property
    @abstractmethod
    def specs(self) -> tuple[ParamSpec, ...]:
        """Its parameters, in a fixed order. A shape may name the axis "nodes", and those of ``axes``."""

    @property
    def axes(self) -> Mapping[str, int]:
        """Lengths of axes that its shapes name besides "nodes"; none by default."""
        return {}

    @classmethod
    @abstractmethod
    def refuses(cls, nodes: NodeSet) -> str | None:
        """Why it does not fit such nodes, naming those it fits; None where it does."""

    @abstractmethod
    def term(self, name: str, params: Mapping[str, Tensor], context: TermContext) -> Term:
        """The force ``name`` on the nodes of ``context``, from its own parameters by their own names."""
