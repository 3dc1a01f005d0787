"""The model "world": several bodies of any models in one scene, touching each other."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import (
    Control,
    InputError,
    Model,
    Params,
    ParamSpec,
    State,
    Stress,
    Surface,
    Trajectory,
    check_param_names,
    join_stresses,
    join_surfaces,
    make_params,
)
from diffloom.naming import prefix_spec, select_part
from diffloom_mechanics import Mechanics, NodeSet, NodeTerm, Term
from diffloom_mechanics.contact import TouchingSkin
from diffloom_physics_world.attachments import read_attachments
from diffloom_physics_world.bodies import GRAVITY, WorldBody, read_bodies, sets_of
from diffloom_physics_world.contact_terms import (
    ContactSide,
    carried,
    contact_terms,
    edge_length,
    is_sheet,
    meets,
    triangle_terms,
)
from diffloom_physics_world.contacts import (
    WorldContact,
    can_touch,
    is_particles,
    read_contacts,
    side_values,
    touching_nodes,
)
from diffloom_physics_world.example import EXAMPLE_ATTACHMENTS, example_bodies, example_settings
from diffloom_physics_world.stability import suggested_step

#: Thickness of contact between particles and triangles, in edges.
THICKNESS = 0.1


@final
class World(Model):
    """Bodies of any models, by name, that move together.

    bodies: models by name, such as {"ball": get_model("rigid")(...), "sheet": get_model("cloth")(...)}; or tables with
    the keys name, model (a registered name, or a table of it with settings), colour and texture. The parameters of
    each are called ``name.<parameter>``, its node sets by its name. contacts: all bodies that can touch each other do;
    tables with the key ``between`` say otherwise of two (``touch``, ``law``, ``thickness``, ``triangles`` and values of
    parameters), False of all. contact: the contact law. attachments: what holds bodies together, see Attachment.
    The parameter ``gravity``, when given, is that of every body.
    """

    example_settings = example_settings()

    def __init__(
        self,
        bodies: Mapping[str, object] | Sequence[Mapping[str, Any]],
        *,
        contacts: Sequence[Mapping[str, Any]] | bool | None = None,
        attachments: Sequence[Mapping[str, Any]] = (),
        contact: object = "hunt_crossley",
    ) -> None:
        self.bodies = read_bodies(bodies)
        self._by_name = {body.name: body for body in self.bodies}
        systems = {body.name: body.dynamics(body.model.params(), Control()) for body in self.bodies}
        able = {name: any(can_touch(nodes) for nodes in system.sets.values()) for name, system in systems.items()}
        self.contacts = read_contacts(contacts, self.bodies, able, contact)
        taken = {body.name for body in self.bodies} | {c.name for c in self.contacts}
        self.attachments = read_attachments(attachments, self._by_name, systems, taken)
        self._edges = {name: length for body in self.bodies for name, length in _edges(body, systems[body.name])}
        parts = [(body.name, body.model.specs) for body in self.bodies]
        parts += [(contact.name, contact.specs) for contact in self.contacts]
        parts += [(attachment.name, attachment.specs) for attachment in self.attachments]
        gravity = ParamSpec(GRAVITY, None, "m/s^2", "acceleration of free fall of every body, when given", (3,))
        self._specs = (*(prefix_spec(name, spec) for name, specs in parts for spec in specs), gravity)

    @classmethod
    def example(cls) -> World:
        """A ball that moves in a net of particles, tied to one of them."""
        return cls(example_bodies(), attachments=EXAMPLE_ATTACHMENTS)

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        return self._specs

    @property
    def axes(self) -> Mapping[str, int]:
        return {f"{body.name}.{axis}": n for body in self.bodies for axis, n in body.model.axes.items()}

    def params(self, dtype: torch.dtype = torch.float32, *, batch: object = None, **values: object) -> Params:
        if batch is not None:
            return super().params(dtype, batch=batch, **values)
        specs = {spec.name: spec for spec in self.specs}
        check_param_names("World", specs, values)
        # Here already, so that what is wrong is told under the name it was given.
        checked = {
            name: specs[name].check(v, self.axes, dtype)
            for name, v in values.items()
            if name in specs and v is not None
        }
        values = {**values, **checked}
        made: dict[str, Tensor] = {}
        for body in self.bodies:
            own = body.model.params(dtype, **select_part(body.name, values))
            made |= {f"{body.name}.{name}": value for name, value in own.items()}
        ours = tuple(spec for spec in self.specs if spec.name.partition(".")[0] not in self._by_name)
        given = {name: value for name, value in values.items() if name.partition(".")[0] not in self._by_name}
        made |= make_params("World", ours, self.axes, given, dtype)
        return Params(made, dtype, frozenset(made))

    def derived(self, params: Params) -> Mapping[str, Tensor]:
        found = ((body, body.model.derived(body.params(params, params.dtype))) for body in self.bodies)
        return {f"{body.name}.{name}": value for body, own in found for name, value in own.items()}

    def initial_state(self, params: Params) -> State:
        q: dict[str, Tensor] = {}
        u: dict[str, Tensor] = {}
        for body in self.bodies:
            own_q, own_u = body.state(body.params(params, params.dtype))
            q |= own_q
            u |= own_u
        return State(q, u)

    def dynamics(self, params: Params, control: Control) -> Mechanics:
        systems = [body.dynamics(body.params(params, params.dtype), control) for body in self.bodies]
        sets = {name: nodes for system in systems for name, nodes in system.sets.items()}
        terms: list[Term] = [term for system in systems for term in system.terms]
        for contact in self.contacts:
            terms += self._contact(contact, params, sets)
        start = self.initial_state(params) if self.attachments else None
        for attachment in self.attachments:
            assert start is not None
            own = Params(select_part(attachment.name, params), params.dtype)
            terms += attachment.terms(own, Control(select_part(attachment.name, control)), start, sets)
        return Mechanics(sets, tuple(terms))

    def _contact(self, contact: WorldContact, params: Params, sets: Mapping[str, NodeSet]) -> Iterable[Term]:
        """Contact of every set of one body with every set of the other."""
        for a, b in itertools.product(*(self._touching(name, sets) for name in contact.between)):
            if not meets(a[1], b[1]):
                continue
            thickness = contact.thickness
            both = is_particles(a[1]) and is_particles(b[1])
            sides = [
                ContactSide(name, nodes, self.side_values_of(contact, params, name, nodes, paired=not both))
                for name, nodes in (a, b)
            ]
            if thickness is None:
                thickness = THICKNESS * min(self._edges[side.name] for side in sides) if both else 0.0
            terms = [*contact_terms(contact.name, contact.law, sides[0], sides[1], thickness)]
            if not both:
                terms += self._triangles(contact, sides)
            yield from (carried(term, sides) for term in terms)

    def _triangles(self, contact: WorldContact, sides: Sequence[ContactSide]) -> Iterable[NodeTerm]:
        """Points of rigid bodies against triangles. A point needs a skin that it does not cross in a step; a ball that
        is large beside the triangles is one itself."""
        skin = next((side for side in sides if len(side.faces)), None)
        if skin is None or contact.triangles is False or not (contact.triangles or is_sheet(skin.faces)):
            return
        (other,) = (side for side in sides if side is not skin)
        roundness = other.bodies.points.roundness
        thickness = np.maximum(THICKNESS * self._edges[skin.name] - roundness, 0.0)
        if contact.thickness is not None:
            thickness = np.full(len(roundness), contact.thickness)
        yield from triangle_terms(contact.name, contact.law, skin, other, thickness)

    def _touching(self, body: str, sets: Mapping[str, NodeSet]) -> list[tuple[str, NodeSet]]:
        own = sets_of(self._by_name[body], sets).items()
        return [(name, touching_nodes(nodes)) for name, nodes in own if can_touch(nodes)]

    def side_values_of(
        self, contact: WorldContact, params: Params, name: str, nodes: NodeSet, *, paired: bool
    ) -> dict[str, Tensor]:
        """Contact parameters of the node set ``name`` in a contact, (nodes,) each."""
        body: WorldBody = self._by_name[name.partition(".")[0]]
        given = select_part(contact.name, params)
        return side_values(contact, given, body, body.params(params, params.dtype), nodes, paired=paired)

    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        return join_surfaces([body.surface(trajectory, body.params(params, params.dtype)) for body in self.bodies])

    def stress(self, trajectory: Trajectory, params: Params, control: Control | None = None) -> Stress | None:
        """Of the bodies that have one; bodies with another unit than pressure count only where no body has pressure."""
        found, counts = [], []
        for body in self.bodies:
            own, part = body.params(params, params.dtype), body.part_of(trajectory)
            found.append(body.model.stress(part, own, Control(select_part(body.name, control or {}))))
            counts.append(int(body.model.surface(part, own).vertices.shape[1]))
        return join_stresses(found, counts, len(trajectory))

    def suggested_dt(self, params: Params | None = None) -> float:
        """A step length [s] that explicit integrators follow: of the elasticity of all bodies where they start, and of
        every contact between bodies."""
        return suggested_step(self, self.params(torch.float64) if params is None else params)

    def body(self, name: str) -> Model:
        """The model of one body."""
        if name not in self._by_name:
            raise InputError(f"no body is called {name!r}; there are {', '.join(self._by_name)}")
        return self._by_name[name].model


def _edges(body: WorldBody, system: Mechanics) -> Iterable[tuple[str, float]]:
    """The mean length [m] of the edges of each node set's triangles, as the model starts by default: what a thickness
    follows from is the same whatever is sought, and in all scenes of a batch."""
    start, _ = body.state(body.model.params(torch.float64))
    for name, nodes in system.sets.items():
        touches = nodes.touches
        faces = touches.faces if isinstance(touches, TouchingSkin) else np.zeros((0, 3), np.int32)
        yield name, edge_length(start[name], faces)
