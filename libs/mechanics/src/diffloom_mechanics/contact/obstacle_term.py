"""What registered obstacles have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from diffloom.interfaces import ParamSpec
from diffloom_geometry.rotations import rotation_matrix
from diffloom_mechanics import ForceTerm, TermContext
from diffloom_mechanics.contact.law import DEFAULT_LAW
from diffloom_mechanics.contact.obstacle_contact import (
    Pose,
    Shape,
    contact_values,
    obstacle,
    obstacle_specs,
    refuses_obstacles,
)
from diffloom_mechanics.terms import NodeTerm

if TYPE_CHECKING:
    from diffloom_mechanics.node_sets import NodeSet

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
_FIELDS = ("contact_stiffness", "contact_dissipation", "contact_damping", "friction_stiffness", "friction")
UPRIGHT: Quaternion = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class Obstacle(ForceTerm):
    """Something that stands still and is touched: a place, a shape, and contact parameters.

    All fields but ``contact``, the contact law, are where the parameters of the same names start. contact_stiffness
    [N/m], contact_dissipation [s/m] (contact_damping [N s/m] with the law "linear"), friction_stiffness [N s/m] and
    friction: the model's own when not given.
    """

    position: Vector = (0.0, 0.0, 0.0)
    contact_stiffness: float | None = None
    contact_dissipation: float | None = None
    contact_damping: float | None = None
    friction_stiffness: float | None = None
    friction: float | None = None
    contact: Any = DEFAULT_LAW

    #: What the conformance suite holds it to, and values that show parameters it does not show otherwise.
    claims: ClassVar[tuple[str, ...]] = ("conservative", "dissipative")
    variants: ClassVar[tuple[Mapping[str, object], ...]] = (
        {"friction": 0.01},
        {"restitution": 0.5, "reference_speed": 2.0},
    )

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        given = {name: getattr(self, name) for name in _FIELDS if getattr(self, name) is not None}
        contact = obstacle_specs(self.contact, **given)
        return (ParamSpec("position", self.position, "m", "where it stands", (3,)), *self.own_specs, *contact)

    @classmethod
    def refuses(cls, nodes: NodeSet) -> str | None:
        return refuses_obstacles(nodes)

    def term(self, name: str, params: Mapping[str, Tensor], context: TermContext) -> NodeTerm:
        pose = Pose(params["position"], rotation_matrix(params["orientation"]) if "orientation" in params else None)
        return obstacle(name, self.shape(params, context), pose, self.sizes(params), params, context, self.contact)

    @property
    @abstractmethod
    def own_specs(self) -> tuple[ParamSpec, ...]:
        """The parameters of its shape."""

    @abstractmethod
    def shape(self, params: Mapping[str, Tensor], context: TermContext) -> Shape:
        """Its device functions."""

    @abstractmethod
    def sizes(self, params: Mapping[str, Tensor]) -> Tensor:
        """What these read: (sizes,)."""


def orientation_spec(value: Quaternion) -> ParamSpec:
    """The spec of an obstacle's orientation."""
    return ParamSpec("orientation", value, "", "its axes: quaternion w x y z of any length", (4,))


@dataclass(frozen=True)
class Touching:
    """A place for an example: ``point`` is the lowest that touches, ``extent`` [m] the size of what touches, ``depth``
    [m] how deep an obstacle may reach over the point, and ``contact`` the values that the model would have used."""

    point: Tensor
    extent: float
    depth: float
    contact: dict[str, float]


def touching(context: TermContext) -> Touching:
    """Where an obstacle in this context is touched at the start."""
    q = context.start.q.detach()
    points, found = q[:, :3], context.nodes.contact_points
    lowest = points[:, 1]
    if found is not None:
        turns = torch.stack([rotation_matrix(r) for r in q[:, 3:]])
        firsts = found.point_starts[found.cluster_starts]
        body = torch.repeat_interleave(torch.arange(len(q)), torch.tensor(firsts[1:] - firsts[:-1]))
        own = torch.as_tensor(found.points, dtype=q.dtype)
        points = q[body, :3] + (turns[body] @ own[:, :, None])[:, :, 0]
        lowest = points[:, 1] - torch.as_tensor(found.roundness, dtype=q.dtype)[body]
    at = int(lowest.argmin())
    extent = max(float((points - points.mean(dim=0)).norm(dim=1).max()), 1e-3)
    point = torch.stack([points[at, 0], lowest[at], points[at, 2]])
    with torch.no_grad():
        contact = {name: float(value.max()) for name, value in contact_values({}, context).items()}
    return Touching(point, extent, 0.04 * extent, contact)
