"""The surface of a solid: the triangles that belong to one tetrahedron only, seen from outside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffloom.errors import InputError
from diffloom_geometry.tetmesh import Floats, Ints, TetMesh

# The four triangles of a tetrahedron of positive volume, counter-clockwise seen from outside.
_SIDES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


@dataclass(frozen=True)
class SolidSurface:
    """What is seen of a solid.

    vertices: (points,) indices of the solid's vertices that lie on the surface, increasing. faces: (faces, 3) rows of
    ``vertices``, counter-clockwise seen from outside. uv, uv_faces: texture coordinates as ``Texture`` wants them, or
    None; uv_faces is None when uv has one row per point.
    """

    vertices: Ints
    faces: Ints
    uv: Floats | None = None
    uv_faces: Ints | None = None


def boundary_faces(tets: Ints) -> Ints:
    """(faces, 3) vertex indices of the triangles that belong to exactly one tetrahedron, facing outwards."""
    sides: Ints = tets[:, _SIDES].reshape(-1, 3)
    _, first, counts = np.unique(np.sort(sides, axis=1), axis=0, return_index=True, return_counts=True)
    crowded = np.flatnonzero(counts > 2)
    if crowded.size:
        triangle = sides[first[crowded[0]]].tolist()
        raise InputError(
            f"{crowded.size} triangles belong to more than two tetrahedra, first {triangle}: the mesh overlaps itself; "
            "remove the extra tetrahedra"
        )
    outer: Ints = sides[np.sort(first[counts == 1])]
    return outer


def extract_surface(mesh: TetMesh) -> SolidSurface:
    """The surface of ``mesh``, with its texture coordinates where it has them."""
    outer = boundary_faces(mesh.tets)
    vertices = np.unique(outer)
    faces = np.searchsorted(vertices, outer)
    if mesh.texture is None:
        return SolidSurface(vertices, faces)
    if mesh.texture.faces is None or mesh.texture.corners is None:
        return SolidSurface(vertices, faces, mesh.texture.uv[vertices])
    corners = _matched_corners(outer, mesh.texture.faces, mesh.texture.corners)
    return SolidSurface(vertices, faces, mesh.texture.uv, corners)


def _matched_corners(outer: Ints, faces: Ints, corners: Ints) -> Ints:
    """Texture corners of each outer face, found among ``faces`` by its three vertices, whatever their order."""
    pairs = zip(faces.tolist(), corners.tolist(), strict=True)
    known = {tuple(sorted(face)): dict(zip(face, points, strict=True)) for face, points in pairs}
    missing = [face for face in outer.tolist() if tuple(sorted(face)) not in known]
    if missing:
        raise InputError(
            f"{len(missing)} of {len(outer)} surface triangles have no texture coordinates, first {missing[0]}; "
            "give an 'f' line for each or none at all"
        )
    return np.array([[known[tuple(sorted(face))][v] for v in face] for face in outer.tolist()])


def vertex_normals(vertices: Floats, faces: Ints) -> Floats:
    """(points, 3) unit normals, each the mean of its faces' normals weighted by area; 0 where no face is."""
    x = vertices[faces]
    area = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    total = np.zeros_like(vertices)
    for corner in range(3):
        np.add.at(total, faces[:, corner], area)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    normals: Floats = total / np.where(length > 0.0, length, 1.0)
    return normals


def enclosed_volume(vertices: Floats, faces: Ints) -> float:
    """Volume [m^3] inside a closed surface whose faces look outwards (divergence theorem)."""
    x = vertices[faces]
    return float(np.einsum("ij,ij->", np.cross(x[:, 0], x[:, 1]), x[:, 2]) / 6.0)
