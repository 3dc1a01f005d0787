"""Rest state, masses and start of a shell, differentiable by rest shape and material."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import InputError
from diffloom.transforms import needs_gradient, unwrap_values
from diffloom_geometry import Indices, assemble, take
from diffloom_physics_cloth.meshes.sheet import Sheet

Number = float | Tensor


def sheet_moduli(youngs_modulus: Number, poisson_ratio: Number, thickness: Number) -> dict[str, Number]:
    """Return the parameters of a sheet of an isotropic material: shear_modulus and lame_modulus [N/m],
    bending_stiffness [N m].

    In plane stress a sheet has the linear moduli mu_L = E h / (2 (1 + nu)) and lam_L = E h nu / (1 - nu^2). The
    neo-Hookean membrane at F = 1 + e has the stress 4/3 mu e + (lam - 4/9 mu) tr(e), so mu = 3/2 mu_L and
    lam = lam_L + 2/3 mu_L. Bending is that of a plate: E h^3 / (12 (1 - nu^2)).

    Args:
        youngs_modulus: Young's modulus E [Pa].
        poisson_ratio: Poisson's ratio nu.
        thickness: Thickness h [m].
    """
    in_plane = youngs_modulus * thickness
    shear = in_plane / (2.0 * (1.0 + poisson_ratio))
    lame = in_plane * poisson_ratio / (1.0 - poisson_ratio * poisson_ratio)
    return {
        "shear_modulus": 1.5 * shear,
        "lame_modulus": lame + 2.0 / 3.0 * shear,
        "bending_stiffness": in_plane * thickness * thickness / (12.0 * (1.0 - poisson_ratio * poisson_ratio)),
    }


@dataclass(frozen=True)
class SheetRestShape:
    """Rest state of every face and hinge.

    Args:
        edges: Entries b0, b1, b2 of the inverse [[b0, b1], [0, b2]] of the rest edges, (faces, 3) [1/m], in the face's
            own axes, the first along its first edge.
        area: Areas (faces,) [m^2].
        hinge_weight: |e|^2 / (A1 + A2), (hinges,): energy per stiffness and squared angle.
        hinge_angle: Angles (hinges,) [rad].
    """

    edges: Tensor
    area: Tensor
    hinge_weight: Tensor
    hinge_angle: Tensor

    def to(self, dtype: torch.dtype) -> SheetRestShape:
        """Return the rest shape in another precision."""
        return SheetRestShape(*(t.to(dtype) for t in (self.edges, self.area, self.hinge_weight, self.hinge_angle)))


def rest_shape(points: Tensor, faces: Indices, hinges: Indices) -> SheetRestShape:
    """Return the rest state of a shell whose unloaded vertices are ``points`` (V, 3) [m]."""
    corner = take(points, faces)
    d1, d2 = corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]
    length = d1.norm(dim=1)
    along = (d1 * d2).sum(dim=1) / length
    double_area = torch.linalg.cross(d1, d2).norm(dim=1)
    height = double_area / length
    edges = torch.stack([1.0 / length, -along / (length * height), 1.0 / height], dim=1)
    weight, angle = measure_hinges(points, hinges)
    return SheetRestShape(edges, 0.5 * double_area, weight, angle)


def measure_hinges(points: Tensor, hinges: Indices) -> tuple[Tensor, Tensor]:
    """Return weight and dihedral angle [rad] of hinges (H, 4); the angle is 0 if flat, positive if bent backwards.

    With this weight the bending stiffness of regular sheets is a plate's flexural rigidity: n hinges of length b, a
    distance h apart, turn by h times the curvature each, and b^2 / (A1 + A2) = b / h.
    """
    x = take(points, hinges)
    e, a, b = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0], x[:, 3] - x[:, 0]
    n1, n2 = torch.linalg.cross(e, a), torch.linalg.cross(b, e)
    angle = torch.atan2(-e.norm(dim=1) * (n1 * b).sum(dim=1), (n1 * n2).sum(dim=1))
    return 2.0 * (e * e).sum(dim=1) / (n1.norm(dim=1) + n2.norm(dim=1)), angle


def lump_mass(density: Tensor, area: Tensor, faces: Indices, count: int) -> Tensor:
    """Return the mass of each of ``count`` vertices [kg]: a third of the mass of each adjacent face.

    Args:
        density: Density [kg/m^2].
        area: Areas of the faces [m^2].
        faces: Triangles (F, 3).
        count: Number of vertices.
    """
    third = (density * area / 3.0).unsqueeze(1).expand(-1, 3)
    return assemble(third, faces, count)


def place(points: Tensor, position: Tensor, orientation: Tensor) -> Tensor:
    """Return ``points`` (P, 3) rotated about the origin by a quaternion (4,) of any length, then moved to
    ``position``.
    """
    length = orientation.norm()
    if bool((unwrap_values(length) == 0.0).any()):
        raise InputError("orientation: got the quaternion (0, 0, 0, 0); expected w, x, y, z such as (1, 0, 0, 0)")
    count = points.shape[0]
    unit = broadcast(orientation / length, (count, 4))
    w, axis = unit[:, :1], unit[:, 1:]
    across = 2.0 * torch.linalg.cross(axis, points)
    turned: Tensor = points + w * across + torch.linalg.cross(axis, across)
    return turned + broadcast(position, (count, 3))


def set_moving(points: Tensor, mass: Tensor, velocity: Tensor, angular_velocity: Tensor) -> Tensor:
    """Return the velocities (P, 3) [m/s] of a translation and a rotation [rad/s] about the centre of mass."""
    shape = tuple(points.shape)
    straight = broadcast(velocity, shape)
    if not needs_gradient(angular_velocity) and not bool(unwrap_values(angular_velocity).any()):
        return straight
    turn: Tensor = torch.linalg.cross(
        broadcast(angular_velocity, shape), points - broadcast(compute_centre(points, mass), shape)
    )
    return straight + turn


def compute_centre(points: Tensor, mass: Tensor) -> Tensor:
    """Return the centre of mass (1, 3) [m], summed in a fixed order."""
    nowhere = np.zeros(points.shape[0], dtype=np.int64)
    weighted = assemble(torch.cat([mass[:, None] * points, mass[:, None]], dim=1), nowhere, 1)
    return weighted[:, :3] / weighted[:, 3:]


def find_plane_normal(sheet: Sheet) -> NDArray[np.float64]:
    """Return the unit normal (3,) of a flat sheet.

    Raises:
        InputError: The sheet is not flat, or its faces are not wound alike.
    """
    a, b, c = (sheet.vertices[sheet.faces[:, k]] for k in range(3))
    areas = np.cross(b - a, c - a)
    normal = areas.sum(axis=0)
    length = float(np.linalg.norm(normal))
    size = float(np.ptp(sheet.vertices, axis=0).max())
    if length == 0.0 or (areas @ normal <= 0).any():
        bad = np.flatnonzero(areas @ normal <= 0)
        raise InputError(f"{sheet.name}: planar=True needs faces that all look the same way; face {bad[0]} does not")
    unit = normal / length
    height = (sheet.vertices - sheet.vertices[0]) @ unit
    if np.ptp(height) > 1e-6 * size:
        far = int(np.abs(height).argmax())
        raise InputError(f"{sheet.name}: planar=True needs a flat mesh; vertex {far} is {abs(height[far]):.3g} m off")
    return np.asarray(unit, dtype=np.float64)
