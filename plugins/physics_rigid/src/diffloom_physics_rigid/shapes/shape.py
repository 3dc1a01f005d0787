"""What a shape is: a closed mesh, and the exact solid it stands for when there is one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from diffloom_geometry import Faces, Points, VolumeIntegrals, compute_signed_volumes, integrate_volume

Kind = Literal["mesh", "box", "sphere", "capsule"]


@dataclass(frozen=True)
class RigidShape:
    """A solid in its own frame.

    vertices: (V, 3) [m], faces: (F, 3), closed and looking outwards: what is drawn, and what touches the ground.
    kind and dims: the exact shape where the mesh stands for one: "box" with half edges (3,), "sphere" with (radius,),
    "capsule" with (radius, half length of its axis along y); "mesh" with () otherwise.
    smooth: integrals of the exact round solid ("sphere", "capsule"), which its mesh only approaches.
    """

    vertices: Points
    faces: Faces
    kind: Kind = "mesh"
    dims: tuple[float, ...] = ()
    smooth: VolumeIntegrals | None = None

    @property
    def solid(self) -> VolumeIntegrals:
        """Volume, centre and second moments of the mesh."""
        return integrate_volume(self.vertices, self.faces)

    def scaled(self, scale: NDArray[np.float64]) -> RigidShape:
        """Stretched by (3,) positive factors. A stretched ball is a mesh: no exact shape stands behind it."""
        vertices = self.vertices * scale
        if self.kind == "box":
            halves = tuple(float(half * factor) for half, factor in zip(self.dims, scale, strict=True))
            return replace(self, vertices=vertices, dims=halves)
        if self.kind in ("sphere", "capsule") and np.ptp(scale) == 0.0:
            smooth = None if self.smooth is None else self.smooth.mapped(np.diag(scale))
            return replace(self, vertices=vertices, dims=tuple(float(d * scale[0]) for d in self.dims), smooth=smooth)
        return RigidShape(vertices, self.faces)


def orient_outwards(vertices: Points, faces: Faces) -> Faces:
    """``faces`` turned, all or none, so that the enclosed volume is positive."""
    return faces if float(compute_signed_volumes(vertices, faces).sum()) > 0.0 else faces[:, ::-1].copy()
