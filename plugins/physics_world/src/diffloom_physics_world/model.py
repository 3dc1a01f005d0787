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
    MemorySpec,
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
from diffloom_physics_world.bodies import GRAVITY, WorldBody, read_bodies, select_sets
from diffloom_physics_world.contact_terms import (
    ContactSide,
    can_meet,
    contact_terms,
    is_sheet,
    lift_to_carriers,
    measure_edge_length,
    triangle_terms,
)
from diffloom_physics_world.contacts import (
    WorldContact,
    can_touch,
    find_touching_nodes,
    is_particles,
    read_contacts,
    resolve_side_values,
)
from diffloom_physics_world.example import EXAMPLE_ATTACHMENTS, example_bodies, example_settings
from diffloom_physics_world.stability import suggest_step

#: Thickness of contact between particles and triangles, relative to an edge.
THICKNESS = 0.1


@final
class World(Model):
    """Bodies of any models, by name, that move together.

    The parameters of each body are called ``name.<parameter>``, its node sets by its name. The parameter ``gravity``,
    if given, is that of every body. See docs/worlds.md.

    Args:
        bodies: Models by name, such as ``{"ball": get_model("rigid")(...), "sheet": get_model("cloth")(...)}``, or
            tables with the keys name, model (a registered name, or a table of it with settings), colour, texture and
            material.
        contacts: Tables with the key ``between`` for pairs that differ from the default (``touch``, ``law``,
            ``thickness``, ``triangles`` and values of parameters); by default all bodies touch that can; False for
            none.
        attachments: Tables of springs, holds, paths and forces; see Attachment.
        contact: Contact law: a registered name, a table with the key ``law``, or a law.

    Example:
        world = World({"ball": ball, "sheet": sheet}, contacts=[{"between": ["ball", "sheet"], "friction": 0.3}])
        path = simulate(world, world.params(), dt=world.suggested_dt(), steps=1000)
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
        """Return a ball that moves in a net of particles, tied to one of them."""
        return cls(example_bodies(), attachments=EXAMPLE_ATTACHMENTS)

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        return self._specs

    @property
    def axes(self) -> Mapping[str, int]:
        return {f"{body.name}.{axis}": n for body in self.bodies for axis, n in body.model.axes.items()}

    @property
    def memory(self) -> tuple[MemorySpec, ...]:
        return tuple(body.rename_memory(spec) for body in self.bodies for spec in body.model.memory)

    def params(self, dtype: torch.dtype = torch.float32, *, batch: object = None, **values: object) -> Params:
        if batch is not None:
            return super().params(dtype, batch=batch, **values)
        specs = {spec.name: spec for spec in self.specs}
        check_param_names("World", specs, values)
        # Check the body's own values here, so that an error names the parameter as the user gave it.
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
        memory: dict[str, Tensor] = {}
        for body in self.bodies:
            own = body.params(params, params.dtype)
            own_q, own_u = body.state(own)
            q |= own_q
            u |= own_u
            memory |= body.memory(own)
        return State(q, u, memory=memory)

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
        rules = [system.refuses for system in systems if system.refuses is not None]

        def refuses(name: str) -> str | None:
            return next((reason for rule in rules if (reason := rule(name)) is not None), None)

        return Mechanics(sets, tuple(terms), refuses if rules else None)

    def _contact(self, contact: WorldContact, params: Params, sets: Mapping[str, NodeSet]) -> Iterable[Term]:
        """Return the contact terms of every set of one body with every set of the other."""
        for a, b in itertools.product(*(self._list_touching(name, sets) for name in contact.between)):
            if not can_meet(a[1], b[1]):
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
            yield from (lift_to_carriers(term, sides) for term in terms)

    def _triangles(self, contact: WorldContact, sides: Sequence[ContactSide]) -> Iterable[NodeTerm]:
        """Return the contact terms of points of rigid bodies with triangles.

        A point needs a thickness that it does not cross in one step; a ball that is large beside the triangles brings
        its own.
        """
        skin = next((side for side in sides if len(side.faces)), None)
        if skin is None or contact.triangles is False or not (contact.triangles or is_sheet(skin.faces)):
            return
        (other,) = (side for side in sides if side is not skin)
        roundness = other.bodies.points.roundness
        thickness = np.maximum(THICKNESS * self._edges[skin.name] - roundness, 0.0)
        if contact.thickness is not None:
            thickness = np.full(len(roundness), contact.thickness)
        yield from triangle_terms(contact.name, contact.law, skin, other, thickness)

    def _list_touching(self, body: str, sets: Mapping[str, NodeSet]) -> list[tuple[str, NodeSet]]:
        """Return the node sets of a body that can touch, by name."""
        own = select_sets(self._by_name[body], sets).items()
        return [(name, find_touching_nodes(nodes)) for name, nodes in own if can_touch(nodes)]

    def side_values_of(
        self, contact: WorldContact, params: Params, name: str, nodes: NodeSet, *, paired: bool
    ) -> dict[str, Tensor]:
        """Return the contact parameters (nodes,) of the node set ``name`` in a contact."""
        body: WorldBody = self._by_name[name.partition(".")[0]]
        given = select_part(contact.name, params)
        return resolve_side_values(contact, given, body, body.params(params, params.dtype), nodes, paired=paired)

    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        return join_surfaces([body.surface(trajectory, body.params(params, params.dtype)) for body in self.bodies])

    def stress(self, trajectory: Trajectory, params: Params, control: Control | None = None) -> Stress | None:
        """Return the stress of the bodies that have one; those with another unit than Pa count only if no body has Pa.

        Args:
            trajectory: States.
            params: Parameters of the world.
            control: Controls that drove the motion, a row for each frame.
        """
        found, counts = [], []
        for body in self.bodies:
            own, part = body.params(params, params.dtype), body.part_of(trajectory)
            found.append(body.model.stress(part, own, Control(select_part(body.name, control or {}))))
            counts.append(int(body.model.surface(part, own).vertices.shape[1]))
        return join_stresses(found, counts, len(trajectory))

    def suggested_dt(self, params: Params | None = None) -> float:
        """Return a step length [s] for explicit integrators.

        It follows from the elasticity of all bodies at the start and from every contact between bodies.

        Args:
            params: Parameters of the world; its defaults if None.
        """
        return suggest_step(self, self.params(torch.float64) if params is None else params)

    def body(self, name: str) -> Model:
        """Return the model of one body.

        Raises:
            InputError: No body has this name.
        """
        if name not in self._by_name:
            raise InputError(f"no body is called {name!r}; there are {', '.join(self._by_name)}")
        return self._by_name[name].model


def _edges(body: WorldBody, system: Mechanics) -> Iterable[tuple[str, float]]:
    """Return the mean length [m] of the edges of each node set's triangles, at the model's default start.

    The defaults are used because a thickness that follows from the edges must not depend on sought parameters or
    scenes.
    """
    start, _ = body.state(body.model.params(torch.float64))
    for name, nodes in system.sets.items():
        touches = nodes.touches
        faces = touches.faces if isinstance(touches, TouchingSkin) else np.zeros((0, 3), np.int32)
        yield name, measure_edge_length(start[name], faces)
