"""What follows from a shell's rest shape, differentiable with respect to it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom_geometry import Indices, assemble, take


@dataclass(frozen=True)
class RestShape:
    """Rest state of every face and hinge.

    edges: (faces, 3), entries b0, b1, b2 of the inverse of the rest edges [1/m] in the face's own axes, the first
    along its first edge: [[b0, b1], [0, b2]]. area: (faces,) [m^2].
    hinge_weight: (hinges,) |e|^2 / (A1 + A2): energy per stiffness and squared angle. hinge_angle: (hinges,) [rad].
    """

    edges: Tensor
    area: Tensor
    hinge_weight: Tensor
    hinge_angle: Tensor

    def to(self, dtype: torch.dtype) -> RestShape:
        """The same in another precision."""
        return RestShape(*(t.to(dtype) for t in (self.edges, self.area, self.hinge_weight, self.hinge_angle)))


def rest_shape(points: Tensor, faces: Indices, hinges: Indices) -> RestShape:
    """The rest state of a shell whose unloaded vertices are ``points`` (V, 3) [m]."""
    corner = take(points, faces)
    d1, d2 = corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]
    length = d1.norm(dim=1)
    along = (d1 * d2).sum(dim=1) / length
    double_area = torch.linalg.cross(d1, d2).norm(dim=1)
    height = double_area / length
    edges = torch.stack([1.0 / length, -along / (length * height), 1.0 / height], dim=1)
    weight, angle = hinge_geometry(points, hinges)
    return RestShape(edges, 0.5 * double_area, weight, angle)


def hinge_geometry(points: Tensor, hinges: Indices) -> tuple[Tensor, Tensor]:
    """Weight and dihedral angle [rad] of hinges (H, 4); the angle is 0 when flat, positive when bent backwards.

    With this weight the bending stiffness of regular sheets is a plate's flexural rigidity: n hinges of length b, a
    distance h apart, turn by h times the curvature each, and b^2 / (A1 + A2) = b / h.
    """
    x = take(points, hinges)
    e, a, b = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0], x[:, 3] - x[:, 0]
    n1, n2 = torch.linalg.cross(e, a), torch.linalg.cross(b, e)
    angle = torch.atan2(-e.norm(dim=1) * (n1 * b).sum(dim=1), (n1 * n2).sum(dim=1))
    return 2.0 * (e * e).sum(dim=1) / (n1.norm(dim=1) + n2.norm(dim=1)), angle


def lumped_mass(density: Tensor, area: Tensor, faces: Indices, count: int) -> Tensor:
    """Mass of each of ``count`` vertices [kg]: a third of the mass of each face around it. density: [kg/m^2]."""
    third = (density * area / 3.0).unsqueeze(1).expand(-1, 3)
    return assemble(third, faces, count)
