"""Closed surfaces filled with tetrahedra, texture coordinates included.

pytetwild (Hu et al. 2020), which keeps sharp edges, does it where it is installed. Otherwise tetrahedra are cut from a
lattice.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
from scipy.spatial import cKDTree

from diffloom.errors import InputError
from diffloom_geometry.lattice_fill import fill_with_lattice
from diffloom_geometry.mesh_files import read_triangles
from diffloom_geometry.tetmesh import (
    Floats,
    Ints,
    TetMesh,
    TextureMap,
    compute_enclosed_volume,
    find_boundary_faces,
    orient_tets,
)

# These modules of trimesh carry no types.
_TRIANGLES: Any = trimesh.triangles
_GROUPING: Any = trimesh.grouping


#: Fractions of the diagonal that are tried as edge of the tetrahedra, if none is given.
EDGE_LENGTHS = (0.1, 0.05, 0.025)
#: Share of the surface's volume that has to be filled, unless the edge is given.
ALMOST = 0.95


def fill_surface(path: Path | Any, *, edge_length: float | None = None) -> TetMesh:
    """Fill a closed surface with tetrahedra.

    pytetwild, an optional extra, keeps sharp edges, but its tetrahedra differ from run to run: keep a result with
    ``write_tet``. Without it they are cut from a lattice (``fill_with_lattice``).

    Args:
        path: File that trimesh reads, or a ``trimesh.Trimesh``.
        edge_length: Target edge of the tetrahedra, as a fraction of the diagonal of the bounding box, 0 to 1. None for
            0.1, or less where that does not fill the surface.

    Returns:
        The solid, with the texture coordinates of the surface where it has some.

    Raises:
        InputError: The surface is not closed, or thinner everywhere than the tetrahedra.
    """
    name = path.name if isinstance(path, Path) else "trimesh mesh"
    if edge_length is not None and not 0.0 < edge_length < 1.0:
        raise InputError(f"{name}: got edge_length {edge_length}; expected a fraction of the diagonal, 0 to 1")
    source = read_triangles(path) if isinstance(path, Path) else path
    closed = trimesh.Trimesh(source.vertices, source.faces, process=False)
    closed.merge_vertices(merge_tex=True, merge_norm=True)
    if not closed.is_watertight:
        open_edges = _GROUPING.group_rows(closed.edges_sorted, require_count=1)
        raise InputError(
            f"{name}: the surface is not closed, {len(open_edges)} edges belong to one triangle only; "
            "only closed surfaces can be filled: close the holes first"
        )
    shell = np.asarray(closed.vertices, np.float64), np.asarray(closed.faces, np.int64)
    fill = _fill_by_tetwild if _has_tetwild() else _fill_by_lattice
    for edge in EDGE_LENGTHS if edge_length is None else (edge_length,):
        vertices, tets = fill(*shell, edge)
        if len(tets) and _measure_volume(vertices, tets) >= ALMOST * abs(float(closed.volume)):
            break
    if not len(tets):
        raise InputError(
            f"{name}: tetrahedra with an edge_length of {edge:g} of the diagonal do not fit into the "
            f"surface; give a smaller one, such as {edge / 4.0:.3g}"
        )
    uv = getattr(source.visual, "uv", None)
    texture = None if uv is None else carry_texture(source, np.asarray(uv), vertices, find_boundary_faces(tets))
    return TetMesh(vertices, tets, texture=texture, name=name)


def _measure_volume(vertices: Floats, tets: Ints) -> float:
    """Return the volume of tetrahedra."""
    corners = vertices[tets]
    return abs(float(np.linalg.det(corners[:, 1:] - corners[:, :1]).sum())) / 6.0


def carry_texture(source: Any, uv: Floats, vertices: Floats, faces: Ints) -> TextureMap:
    """Return texture coordinates for ``faces`` from the nearest triangles of ``source``, a trimesh with ``uv`` by
    vertex.

    A corner takes the coordinates of the nearest place. Where these jump away from the continuation of the triangle
    that is nearest to the middle of the face, a seam runs between them, and the continuation is taken: no face spans a
    seam.
    """
    triangles = np.asarray(source.triangles)
    uv_of_triangles = uv[np.asarray(source.faces)]
    corners = vertices[faces].reshape(-1, 3)
    home = np.repeat(find_nearest_triangle(triangles, vertices[faces].mean(axis=1)), 3)
    continued = _interpolate(triangles[home], uv_of_triangles[home], corners)
    nearest = find_nearest_triangle(triangles, corners)
    foot = _TRIANGLES.closest_point(triangles[nearest], corners)
    direct = _interpolate(triangles[nearest], uv_of_triangles[nearest], foot)
    span = np.ptp(continued.reshape(-1, 3, 2), axis=1).max(axis=1)
    jumps = np.linalg.norm(direct - continued, axis=1) > 0.5 * np.repeat(span, 3)
    carried = np.where(jumps[:, None], continued, direct)
    return TextureMap(carried, faces, np.arange(len(corners)).reshape(-1, 3))


def _interpolate(triangles: Floats, values: Floats, points: Floats) -> Floats:
    """Return values (points, 2), continued linearly from the corners of triangles (points, 3, 2) over their planes."""
    weights = _TRIANGLES.points_to_barycentric(triangles, points)
    return np.asarray(np.einsum("pc,pcd->pd", weights, values))


def find_nearest_triangle(triangles: Floats, points: Floats) -> Ints:
    """Return the number of the triangle nearest to each point (points,), by exact distance."""
    middles = triangles.mean(axis=1)
    reach = np.linalg.norm(triangles - middles[:, None], axis=-1).max()
    tree = cKDTree(middles)
    # No triangle is nearer than the distance of its middle less its own extent.
    limits = tree.query(points)[0] + reach
    nearest = np.empty(len(points), dtype=np.int64)
    for i, candidates in enumerate(tree.query_ball_point(points, limits)):
        chosen = np.sort(candidates)
        feet = _TRIANGLES.closest_point(triangles[chosen], np.broadcast_to(points[i], (len(chosen), 3)))
        nearest[i] = chosen[np.argmin(np.linalg.norm(feet - points[i], axis=1))]
    return nearest


def _has_tetwild() -> bool:
    """Return True if pytetwild and pyvista, which it imports, are installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("pytetwild", "pyvista"))


def _fill_by_tetwild(vertices: Floats, faces: Ints, edge_length: float) -> tuple[Floats, Ints]:
    """Return vertices and tetrahedra from pytetwild."""
    tetwild = importlib.import_module("pytetwild")
    with tempfile.TemporaryDirectory() as elsewhere, contextlib.chdir(elsewhere):  # it leaves a file where it runs
        points, tets = tetwild.tetrahedralize(vertices, faces.astype(np.int32), edge_length_fac=edge_length, quiet=True)
    used, tets = np.unique(np.asarray(tets, dtype=np.int64), return_inverse=True)
    vertices = np.asarray(points, dtype=np.float64)[used]
    return vertices, orient_tets(vertices, tets.reshape(-1, 4))


def _fill_by_lattice(vertices: Floats, faces: Ints, edge_length: float) -> tuple[Floats, Ints]:
    """Return vertices and tetrahedra cut from a lattice."""
    if compute_enclosed_volume(vertices, faces) < 0.0:
        faces = faces[:, ::-1]
    return fill_with_lattice(vertices, faces, edge_length * float(np.linalg.norm(np.ptp(vertices, axis=0))))
