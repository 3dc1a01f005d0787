"""Sheets from surface meshes of any origin, read with trimesh."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from diffloom.errors import InputError
from diffloom_geometry import read_triangles
from diffloom_physics_cloth.meshes.sheet import Indices, Sheet

if TYPE_CHECKING:
    import trimesh


def from_trimesh(mesh: trimesh.Trimesh, name: str = "mesh") -> Sheet:
    """The sheet of a ``trimesh.Trimesh``.

    Vertices at exactly the same place are merged: files repeat them along seams of the texture, where the cloth must
    hold together. Texture coordinates stay per corner. Group: rim, the vertices of the boundary, if there is one.
    """
    vertices, number = merge_equal(np.asarray(mesh.vertices, dtype=np.float64))
    corners = np.asarray(mesh.faces, dtype=np.int64)
    uv = getattr(mesh.visual, "uv", None)
    sheet = Sheet(
        vertices,
        number[corners] if corners.size else corners,
        uv=None if uv is None else np.asarray(uv, dtype=np.float64),
        uv_faces=None if uv is None else corners,
        name=name,
    )
    return sheet.with_groups({"rim": np.unique(sheet.edges.boundary)})


def merge_equal(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], Indices]:
    """The distinct points in the order of their first appearance, and the new number of each old point."""
    _, first, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return points[first[order]], rank[inverse.reshape(-1)]


def load(file: str | Path) -> Sheet:
    """Read OBJ, PLY, STL, OFF, GLB or glTF."""
    path = Path(file)
    if not path.is_file():
        raise InputError(f"mesh file {str(file)!r} does not exist; the path is taken from {Path.cwd()}")
    return from_trimesh(read_triangles(path), name=path.name)
