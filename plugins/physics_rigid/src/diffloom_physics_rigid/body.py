"""One body of a scene: its constants, and the values its parameters start from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffloom_geometry import Faces, Points
from diffloom_physics_rigid.shapes import Shape

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Body:
    """A rigid body in its own frame: origin in the centre of mass, axes those of its shape.

    vertices: (V, 3) [m] and faces: (F, 3), the surface that is drawn. volume [m^3] and inertia: (3, 3) at density 1
    [m^5], about the centre. points: (C, 3) points that touch the ground [m], each with a ball of radius ``roundness``
    [m] around it: the vertices with 0, or the centre of a sphere with its radius. pair_points: (D, 3) those that touch
    other bodies, more of them where vertices are far apart. shape: the solid, in the body's frame.
    start: values of the parameters that were given with the body; ``fixed`` bodies never move. collides: whether other
    bodies touch it. grid: cells along the longest side of the grid of distances of a mesh.
    """

    name: str
    vertices: Points
    faces: Faces
    shape: Shape
    volume: float
    inertia: NDArray[np.float64]
    points: Points
    roundness: float
    pair_points: Points
    fixed: bool
    collides: bool
    grid: int
    colour: tuple[float, float, float] | None
    start: dict[str, Any]

    @property
    def reach(self) -> float:
        """Distance of the farthest touching point from the centre [m]."""
        return float(np.linalg.norm(self.points, axis=1).max()) + self.roundness
