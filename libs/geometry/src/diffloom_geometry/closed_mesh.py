"""Meshes that enclose a volume: reading them, and saying what is wrong with those that do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffloom.errors import InputError
from diffloom_geometry.mesh_files import read_triangles
from diffloom_geometry.triangle_checks import Faces, Points, check_triangles, named
from diffloom_geometry.triangle_edges import Edges, find_edges
from diffloom_geometry.volume_integrals import signed_volumes
from diffloom_geometry.winding import winding_numbers

THINNEST = 1e-9
"""A mesh whose volume is below this fraction of its bounding box's diagonal cubed counts as flat."""


def check_closed(what: str, vertices: ArrayLike, faces: ArrayLike) -> tuple[Points, Faces]:
    """Clean arrays of a mesh that encloses a volume with its faces looking outwards, or InputError with advice.

    A mesh may have several parts; a part that looks inwards is allowed inside another one, where it is a hollow.
    """
    points, corners = check_triangles(what, vertices, faces)
    edges = find_edges(what, corners)
    if len(edges.boundary):
        shown = "; ".join(f"{a}-{b}" for a, b in edges.boundary[:5])
        more = f" and {len(edges.boundary) - 5} more" if len(edges.boundary) > 5 else ""
        raise InputError(
            f"{what}: the mesh is open: edges {shown}{more} have only one face; a body needs a closed surface: close "
            "the holes (trimesh: mesh.fill_holes()), or give the sheet a thickness"
        )
    if len(edges.flipped):
        pairs = edges.hinge_faces[edges.flipped]
        shown = "; ".join(f"{a} and {b}" for a, b in pairs[:5])
        more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
        raise InputError(
            f"{what}: neighbouring faces {shown}{more} look to opposite sides; make the winding consistent "
            "(trimesh: mesh.fix_normals())"
        )
    check_outwards(what, points, corners, edges)
    return points, corners


def check_outwards(what: str, vertices: Points, faces: Faces, edges: Edges) -> None:
    """InputError unless the mesh, and each part that is not a hollow of another, has its faces looking outwards."""
    volumes = signed_volumes(vertices, faces)
    total = float(volumes.sum())
    size = float(np.linalg.norm(np.ptp(vertices, axis=0)))
    if abs(total) <= THINNEST * size**3:
        raise InputError(
            f"{what}: the mesh encloses no volume ({total:.3g} m^3 at a size of {size:.3g} m); expected a solid: "
            "check its scale and that its parts do not cancel each other"
        )
    if total < 0.0:
        raise InputError(
            f"{what}: the mesh is inside out, its faces look inwards (volume {total:.3g} m^3); turn them round: "
            "faces[:, ::-1] (trimesh: mesh.invert())"
        )
    label = face_parts(len(faces), edges)
    for part in range(1 + int(label.max())):
        own = label == part
        if volumes[own].sum() >= 0.0:
            continue
        probe = vertices[faces[own][0]][:1]
        if winding_numbers(probe, vertices, faces[~own])[0] < 0.5:
            raise InputError(
                f"{what}: part {part} of the mesh (faces {named(np.flatnonzero(own))}) is inside out and lies in no "
                "other part, so it is no hollow; turn its faces round"
            )


def face_parts(count: int, edges: Edges) -> NDArray[np.int64]:
    """(count,) number of the connected part each face belongs to, counted from 0 in the order of first faces."""
    label = np.arange(count)
    a, b = edges.hinge_faces.T
    while True:
        low = label.copy()
        np.minimum.at(low, a, label[b])
        np.minimum.at(low, b, label[a])
        low = low[low]
        if np.array_equal(low, label):
            break
        label = low
    return np.unique(label, return_inverse=True)[1].reshape(-1)


def read_closed_mesh(path: str | Path) -> tuple[Points, Faces]:
    """Vertices (V, 3) and faces (F, 3) of a closed mesh in an OBJ, PLY, STL, OFF, GLB or glTF file.

    Vertices at the same place are merged first: STL knows no shared vertices, and texture seams split them.
    """
    mesh = read_triangles(Path(path))
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    mesh.remove_unreferenced_vertices()
    return check_closed(f"mesh {str(path)!r}", mesh.vertices, mesh.faces)
