"""Bodies of a world: any models, with names from the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from diffloom.interfaces import Control, InputError, MemorySpec, Model, Params, Surface, Trajectory
from diffloom.naming import check_name, select_part
from diffloom.plugins import get_model
from diffloom_mechanics import ElementTerm, Mechanics, NodeSet, NodeTerm, Term, TorchTerm
from diffloom_physics_world.appearance import BodyAppearance, read_appearance

#: Parameter of a world that replaces the parameter of this name of every body.
GRAVITY = "gravity"


@dataclass(frozen=True)
class WorldBody:
    """A model with its name and appearance in a world.

    Args:
        name: Name in the world.
        model: The model.
        appearance: Its appearance.
    """

    name: str
    model: Model
    appearance: BodyAppearance = field(default_factory=BodyAppearance)

    def params(self, params: Mapping[str, Tensor], dtype: torch.dtype) -> Params:
        """Return the body's own parameters from those of the world."""
        own = select_part(self.name, params)
        if GRAVITY in params and GRAVITY in own:
            own[GRAVITY] = params[GRAVITY]
        return Params(own, dtype)

    def set_name(self, own: str | None) -> str:
        """Return the name in the world of a node set of the body's dynamics."""
        return f"{self.name}.{own}" if own else self.name

    def dynamics(self, params: Params, control: Control) -> Mechanics:
        """Return the body's node sets and terms under their names in the world."""
        system = self.model.dynamics(params, Control(select_part(self.name, control)))
        if not isinstance(system, Mechanics):
            raise InputError(
                f"body {self.name!r}: {type(self.model).__name__} has a custom step "
                f"({type(system).__name__}); a world takes models whose dynamics is a Mechanics"
            )
        sets = {self.set_name(own): nodes for own, nodes in system.sets.items()}
        return Mechanics(sets, tuple(self._rename_term(term) for term in system.terms), system.refuses)

    def _rename_term(self, term: Term) -> Term:
        """Return a term with its name and its node sets' names in the world."""
        name = f"{self.name}.{term.name}"
        if not isinstance(term, TorchTerm) and term.memory:
            term = replace(term, memory=tuple(self.rename_memory(spec) for spec in term.memory))
        if isinstance(term, ElementTerm):
            return replace(term, name=name, nodes={self.set_name(own): c for own, c in term.corners.items()}, on=None)
        if isinstance(term, NodeTerm) and term.reads is not None:
            return replace(term, name=name, on=self.set_name(term.on), reads=self.set_name(term.reads))
        return replace(term, name=name, on=self.set_name(term.on))

    def rename_memory(self, spec: MemorySpec) -> MemorySpec:
        """Return an internal variable under its name in the world."""
        return replace(spec, name=f"{self.name}.{spec.name}", shape=(f"{self.name}.{spec.axis}", *spec.row))

    def state(self, params: Params) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Return q and u of the body's node sets at the start."""
        start = self.model.initial_state(params)
        q, u = ({self.set_name(own): pair[k] for own, pair in start.sets.items()} for k in (0, 1))
        return q, u

    def memory(self, params: Params) -> dict[str, Tensor]:
        """Return the internal variables that the body's initial state sets."""
        return {f"{self.name}.{name}": value for name, value in self.model.initial_state(params).memory.items()}

    def part_of(self, whole: Trajectory) -> Trajectory:
        """Return the body's own trajectory."""
        own = select_part(self.name, whole.sets)
        part = whole[self.name] if self.name in whole.sets else None
        q = part.q if part is not None else {k: q for k, (q, _) in own.items()}
        u = part.u if part is not None else {k: u for k, (_, u) in own.items()}
        return Trajectory(q, u, whole.times, whole.batch, whole.mask, select_part(self.name, whole.memory))

    def surface(self, whole: Trajectory, params: Params) -> Surface:
        """Return the body's surface with its appearance."""
        return self.appearance.apply(self.model.surface(self.part_of(whole), params), self.name, self.model)


def select_sets(body: WorldBody, sets: Mapping[str, NodeSet]) -> dict[str, NodeSet]:
    """Return the node sets of a world that belong to a body."""
    return {name: nodes for name, nodes in sets.items() if name.partition(".")[0] == body.name}


def read_bodies(given: Mapping[str, object] | Sequence[Mapping[str, Any]]) -> tuple[WorldBody, ...]:
    """Return bodies from models by name, or from tables of a name, a model with its settings, and an appearance."""
    if isinstance(given, Mapping):
        made = [_body(name, value, f"body {name!r}") for name, value in given.items()]
    else:
        made = [_body(table.get("name"), table, f"bodies[{n}]") for n, table in enumerate(given)]
    if not made:
        raise InputError("World: got no bodies; expected at least one, such as {'ball': get_model('rigid')(...)}")
    for body in made:
        if sum(other.name == body.name for other in made) > 1:
            raise InputError(f"bodies: two are called {body.name!r}; give each a name of its own")
    return tuple(made)


def _body(name: object, given: object, place: str) -> WorldBody:
    """Return a body from a model or a table; check its name."""
    named = check_name("bodies", name)
    if named == GRAVITY:
        raise InputError(f"bodies: the name {named!r} is reserved for the world's own parameter; choose another")
    if isinstance(given, Model):
        return WorldBody(named, given)
    if not isinstance(given, Mapping) or "model" not in given:
        raise InputError(f"{place}: got {given!r}; expected a model, or a table with the key 'model'")
    table = {key: value for key, value in given.items() if key not in ("name", "model")}
    return WorldBody(named, _model(given["model"], place), read_appearance(table, place))


def _model(given: object, place: str) -> Model:
    """Return a model from a model, its registered name, or a table of the name and settings."""
    if isinstance(given, Model):
        return given
    settings = dict(given) if isinstance(given, Mapping) else {"name": given}
    name = settings.pop("name", None)
    if not isinstance(name, str):
        raise InputError(f"{place}: model: got {given!r}; expected a registered name, with settings beside it")
    try:
        made = get_model(name)(**settings)
    except (InputError, TypeError) as error:
        raise InputError(f"{place}: {name}: {error}") from error
    if not isinstance(made, Model):
        raise InputError(f"{place}: {name!r} made {made!r}; expected a Model")
    return made
