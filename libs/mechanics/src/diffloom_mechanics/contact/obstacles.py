"""Obstacles as registered terms: the base class, and those with exact distances (sphere, box, capsule, plane)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

import torch
from torch import Tensor

from diffloom.interfaces import ParamSpec
from diffloom_geometry.rotations import rotation_matrix
from diffloom_mechanics import ForceTerm, TermContext
from diffloom_mechanics.contact.ground_plane import normalise_normal
from diffloom_mechanics.contact.law import DEFAULT_LAW
from diffloom_mechanics.contact.obstacle_contact import (
    ObstaclePose,
    ObstacleShape,
    collect_contact_values,
    make_obstacle_specs,
    obstacle,
    refuse_obstacles,
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
    """Fixed obstacle: a place, a shape, and contact parameters.

    Fields are the initial values of the parameters of the same names. Contact parameters that are None are those of the
    model.

    Args:
        position: Place [m].
        contact_stiffness: Normal stiffness [N/m].
        contact_dissipation: Damping of the law "hunt_crossley" [s/m].
        contact_damping: Damping of the law "linear" [N s/m].
        friction_stiffness: Friction per sliding speed before it slips [N s/m].
        friction: Coulomb coefficient.
        contact: Contact law, its name, or a table.
    """

    position: Vector = (0.0, 0.0, 0.0)
    contact_stiffness: float | None = None
    contact_dissipation: float | None = None
    contact_damping: float | None = None
    friction_stiffness: float | None = None
    friction: float | None = None
    contact: Any = DEFAULT_LAW

    #: Name of the shape in obstacle_kernels.
    kernel: ClassVar[str]
    #: Properties for the conformance suite, and values at which further parameters have a gradient.
    claims: ClassVar[tuple[str, ...]] = ("conservative", "dissipative")
    variants: ClassVar[tuple[Mapping[str, object], ...]] = (
        {"friction": 0.01},
        {"restitution": 0.5, "reference_speed": 2.0},
    )

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        given = {name: getattr(self, name) for name in _FIELDS if getattr(self, name) is not None}
        contact = make_obstacle_specs(self.contact, **given)
        return (ParamSpec("position", self.position, "m", "position of the obstacle", (3,)), *self.own_specs, *contact)

    @classmethod
    def refuses(cls, nodes: NodeSet) -> str | None:
        return refuse_obstacles(nodes)

    def term(self, name: str, params: Mapping[str, Tensor], context: TermContext) -> NodeTerm:
        pose = ObstaclePose(
            params["position"], rotation_matrix(params["orientation"]) if "orientation" in params else None
        )
        return obstacle(name, self.shape(params, context), pose, self.sizes(params), params, context, self.contact)

    @property
    @abstractmethod
    def own_specs(self) -> tuple[ParamSpec, ...]:
        """Parameters of the shape."""

    def shape(self, params: Mapping[str, Tensor], context: TermContext) -> ObstacleShape:
        """Return the device functions of the shape."""
        return self.load_shape()

    def load_shape(self, **constants: Any) -> ObstacleShape:
        """Import the device functions named after ``kernel``, and add the constants of an ObstacleShape."""
        from diffloom_mechanics.contact import obstacle_kernels as kernels

        distance, adjoint = (getattr(kernels, f"{self.kernel}_distance{part}") for part in ("", "_adjoint"))
        return ObstacleShape(distance, adjoint, **constants)

    @abstractmethod
    def sizes(self, params: Mapping[str, Tensor]) -> Tensor:
        """Return the sizes (sizes,) that the device functions read."""


def make_orientation_spec(value: Quaternion) -> ParamSpec:
    """Return the spec of an obstacle's orientation."""
    return ParamSpec("orientation", value, "", "orientation of the obstacle: quaternion w x y z of any length", (4,))


@dataclass(frozen=True)
class ExamplePlace:
    """Place and contact of an example obstacle.

    Args:
        point: Lowest touching point (3,) [m].
        extent: Size of the touching body [m].
        depth: Depth to which the obstacle may reach over the point [m].
        contact: Contact parameters that the model would use.
    """

    point: Tensor
    extent: float
    depth: float
    contact: dict[str, float]


def find_example_place(context: TermContext) -> ExamplePlace:
    """Return the place at which an obstacle is touched at the start."""
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
        contact = {name: float(value.max()) for name, value in collect_contact_values({}, context).items()}
    return ExamplePlace(point, extent, 0.04 * extent, contact)


_POSITIVE = (0.0, None)


