"""Triangle meshes that enclose a volume: reading, checks, winding numbers, and integrals over the inside."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffloom.errors import InputError
from diffloom_geometry.mesh_files import is_surface_mesh, read_triangles
from diffloom_geometry.triangle_meshes import Edges, Faces, Points, check_triangles, find_edges, list_indices


def compute_winding_numbers(points: Points, vertices: Points, faces: Faces) -> NDArray[np.float64]:
    """Return generalised winding numbers: 1 inside a closed mesh, 0 outside.

    The number is the sum of the solid angles of all faces, seen from the point, over 4 pi. A triangle a, b, c around
    the point has the solid angle 2 atan2(a.(b x c), |a||b||c| + (a.b)|c| + (b.c)|a| + (c.a)|b|) (Van Oosterom and
    Strackee 1983).

    Args:
        points: Places (P, 3) [m].
        vertices: Vertices (V, 3) [m].
        faces: Vertex indices (F, 3), counter-clockwise seen from outside.

    Returns:
        Winding numbers (P,).
    """
    numbers = np.empty(len(points))
    block = max(1, 200_000 // max(1, len(faces)))
    for start in range(0, len(points), block):
        part = points[start : start + block]
        a, b, c = (vertices[faces[:, k]][None] - part[:, None] for k in range(3))
        la, lb, lc = (np.linalg.norm(v, axis=2) for v in (a, b, c))
        above = np.einsum("pfi,pfi->pf", a, np.cross(b, c))
        ab, bc, ca = (np.einsum("pfi,pfi->pf", x, y) for x, y in ((a, b), (b, c), (c, a)))
        angles = 2.0 * np.arctan2(above, la * lb * lc + ab * lc + bc * la + ca * lb)
        numbers[start : start + block] = angles.sum(axis=1) / (4.0 * np.pi)
    return numbers


Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class VolumeIntegrals:
    """Integrals over the inside of a closed mesh, on which the motion of a solid of density 1 depends.

    Args:
        volume: Volume [m^3].
        centre: Centre of mass (3,) [m].
        moment: Second moments (3, 3) [m^5]: the integral of x x^T over the volume, with x from the centre.
    """

    volume: float
    centre: NDArray[np.float64]
    moment: Matrix

    @property
    def inertia(self) -> Matrix:
        """Inertia (3, 3) about the centre at density 1 [m^5]: tr(moment) 1 - moment."""
        return np.asarray(np.trace(self.moment) * np.eye(3) - self.moment)

    def map_linearly(self, linear: Matrix) -> VolumeIntegrals:
        """Return the integrals of the solid after the map x -> A x.

        The volume grows by |det A|; the second moments become |det A| A moment A^T.

        Args:
            linear: Matrix A (3, 3).

        Returns:
            Integrals of the mapped solid.
        """
        size = abs(float(np.linalg.det(linear)))
        return VolumeIntegrals(size * self.volume, linear @ self.centre, size * linear @ self.moment @ linear.T)


def compute_signed_volumes(vertices: Points, faces: Faces) -> NDArray[np.float64]:
    """Return the volume of the tetrahedron that each face spans with the mean vertex.

    Args:
        vertices: Vertices (V, 3) [m].
        faces: Vertex indices (F, 3).

    Returns:
        Volumes (F,) [m^3], negative where the face looks inwards.
    """
    a, b, c = np.moveaxis((vertices - vertices.mean(axis=0))[faces], 1, 0)
    return np.asarray(np.einsum("fi,fi->f", a, np.cross(b, c)) / 6.0)


def integrate_volume(vertices: Points, faces: Faces) -> VolumeIntegrals:
    """Return volume, centre of mass and second moments of the inside of a closed mesh.

    Each face spans a tetrahedron with a common apex. With edges a, b, c from the apex, the integral of x x^T over the
    tetrahedron is det(a b c)/120 (s s^T + a a^T + b b^T + c c^T), s = a + b + c. The apex is the mean vertex, because a
    mesh far from the origin would lose digits otherwise.

    Args:
        vertices: Vertices (V, 3) [m].
        faces: Vertex indices (F, 3) of faces that look outwards.

    Returns:
        Integrals at density 1.
    """
    apex = vertices.mean(axis=0)
    corners = (vertices - apex)[faces]
    volumes = compute_signed_volumes(vertices, faces)
    volume = float(volumes.sum())
    total = corners.sum(axis=1)
    centre = np.einsum("f,fi->i", volumes, total) / (4.0 * volume)
    second = np.einsum("f,fi,fj->ij", volumes, total, total) + np.einsum("f,fai,faj->ij", volumes, corners, corners)
    moment = second / 20.0 - volume * np.outer(centre, centre)
    return VolumeIntegrals(volume, apex + centre, 0.5 * (moment + moment.T))


def integrate_sphere(radius: float) -> VolumeIntegrals:
    """Return the integrals of an exact ball.

    Args:
        radius: Radius [m].

    Returns:
        Integrals at density 1.
    """
    volume = 4.0 / 3.0 * math.pi * radius**3
    return VolumeIntegrals(volume, np.zeros(3), 0.2 * volume * radius**2 * np.eye(3))


def integrate_capsule(radius: float, half: float) -> VolumeIntegrals:
    """Return the integrals of an exact capsule: a cylinder along y with half a ball at either end.

    Args:
        radius: Radius of the cylinder and of its ends [m].
        half: Half the length of the cylinder [m].

    Returns:
        Integrals at density 1.
    """
    tube, ball = 2.0 * math.pi * radius**2 * half, 4.0 / 3.0 * math.pi * radius**3
    across = tube * radius**2 / 4.0 + ball * radius**2 / 5.0
    # A half ball has its centre 3 r / 8 above its flat side; about that side its second moment is that of a ball.
    along = tube * half**2 / 3.0 + ball * (radius**2 / 5.0 + 0.75 * half * radius + half**2)
    return VolumeIntegrals(tube + ball, np.zeros(3), np.diag([across, along, across]))


THINNEST = 1e-9
"""A mesh whose volume is below this fraction of its bounding box's diagonal cubed counts as flat."""


