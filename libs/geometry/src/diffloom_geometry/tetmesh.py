"""A solid cut into tetrahedra: the noun that readers, builders and models exchange."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from diffloom.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TextureMap:
    """Where a solid's surface lies on a texture.

    uv: (points, 2), u to the right, v up. faces: (faces, 3) vertices of surface triangles in any order, and corners:
    (faces, 3) their rows of uv; both None when uv has one row per vertex of the mesh.
    """

    uv: Floats
    faces: Ints | None = None
    corners: Ints | None = None


@dataclass(frozen=True)
class TetMesh:
    """Vertices [m] and tetrahedra, with named groups of either.

    vertices: (vertices, 3) float64. tets: (tets, 4) int64; corner 3 lies on the side of the triangle (0, 1, 2) from
    which it is seen counter-clockwise, so that volumes are positive. vertex_groups, tet_groups: name -> indices.
    Nothing is checked here but shapes: see ``diffloom_geometry.tet_checks``.
    """

    vertices: Floats
    tets: Ints
    vertex_groups: Mapping[str, Ints] = field(default_factory=dict)
    tet_groups: Mapping[str, Ints] = field(default_factory=dict)
    texture: TextureMap | None = None
    name: str = "mesh"

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", np.ascontiguousarray(self.vertices, dtype=np.float64))
        tets = np.asarray(self.tets)
        if tets.size and not np.issubdtype(tets.dtype, np.integer):
            raise InputError(f"{self.name}: tets have dtype {tets.dtype}; expected whole numbers")
        object.__setattr__(self, "tets", np.ascontiguousarray(tets, dtype=np.int64))
        if self.vertices.ndim != 2 or self.vertices.shape[1] != 3:
            raise InputError(f"{self.name}: vertices have shape {self.vertices.shape}; expected (vertices, 3)")
        if self.tets.ndim != 2 or self.tets.shape[1] != 4:
            raise InputError(f"{self.name}: tets have shape {self.tets.shape}; expected (tets, 4)")

    def scaled(self, factor: float) -> TetMesh:
        """The same solid, ``factor`` times as large."""
        if not (np.isfinite(factor) and factor > 0.0):
            raise InputError(f"{self.name}: got scale {factor}; expected a positive number")
        return replace(self, vertices=self.vertices * factor)

    @property
    def volumes(self) -> Floats:
        """(tets,) signed volumes [m^3]."""
        return tet_volumes(self.vertices, self.tets)


def tet_volumes(vertices: Floats, tets: Ints) -> Floats:
    """(tets,) signed volumes [m^3]: (x1 - x0) x (x2 - x0) . (x3 - x0) / 6."""
    x = vertices[tets]
    a, b, c = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0], x[:, 3] - x[:, 0]
    volumes: Floats = np.einsum("ij,ij->i", np.cross(a, b), c) / 6.0
    return volumes


def oriented(vertices: Floats, tets: Ints) -> Ints:
    """The same tets with the last two corners exchanged where the volume would be negative."""
    flip = tet_volumes(vertices, tets) < 0.0
    out = tets.copy()
    out[flip, 2], out[flip, 3] = tets[flip, 3], tets[flip, 2]
    return out


def tet_quality(vertices: Floats, tets: Ints) -> Floats:
    """(tets,) mean-ratio quality: 1 for a regular tetrahedron, 0 for a flat one, negative for an inverted one.

    12 (3 V)^(2/3) / (sum of squared edge lengths), with the sign of V.
    """
    x = vertices[tets]
    pairs = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
    edges = sum(np.sum((x[:, j] - x[:, i]) ** 2, axis=1) for i, j in pairs)
    volume = tet_volumes(vertices, tets)
    quality: Floats = np.sign(volume) * 12.0 * (3.0 * np.abs(volume)) ** (2.0 / 3.0) / edges
    return quality
