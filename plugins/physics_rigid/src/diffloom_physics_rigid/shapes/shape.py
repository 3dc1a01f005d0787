"""A shape: a closed mesh and, if there is one, the exact solid that the mesh approximates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom_geometry import (
    Faces,
    Points,
    VolumeIntegrals,
    compute_signed_volumes,
    integrate_volume,
    match_surface,
)

Kind = Literal["mesh", "box", "sphere", "capsule"]


@dataclass(frozen=True)
class RigidShape:
    """A solid in its own frame.

    Args:
        vertices: Vertices (V, 3) [m] of the surface that is drawn and touches the ground.
        faces: Triangles (F, 3), closed and outward.
        kind: Exact shape that the mesh approximates, or "mesh".
        dims: Sizes of the exact shape [m]: half edges (3,) of a "box", (radius,) of a "sphere", (radius, half length of
            the axis along y) of a "capsule", () of a "mesh".
        smooth: Volume integrals of the exact "sphere" or "capsule".
        surface: Surface [m^2] of the exact ball, or convex body of revolution about y, that the mesh approximates; None
            if it approximates none of them.
    """

    vertices: Points
    faces: Faces
    kind: Kind = "mesh"
    dims: tuple[float, ...] = ()
    smooth: VolumeIntegrals | None = None
    surface: float | None = None

    @property
    def solid(self) -> VolumeIntegrals:
        """Volume, centre and second moments of the mesh."""
        return integrate_volume(self.vertices, self.faces)

    def stretch(self, scale: NDArray[np.float64]) -> RigidShape:
        """Return the shape stretched by three positive factors (3,); a ball stretched unevenly becomes a mesh."""
        vertices = self.vertices * scale
        if self.kind == "box":
            halves = tuple(float(half * factor) for half, factor in zip(self.dims, scale, strict=True))
            return replace(self, vertices=vertices, dims=halves)
        if self.kind in ("sphere", "capsule") and np.ptp(scale) == 0.0:
            smooth = None if self.smooth is None else self.smooth.map_linearly(np.diag(scale))
            dims = tuple(float(d * scale[0]) for d in self.dims)
            return replace(self, vertices=vertices, dims=dims, smooth=smooth, surface=self._stretch_surface(scale))
        return RigidShape(vertices, self.faces, surface=self._stretch_surface(scale))

    def _stretch_surface(self, scale: NDArray[np.float64]) -> float | None:
        """Return the exact surface after an even stretch; None after an uneven one."""
        return None if self.surface is None or np.ptp(scale) != 0.0 else float(self.surface * scale[0] ** 2)

    def match_area(self) -> Points:
        """Return vertices of a mesh that is drawn as large as the exact body: on average over directions of view, its
        outline has the body's area.

        A ball's vertices move away from its centre, those of other bodies away from the axis along y.

        Raises:
            InputError: The mesh approximates no body whose surface is known.
        """
        if self.surface is None:
            raise InputError(
                'tessellation: got "area" for a shape whose exact surface is not known; expected a sphere, capsule, '
                'cylinder or cone with one scale, or "vertices"'
            )
        sideways = self.kind == "sphere"
        return match_surface(self.vertices, self.faces, self.surface, (True, sideways, True))


def orient_outwards(vertices: Points, faces: Faces) -> Faces:
    """Return ``faces``, all of them reversed if the enclosed volume is negative."""
    return faces if float(compute_signed_volumes(vertices, faces).sum()) > 0.0 else faces[:, ::-1].copy()