def check_closed(what: str, vertices: ArrayLike, faces: ArrayLike) -> tuple[Points, Faces]:
    """Return clean arrays of a mesh that encloses a volume, with its faces looking outwards.

    A mesh may have several parts. A part that looks inwards is a hollow, and must lie inside another part.

    Args:
        what: Name of the mesh in messages.
        vertices: Vertices (V, 3) [m].
        faces: Vertex indices (F, 3).

    Returns:
        Vertices (V, 3) as float64 and faces (F, 3) as int64.

    Raises:
        InputError: The mesh is open, inside out or flat, or its windings disagree; the message says how to repair it.
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
    """Raise InputError unless the faces of the mesh, and of each part that is no hollow of another part, look
    outwards.
    """
    volumes = compute_signed_volumes(vertices, faces)
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
    label = find_face_parts(len(faces), edges)
    for part in range(1 + int(label.max())):
        own = label == part
        if volumes[own].sum() >= 0.0:
            continue
        probe = vertices[faces[own][0]][:1]
        if compute_winding_numbers(probe, vertices, faces[~own])[0] < 0.5:
            raise InputError(
                f"{what}: part {part} of the mesh (faces {list_indices(np.flatnonzero(own))}) is inside out and lies "
                "in no other part, so it is no hollow; turn its faces round"
            )


def find_face_parts(count: int, edges: Edges) -> NDArray[np.int64]:
    """Return the number of the connected part of each face (count,), counted from 0 in the order of first faces."""
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


def read_closed_mesh(path: Any) -> tuple[Points, Faces]:
    """Read a closed mesh from an OBJ, PLY, STL, OFF, GLB or glTF file, or take it from a ``trimesh.Trimesh``.

    Vertices at the same place are merged first, because STL knows no shared vertices and texture seams split them.

    Args:
        path: File to read, or the mesh.

    Returns:
        Vertices (V, 3) [m] and faces (F, 3).

    Raises:
        InputError: The file cannot be read, or the mesh is not closed (see ``check_closed``).
    """
    given = is_surface_mesh(path)
    mesh = path.copy() if given else read_triangles(Path(path))
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    mesh.remove_unreferenced_vertices()
    return check_closed("mesh" if given else f"mesh {str(path)!r}", mesh.vertices, mesh.faces)
