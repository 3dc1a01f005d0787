"""A closed mesh as an obstacle, by a grid of its signed distances."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import InputError, ParamSpec
from diffloom_geometry import Faces, Points, check_closed, read_closed_mesh
from diffloom_mechanics import TermContext
from diffloom_mechanics.contact.distance_grid import distance_grid
from diffloom_mechanics.contact.obstacle_contact import Shape
from diffloom_mechanics.contact.obstacle_term import UPRIGHT, Obstacle, Quaternion, orientation_spec, touching
from diffloom_mechanics.contact.touching import TouchingLinks

#: A spline over nodes whose values change by 1 a metre changes by at most this along its steepest direction.
STEEPEST = math.sqrt(3.0)


@final
@dataclass(frozen=True, kw_only=True)
class Mesh(Obstacle):
    """A closed triangle mesh.

    mesh: a file that trimesh reads, a trimesh object, or vertices (V, 3) [m] and faces (F, 3). cells: of the grid of
    distances along the longest side; edges are rounded over one cell. scale: factor on all lengths. orientation:
    quaternion w x y z about the mesh's origin. Differentiable: position, orientation, scale and contact; not the
    vertices.
    """

    mesh: Any
    cells: int = 32
    scale: float = 1.0
    orientation: Quaternion = UPRIGHT

    #: A spline of distances has no slope of exactly 1, so the force has no exact energy.
    claims: ClassVar[tuple[str, ...]] = ("dissipative",)

    def __post_init__(self) -> None:
        if not isinstance(self.cells, int) or not 4 <= self.cells <= 256:
            raise InputError(f"cells: got {self.cells!r}; expected a whole number from 4 to 256")
        if isinstance(self.mesh, (str, Path)):
            object.__setattr__(self, "mesh", str(self.mesh))
            return
        pair = (self.mesh.vertices, self.mesh.faces) if hasattr(self.mesh, "faces") else self.mesh
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InputError(f"mesh: got {self.mesh!r}; expected a file, a trimesh object, or (vertices, faces)")
        vertices, faces = check_closed("mesh", *pair)
        # Tuples, so that two obstacles of the same mesh are equal.
        object.__setattr__(self, "mesh", (tuple(map(tuple, vertices.tolist())), tuple(map(tuple, faces.tolist()))))

    @classmethod
    def example(cls, context: TermContext) -> Mesh:
        """A ball of triangles that reaches over the lowest point."""
        import trimesh

        at = touching(context)
        ball = trimesh.creation.icosphere(subdivisions=2, radius=1.0)
        place = (at.point + torch.tensor([0.05 * at.extent, 1.5 * at.depth - at.extent, 0.03 * at.extent])).tolist()
        return cls(
            mesh=ball, cells=12, position=(place[0], place[1], place[2]), scale=at.extent,
            orientation=(1.0, 0.1, 0.2, -0.1), **at.contact,
        )  # fmt: skip

    @cached_property
    def solid(self) -> tuple[Points, Faces]:
        """Vertices and faces."""
        if isinstance(self.mesh, str):
            return read_closed_mesh(self.mesh)
        return np.array(self.mesh[0]), np.array(self.mesh[1])

    @cached_property
    def _shapes(self) -> dict[float, Shape]:
        return {}

    @property
    def own_specs(self) -> tuple[ParamSpec, ...]:
        scale = ParamSpec("scale", self.scale, "", "factor on all lengths of the mesh", (), (1e-9, None))
        return (scale, orientation_spec(self.orientation))

    def shape(self, params: Mapping[str, Tensor], context: TermContext) -> Shape:
        from diffloom_mechanics.contact.obstacle_shape_kernels import mesh_distance, mesh_distance_adjoint

        points, touches = context.nodes.contact_points, context.nodes.touches
        radius = 0.0 if points is None else float(points.roundness.max())
        if isinstance(touches, TouchingLinks):
            radius = touches.roundest
        roundest = radius / float(params["scale"].detach())
        # Balls around contact points need distances outside the mesh, as far as the largest of them. In powers of 2,
        # so that a scale that is sought does not make a new grid at each value.
        margin = 0.0 if roundest == 0.0 else 2.0 ** math.ceil(math.log2(roundest))
        if margin not in self._shapes:
            grid = distance_grid(*self.solid, self.cells, margin)
            table = np.concatenate([grid.origin, [grid.cell, margin], grid.values])
            self._shapes[margin] = Shape(mesh_distance, mesh_distance_adjoint, grid.size, table, slope=STEEPEST)
        return self._shapes[margin]

    def sizes(self, params: Mapping[str, Tensor]) -> Tensor:
        return params["scale"].reshape(1)