@final
@dataclass(frozen=True, kw_only=True)
class Sphere(Obstacle):
    """Ball. Differentiable by position, radius and contact parameters.

    Args:
        radius: Radius [m].
    """

    kernel: ClassVar[str] = "sphere"
    radius: float = 0.5

    @classmethod
    def example(cls, context: TermContext) -> Sphere:
        """Return a ball that reaches over the lowest point."""
        at = find_example_place(context)
        centre = at.point + torch.tensor([0.05 * at.extent, at.depth - at.extent, -0.03 * at.extent])
        return cls(position=_vector(centre), radius=at.extent, **at.contact)

    @property
    def own_specs(self) -> tuple[ParamSpec, ...]:
        return (ParamSpec("radius", self.radius, "m", "radius of the ball", (), _POSITIVE),)

    def sizes(self, params: Mapping[str, Tensor]) -> Tensor:
        return params["radius"].reshape(1)


@final
@dataclass(frozen=True, kw_only=True)
class Box(Obstacle):
    """Box. Differentiable by all parameters, contact included.

    Args:
        size: Edge lengths [m].
        orientation: Quaternion w x y z.
    """

    kernel: ClassVar[str] = "box"
    size: Vector = (1.0, 1.0, 1.0)
    orientation: Quaternion = UPRIGHT

    @classmethod
    def example(cls, context: TermContext) -> Box:
        """Return a tilted box whose top is just above the lowest point."""
        at = find_example_place(context)
        turn: Quaternion = (1.0, 0.05, 0.1, -0.03)
        up = rotation_matrix(torch.tensor(turn))[:, 1]
        centre = at.point + torch.tensor([0.1, 0.0, 0.05]) * at.extent + (at.depth - at.extent) * up
        return cls(
            position=_vector(centre), size=(2.5 * at.extent, 2.0 * at.extent, 3.0 * at.extent), orientation=turn,
            **at.contact,
        )  # fmt: skip

    @property
    def own_specs(self) -> tuple[ParamSpec, ...]:
        size = ParamSpec("size", self.size, "m", "edge lengths", (3,), _POSITIVE)
        return (size, make_orientation_spec(self.orientation))

    def sizes(self, params: Mapping[str, Tensor]) -> Tensor:
        return 0.5 * params["size"].expand(3)


@final
@dataclass(frozen=True, kw_only=True)
class Capsule(Obstacle):
    """Cylinder along y with half a ball at either end. Differentiable by all parameters, contact included.

    Args:
        radius: Radius [m].
        length: Length of the straight part [m].
        orientation: Quaternion w x y z.
    """

    kernel: ClassVar[str] = "capsule"
    radius: float = 0.25
    length: float = 0.5
    orientation: Quaternion = UPRIGHT

    @classmethod
    def example(cls, context: TermContext) -> Capsule:
        """Return a tilted capsule that reaches over the lowest point with its upper end."""
        at = find_example_place(context)
        turn: Quaternion = (1.0, 0.15, 0.05, -0.1)
        radius, length = 0.8 * at.extent, 0.5 * at.extent
        end = at.point + torch.tensor([0.05 * at.extent, at.depth - radius, 0.02 * at.extent])
        centre = end - 0.5 * length * rotation_matrix(torch.tensor(turn))[:, 1]
        return cls(position=_vector(centre), radius=radius, length=length, orientation=turn, **at.contact)

    @property
    def own_specs(self) -> tuple[ParamSpec, ...]:
        return (
            ParamSpec("radius", self.radius, "m", "radius of the cylinder and its ends", (), _POSITIVE),
            ParamSpec("length", self.length, "m", "length of the straight part", (), _POSITIVE),
            make_orientation_spec(self.orientation),
        )

    def sizes(self, params: Mapping[str, Tensor]) -> Tensor:
        return torch.stack([params["radius"].reshape(()), 0.5 * params["length"].reshape(())])


@final
@dataclass(frozen=True, kw_only=True)
class Plane(Obstacle):
    """Plane through ``position``. Differentiable by position, normal and contact parameters.

    Args:
        normal: Direction away from the solid side, of any length but 0.
    """

    kernel: ClassVar[str] = "plane"
    normal: Vector = (0.0, 1.0, 0.0)

    @classmethod
    def example(cls, context: TermContext) -> Plane:
        """Return a tilted plane just above the lowest point."""
        at = find_example_place(context)
        return cls(
            position=_vector(at.point + torch.tensor([0.0, at.depth, 0.0])), normal=(0.1, 1.5, -0.05), **at.contact
        )

    @property
    def own_specs(self) -> tuple[ParamSpec, ...]:
        return (ParamSpec("normal", self.normal, "", "direction away from the solid side, of any length", (3,)),)

    def sizes(self, params: Mapping[str, Tensor]) -> Tensor:
        return normalise_normal(params["normal"].expand(3))


def _vector(place: Tensor) -> Vector:
    x, y, z = place.tolist()
    return (x, y, z)
