"""Obstacles whose distances are read from a grid: height fields and closed meshes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
from diffloom_mechanics.contact.obstacle_contact import ObstacleShape
from diffloom_mechanics.contact.obstacles import (
    UPRIGHT,
    Obstacle,
    Quaternion,
    find_example_place,
    make_orientation_spec,
)
from diffloom_mechanics.node_sets import TouchingLinks


@final
@dataclass(frozen=True, kw_only=True)
class HeightField(Obstacle):
    """Ground whose height is given on a grid, smoothed by quadratic B-splines.

    The middle of the grid is at ``position``. The ground ends half a cell inside the outermost heights. Differentiable
    by position, orientation, scale and contact parameters, not by heights and spacing.

    Args:
        heights: Heights [m], rows along x of columns along z, at least 3 by 3.
        spacing: Spacing of the grid along x and z [m], one length or two.
        scale: Factor on all heights.
        orientation: Quaternion w x y z.
    """

    heights: Sequence[Sequence[float]] = ((0.0,) * 3,) * 3
    spacing: float | tuple[float, float] = 1.0
    scale: float = 1.0
    orientation: Quaternion = UPRIGHT

    kernel: ClassVar[str] = "height"
    #: The distance is measured to the tangent below a point, so its force has no exact energy.
    claims: ClassVar[tuple[str, ...]] = ("dissipative",)

    def __post_init__(self) -> None:
        try:
            found = np.array(self.heights, dtype=np.float64)
        except ValueError:
            found = np.zeros(0)
        if found.ndim != 2 or min(found.shape) < 3 or not np.isfinite(found).all():
            raise InputError(f"heights: got shape {found.shape}; expected finite numbers, 3 or more rows and columns")
        if not min(self._cells) > 0.0:
            raise InputError(f"spacing: got {self.spacing!r}; expected one or two lengths above 0 [m]")
        object.__setattr__(self, "heights", tuple(tuple(row) for row in found.tolist()))

    @classmethod
    def example(cls, context: TermContext) -> HeightField:
        """Return hills, one of which reaches over the lowest point."""
        at = find_example_place(context)
        x, z = np.meshgrid(np.arange(9.0), np.arange(9.0), indexing="ij")
        hills = 0.2 * at.extent * (np.sin(0.9 * x + 0.3) + np.cos(0.7 * z - 0.4 * x))
        middle = np.array([0.125, 0.75, 0.125])
        top = float(middle @ hills[3:6, 3:6] @ middle)
        place = (at.point + torch.tensor([0.0, at.depth - 1.1 * top, 0.0])).tolist()
        turn: Quaternion = (1.0, 0.02, 0.05, -0.01)
        return cls(
            position=(place[0], place[1], place[2]), heights=hills.tolist(), spacing=(0.6 * at.extent, 0.5 * at.extent),
            scale=1.1, orientation=turn, **at.contact,
        )  # fmt: skip

    @property
    def _cells(self) -> tuple[float, float]:
        """Spacing along x and z [m]."""
        x, z = (self.spacing, self.spacing) if isinstance(self.spacing, (int, float)) else self.spacing
        return float(x), float(z)

    @property
    def own_specs(self) -> tuple[ParamSpec, ...]:
        scale = ParamSpec("scale", self.scale, "", "factor on all heights")
        return (scale, make_orientation_spec(self.orientation))

    def shape(self, params: Mapping[str, Tensor], context: TermContext) -> ObstacleShape:
        heights = np.array(self.heights)
        table = np.concatenate([self._cells, heights.reshape(-1)])
        layout = np.array(heights.shape, dtype=np.int32)
        return self.load_shape(layout=layout, table=table, slope=np.inf)

    def sizes(self, params: Mapping[str, Tensor]) -> Tensor:
        return params["scale"].reshape(1)


#: A spline over nodes whose values change by 1 a metre changes by at most this along its steepest direction.
STEEPEST = math.sqrt(3.0)


@final
@dataclass(frozen=True, kw_only=True)
class MeshObstacle(Obstacle):
    """Closed triangle mesh. Differentiable by position, orientation, scale and contact parameters, not by vertices.

    Args:
        mesh: File that trimesh reads, trimesh object, or vertices (V, 3) [m] and faces (F, 3).
        cells: Cells of the distance grid along the longest side, 4 to 256; edges are rounded over one cell.
        scale: Factor on all lengths.
        orientation: Quaternion w x y z about the origin of the mesh.
    """

    mesh: Any
    cells: int = 32
    scale: float = 1.0
    orientation: Quaternion = UPRIGHT

    kernel: ClassVar[str] = "mesh"
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
    def example(cls, context: TermContext) -> MeshObstacle:
        """Return a ball of triangles that reaches over the lowest point."""
        import trimesh

        at = find_example_place(context)
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
    def _shapes(self) -> dict[float, ObstacleShape]:
        """Cached shapes by margin."""
        return {}

    @property
    def own_specs(self) -> tuple[ParamSpec, ...]:
        scale = ParamSpec("scale", self.scale, "", "factor on all lengths of the mesh", (), (1e-9, None))
        return (scale, make_orientation_spec(self.orientation))

    def shape(self, params: Mapping[str, Tensor], context: TermContext) -> ObstacleShape:
        points, touches = context.nodes.contact_points, context.nodes.touches
        radius = 0.0 if points is None else float(points.roundness.max())
        if isinstance(touches, TouchingLinks):
            radius = touches.roundest
        roundest = radius / float(params["scale"].detach())
        # Balls around contact points need distances outside the mesh, up to the largest radius. The margin is a power
        # of 2, so that a fit of the scale does not make a new grid at each value.
        margin = 0.0 if roundest == 0.0 else 2.0 ** math.ceil(math.log2(roundest))
        if margin not in self._shapes:
            grid = distance_grid(*self.solid, self.cells, margin)
            table = np.concatenate([grid.origin, [grid.cell, margin], grid.values])
            self._shapes[margin] = self.load_shape(layout=grid.size, table=table, slope=STEEPEST)
        return self._shapes[margin]

    def sizes(self, params: Mapping[str, Tensor]) -> Tensor:
        return params["scale"].reshape(1)
