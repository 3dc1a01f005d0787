"""Obstacles with exact distances: sphere, box, capsule and plane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from diffloom.interfaces import ParamSpec
from diffloom_geometry.rotations import rotation_matrix
from diffloom_mechanics import TermContext
from diffloom_mechanics.contact.ground_plane import unit_normal
from diffloom_mechanics.contact.obstacle_contact import Shape
from diffloom_mechanics.contact.obstacle_term import (
    UPRIGHT,
    Obstacle,
    Quaternion,
    Vector,
    orientation_spec,
    touching,
)

_POSITIVE = (0.0, None)


@final
@dataclass(frozen=True, kw_only=True)
class Sphere(Obstacle):
    """A ball. radius [m]. Differentiable: position, radius, contact."""

    radius: float = 0.5

    @classmethod
    def example(cls, context: TermContext) -> Sphere:
        """A ball that reaches over the lowest point."""
        at = touching(context)
        centre = at.point + torch.tensor([0.05 * at.extent, at.depth - at.extent, -0.03 * at.extent])
        return cls(position=_vector(centre), radius=at.extent, **at.contact)

    @property
    def own_specs(self) -> tuple[ParamSpec, ...]:
        return (ParamSpec("radius", self.radius, "m", "of the ball", (), _POSITIVE),)

    def shape(self, params: Mapping[str, Tensor], context: TermContext) -> Shape:
        from diffloom_mechanics.contact.obstacle_shape_kernels import sphere_distance, sphere_distance_adjoint

        return Shape(sphere_distance, sphere_distance_adjoint)

    def sizes(self, params: Mapping[str, Tensor]) -> Tensor:
        return params["radius"].reshape(1)


@final
@dataclass(frozen=True, kw_only=True)
class Box(Obstacle):
    """A box. size: edge lengths [m]; orientation: quaternion w x y z. Differentiable: all of it, contact included."""

    size: Vector = (1.0, 1.0, 1.0)
    orientation: Quaternion = UPRIGHT

    @classmethod
    def example(cls, context: TermContext) -> Box:
        """A tilted box whose top is just above the lowest point."""
        at = touching(context)
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
        return (size, orientation_spec(self.orientation))

    def shape(self, params: Mapping[str, Tensor], context: TermContext) -> Shape:
        from diffloom_mechanics.contact.obstacle_shape_kernels import box_distance, box_distance_adjoint

        return Shape(box_distance, box_distance_adjoint)

    def sizes(self, params: Mapping[str, Tensor]) -> Tensor:
        return 0.5 * params["size"].expand(3)


@final
@dataclass(frozen=True, kw_only=True)
class Capsule(Obstacle):
    """A cylinder along y with half a ball on either end. radius, length of the straight part [m]; orientation:
    quaternion w x y z. Differentiable: all of it, contact included."""

    radius: float = 0.25
    length: float = 0.5
    orientation: Quaternion = UPRIGHT

    @classmethod
    def example(cls, context: TermContext) -> Capsule:
        """A tilted capsule that reaches over the lowest point with its upper end."""
        at = touching(context)
        turn: Quaternion = (1.0, 0.15, 0.05, -0.1)
        radius, length = 0.8 * at.extent, 0.5 * at.extent
        end = at.point + torch.tensor([0.05 * at.extent, at.depth - radius, 0.02 * at.extent])
        centre = end - 0.5 * length * rotation_matrix(torch.tensor(turn))[:, 1]
        return cls(position=_vector(centre), radius=radius, length=length, orientation=turn, **at.contact)

    @property
    def own_specs(self) -> tuple[ParamSpec, ...]:
        return (
            ParamSpec("radius", self.radius, "m", "of the cylinder and its ends", (), _POSITIVE),
            ParamSpec("length", self.length, "m", "of the straight part", (), _POSITIVE),
            orientation_spec(self.orientation),
        )

    def shape(self, params: Mapping[str, Tensor], context: TermContext) -> Shape:
        from diffloom_mechanics.contact.obstacle_shape_kernels import capsule_distance, capsule_distance_adjoint

        return Shape(capsule_distance, capsule_distance_adjoint)

    def sizes(self, params: Mapping[str, Tensor]) -> Tensor:
        return torch.stack([params["radius"].reshape(()), 0.5 * params["length"].reshape(())])


@final
@dataclass(frozen=True, kw_only=True)
class Plane(Obstacle):
    """A plane through ``position``; nothing may be on the side that ``normal``, of any length, points away from.
    Differentiable: position, normal, contact."""

    normal: Vector = (0.0, 1.0, 0.0)

    @classmethod
    def example(cls, context: TermContext) -> Plane:
        """A tilted plane just above the lowest point."""
        at = touching(context)
        return cls(
            position=_vector(at.point + torch.tensor([0.0, at.depth, 0.0])), normal=(0.1, 1.5, -0.05), **at.contact
        )

    @property
    def own_specs(self) -> tuple[ParamSpec, ...]:
        return (ParamSpec("normal", self.normal, "", "away from the solid side, of any length", (3,)),)

    def shape(self, params: Mapping[str, Tensor], context: TermContext) -> Shape:
        from diffloom_mechanics.contact.obstacle_shape_kernels import plane_distance, plane_distance_adjoint

        return Shape(plane_distance, plane_distance_adjoint)

    def sizes(self, params: Mapping[str, Tensor]) -> Tensor:
        return unit_normal(params["normal"].expand(3))


def _vector(place: Tensor) -> Vector:
    x, y, z = place.tolist()
    return (x, y, z)
