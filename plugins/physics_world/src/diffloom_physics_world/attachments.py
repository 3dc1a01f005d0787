"""Attachments that hold bodies of a world together, or move them: springs, holds, paths and forces."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import Control, InputError, Params, ParamSpec, State
from diffloom.naming import check_name
from diffloom_mechanics import (
    CarriedLinks,
    ElementTerm,
    Mechanics,
    NodeSet,
    NodeTerm,
    build_carried_elements,
    get_step_values,
)
from diffloom_physics_world.bodies import WorldBody
from diffloom_physics_world.contacts import is_particles, is_rigid

_KEYS = {
    "spring": ("name", "kind", "between", "points", "stiffness", "damping", "length"),
    "hold": ("name", "kind", "between", "points", "stiffness", "damping"),
    "path": ("name", "kind", "body", "point", "stiffness", "damping", "times", "places"),
    "force": ("name", "kind", "body", "point", "force"),
}
_POSITIVE = (0.0, None)


@dataclass(frozen=True)
class AttachmentEnd:
    """A point of a body.

    Args:
        set: Node set.
        node: Particle or rigid body; for a link, the number of a body that the nodes of the set carry.
        offset: Position in the axes of a rigid body or link [m].
        rigid: True for a point of a rigid body or link.
        link: True for a point of a link.
    """

    set: str
    node: int
    offset: tuple[float, float, float]
    rigid: bool
    link: bool = False

    @property
    def corner(self) -> NDArray[np.int32]:
        """Corner of an element term."""
        return np.array([[self.node]], dtype=np.int32)

    def place(self, start: State, sets: Mapping[str, NodeSet]) -> Tensor:
        """Return the position at the start (3,) [m]."""
        carries = sets[self.set].carries
        if self.link and carries is not None:
            turns, origins = carries.places(start[self.set].q)
            return origins[self.node] + turns[self.node] @ origins.new_tensor(self.offset)
        q = start[self.set].q[self.node]
        if not self.rigid:
            return torch.as_tensor(q)
        w, vector = q[3], q[4:]
        own = torch.tensor(self.offset, dtype=q.dtype)
        across = 2.0 * torch.linalg.cross(vector, own)
        found: Tensor = q[:3] + own + w * across + torch.linalg.cross(vector, across)
        return found


@dataclass(frozen=True)
class Attachment:
    """A spring or a hold between points of two bodies, the path of one point, or a force on it.

    Parameters are called ``name.stiffness`` and so on.

    Args:
        name: Name of the attachment.
        kind: "spring" has a rest length, by default the length at the start. "hold" keeps two points together, damped
            in all directions. "path" pulls a point along its parameter ``place``, which may have one value per step (a
            control), or along straight lines between ``places`` that it passes at ``times`` [s]. "force" acts on a
            point, and may be a control too.
        ends: Points on the bodies.
        given: Values of parameters.
    """

    name: str
    kind: str
    ends: tuple[AttachmentEnd, ...]
    given: Mapping[str, Any]

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        """Parameters of the attachment, without its name in front."""
        if self.kind == "force":
            start = self.given.get("force", (0.0, 0.0, 0.0))
            return (ParamSpec("force", start, "N", "on the point, along the world's axes", (3,), per_step=True),)
        own = [
            ParamSpec("stiffness", self.given.get("stiffness", 100.0), "N/m", "pull per distance", (), _POSITIVE),
            ParamSpec("damping", self.given.get("damping", 1.0), "N s/m", "pull per speed", (), _POSITIVE),
        ]
        if self.kind == "spring":
            length = "length at rest; that at the start if not given"
            own.append(ParamSpec("length", self.given.get("length"), "m", length, (), _POSITIVE))
        if self.kind == "path" and "places" in self.given:
            stops = self.given["places"]
            own.append(ParamSpec("places", stops, "m", "where the point is at the given times", (len(stops), 3)))
        elif self.kind == "path":
            where = "where the point is pulled to; where it starts if not given"
            own.append(ParamSpec("place", None, "m", where, (3,), per_step=True))
        return tuple(own)

    def terms(
        self, params: Params, control: Control, start: State, sets: Mapping[str, NodeSet]
    ) -> Sequence[ElementTerm | NodeTerm]:
        """Return the force terms: one, or one for each side of a link's attachment.

        Args:
            params: Parameters of the attachment, without its name in front.
            control: Controls, without its name in front.
            start: State at the start.
            sets: Node sets of the world.
        """
        term = self._term(params, control, start, sets)
        carries = {end.set: sets[end.set].carries for end in self.ends if end.link}
        if not carries:
            return (term,)
        carried = {name: found.bodies() for name, found in carries.items() if found is not None}
        return build_carried_elements(term, {end.set: end.rigid for end in self.ends}, carried)

    def _term(self, params: Params, control: Control, start: State, sets: Mapping[str, NodeSet]) -> ElementTerm:
        """Return the term on the nodes of the sets, before links are taken into account."""
        if self.kind == "force":
            return self._force(params, control)
        numbers = [(name, broadcast(params[name], (1,))) for name in ("stiffness", "damping")]
        offsets = tuple(np.array([end.offset]) for end in self.ends)
        if self.kind == "path":
            return self._path(params, control, start, sets, offsets, numbers)
        from diffloom_physics_world.attachment_kernels import holds_between, springs_between

        first, second = self.ends
        if self.kind == "spring":
            apart = (second.place(start, sets) - first.place(start, sets)).norm()
            numbers.append(("length", broadcast(params.get("length", apart), (1,))))
        make = springs_between if self.kind == "spring" else holds_between
        force, adjoint = make(first.rigid, second.rigid)
        corners = {first.set: first.corner, second.set: second.corner}
        return ElementTerm(self.name, corners, force, adjoint, offsets, tuple(numbers), simd=False)

    def _force(self, params: Params, control: Control) -> ElementTerm:
        """Return the term of a given force."""
        from diffloom_physics_world.driving_kernels import point_force

        (end,) = self.ends
        rows = get_step_values("force", params, control, (3,))
        xyz = tuple((axis, rows[:, k : k + 1].contiguous()) for k, axis in enumerate("xyz"))
        force, adjoint = point_force(end.rigid)
        return ElementTerm(
            self.name, end.corner, force, adjoint, (np.array([end.offset]),), xyz, per_step=("x", "y", "z"), simd=False,
            on=end.set,
        )  # fmt: skip

    def _tour(
        self, params: Params, offsets: tuple[NDArray[Any], ...], numbers: list[tuple[str, Tensor]]
    ) -> ElementTerm:  # fmt: skip
        """Return the term of a path through places at given times."""
        from diffloom_physics_world.driving_kernels import tour_hold

        (end,) = self.ends
        force, adjoint = tour_hold(end.rigid)
        times = np.array([self.given["times"]], dtype=np.float64)
        places = ("places", params["places"].reshape(1, -1))
        return ElementTerm(
            self.name, end.corner, force, adjoint, (*offsets, times), (places, *numbers), simd=False, on=end.set
        )  # fmt: skip

    def _path(
        self, params: Params, control: Control, start: State, sets: Mapping[str, NodeSet],
        offsets: tuple[NDArray[Any], ...], numbers: list[tuple[str, Tensor]],
    ) -> ElementTerm:  # fmt: skip
        """Return the term of a path with one place per step."""
        from diffloom_physics_world.attachment_kernels import path_hold

        (end,) = self.ends
        if "places" in self.given:
            return self._tour(params, offsets, numbers)
        known = dict(params) if "place" in params else {"place": end.place(start, sets)}
        rows = get_step_values("place", known, control, (3,))
        xyz = [(axis, rows[:, k : k + 1].contiguous()) for k, axis in enumerate("xyz")]
        force, adjoint = path_hold(end.rigid)
        return ElementTerm(
            self.name, end.corner, force, adjoint, offsets, (*xyz, *numbers), per_step=("x", "y", "z"), simd=False,
            on=end.set,
        )  # fmt: skip


def read_attachments(
    given: Sequence[Mapping[str, Any]],
    bodies: Mapping[str, WorldBody],
    systems: Mapping[str, Mechanics],
    taken: set[str],
) -> tuple[Attachment, ...]:
    """Return attachments from tables.

    Args:
        given: The tables.
        bodies: Bodies by name.
        systems: Dynamics of each body.
        taken: Names that are in use.
    """
    found: list[Attachment] = []
    for number, table in enumerate(given):
        name = check_name("attachments", table.get("name", f"attachment{number}"))
        place = f"attachment {name!r}"
        if name in taken or name in [other.name for other in found]:
            raise InputError(f"{place}: the name is in use already; give it another name")
        kind = table.get("kind", "hold")
        if kind not in _KEYS:
            raise InputError(f"{place}: kind: got {kind!r}; expected one of {', '.join(_KEYS)}")
        for key in table:
            if key not in _KEYS[kind]:
                raise InputError(f"{place}: got {key!r}; a {kind} has {', '.join(_KEYS[kind])}")
        _check_stops(table, place)
        whose, points = _whose(table, kind, place)
        ends = tuple(_end(body, point, systems, place) for body, point in zip(whose, points, strict=True))
        found.append(
            Attachment(
                name,
                kind,
                ends,
                {k: table[k] for k in ("stiffness", "damping", "length", "force", "times", "places") if k in table},
            )
        )
    return tuple(found)


def _check_stops(table: Mapping[str, Any], place: str) -> None:
    """Raise InputError unless times and places of a path belong together."""
    if "times" not in table and "places" not in table:
        return
    try:
        times, places = (np.array(table.get(key, ()), dtype=np.float64) for key in ("times", "places"))
    except (TypeError, ValueError) as error:
        raise InputError(f"{place}: times and places: {error}; expected numbers") from error
    if len(times) < 2 or places.shape != (len(times), 3) or not (np.diff(times) > 0.0).all():
        raise InputError(
            f"{place}: got {len(times)} times and places of shape {places.shape}; expected two or more rising times "
            "[s] and a place [x, y, z] for each"
        )


def _whose(table: Mapping[str, Any], kind: str, place: str) -> tuple[list[str], list[Any]]:
    """Return the bodies of an attachment and the points on them."""
    if kind in ("path", "force"):
        return [table.get("body", "")], [table.get("point", 0)]
    pair, points = table.get("between"), table.get("points")
    if not isinstance(pair, (list, tuple)) or len(set(pair)) != 2:
        raise InputError(f"{place}: between: got {pair!r}; expected the names of two bodies")
    if not isinstance(points, (list, tuple)) or len(points) != 2:
        raise InputError(
            f"{place}: points: got {points!r}; expected a point of each body: the number of a particle, or a place "
            "in a rigid body's axes"
        )
    return list(pair), list(points)


def _end(body: object, point: Any, systems: Mapping[str, Mechanics], place: str) -> AttachmentEnd:
    """Return a point of a body: the number of a particle; (x, y, z), or {body, point} for one of several bodies."""
    if not isinstance(body, str) or body not in systems:
        raise InputError(f"{place}: got the body {body!r}; expected one of {', '.join(systems)}")
    name, nodes = next(iter(systems[body].sets.items()))
    if is_particles(nodes):
        if isinstance(point, bool) or not isinstance(point, int) or not 0 <= point < nodes.count:
            raise InputError(f"{place}: got {point!r} of {body!r}; expected a particle, 0 to {nodes.count - 1}")
        return AttachmentEnd(name, point, (0.0, 0.0, 0.0), rigid=False)
    if nodes.carries is not None:
        return _link_end(body, name, point, nodes.carries, place)
    if not is_rigid(nodes):
        raise InputError(f"{place}: {body!r} has neither particles nor rigid bodies nor links to attach to")
    number, own = (point.get("body", 0), point.get("point")) if isinstance(point, Mapping) else (0, point)
    values = _place_of(own)
    if values is None or not isinstance(number, int) or not 0 <= number < nodes.count:
        raise InputError(
            f"{place}: got {point!r} of {body!r}; expected a place [m] in the body's axes, such as [0, 0, 0]"
        )
    return AttachmentEnd(name, number, values, rigid=True)


def _link_end(body: str, name: str, point: Any, carries: CarriedLinks, place: str) -> AttachmentEnd:
    """Return a point of a link: {link, point}, or the link's name for its origin."""
    link, own = (point.get("link"), point.get("point", 0)) if isinstance(point, Mapping) else (point, 0)
    values = _place_of(own)
    if values is None or not isinstance(link, str) or carries.names.count(link) != 1:
        raise InputError(
            f"{place}: got {point!r} of {body!r}; expected one of its links and a place [m] in its axes, such as "
            f"{{ link = {carries.names[-1]!r}, point = [0, 0, 0] }}; there are {', '.join(carries.names)}"
        )
    return AttachmentEnd(name, carries.names.index(link), values, rigid=True, link=True)


def _place_of(given: Any) -> tuple[float, float, float] | None:
    """Return three finite numbers, also for 0, the origin; None for anything else."""
    values = tuple(float(v) for v in given) if isinstance(given, (list, tuple)) else (0.0,) * (3 if given == 0 else 0)
    return (values[0], values[1], values[2]) if len(values) == 3 and all(map(math.isfinite, values)) else None
