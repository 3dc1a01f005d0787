"""Closed surfaces filled with tetrahedra by pytetwild (optional), texture coordinates included."""

from __future__ import annotations

import contextlib
import importlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
from scipy.spatial import cKDTree

from diffloom.errors import InputError
from diffloom_geometry.mesh_files import read_triangles
from diffloom_geometry.tetmesh import Floats, Ints, TetMesh, TextureMap, find_boundary_faces, orient_tets

# These modules of trimesh carry no types.
_TRIANGLES: Any = trimesh.triangles
_GROUPING: Any = trimesh.grouping


def fill_surface(path: Path, *, edge_length: float = 0.05) -> TetMesh:
    """Fill the closed surface in a file with tetrahedra.

    pytetwild does not return the same tetrahedra every time: keep a result with ``write_tet``.

    Args:
        path: File that trimesh reads.
        edge_length: Target edge of the tetrahedra, as a fraction of the diagonal of the bounding box, 0 to 1.

    Returns:
        The solid, with the texture coordinates of the surface where it has some.

    Raises:
        InputError: pytetwild is not installed, or the surface is not closed.
    """
    if not 0.0 < edge_length < 1.0:
        raise InputError(f"{path.name}: got edge_length {edge_length}; expected a fraction of the diagonal, 0 to 1")
    tetwild = _tetwild(path)
    source = read_triangles(path)
    closed = trimesh.Trimesh(source.vertices, source.faces, process=False)
    closed.merge_vertices(merge_tex=True, merge_norm=True)
    if not closed.is_watertight:
        open_edges = _GROUPING.group_rows(closed.edges_sorted, require_count=1)
        raise InputError(
            f"{path.name}: the surface is not closed, {len(open_edges)} edges belong to one triangle only; "
            "only closed surfaces can be filled: close the holes first"
        )
    shell = np.asarray(closed.vertices, np.float64), np.asarray(closed.faces, np.int32)
    with tempfile.TemporaryDirectory() as elsewhere, contextlib.chdir(elsewhere):  # it leaves a file where it runs
        points, tets = tetwild.tetrahedralize(*shell, edge_length_fac=edge_length, quiet=True)
    used, tets = np.unique(np.asarray(tets, dtype=np.int64), return_inverse=True)
    vertices = np.asarray(points, dtype=np.float64)[used]
    tets = orient_tets(vertices, tets.reshape(-1, 4))
    uv = getattr(source.visual, "uv", None)
    texture = None if uv is None else carry_texture(source, np.asarray(uv), vertices, find_boundary_faces(tets))
    return TetMesh(vertices, tets, texture=texture, name=path.name)


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


def _tetwild(path: Path) -> Any:
    """Return the module pytetwild, or raise InputError with the command that installs it."""
    try:
        return importlib.import_module("pytetwild")
    except ImportError as cause:
        raise InputError(
            f"{path.name} is a surface, and filling it with tetrahedra needs pytetwild ({cause}): install it with "
            "pip install 'diffloom-physics-fem[tetwild]', or give a tetrahedral mesh (.tet, .msh, .node/.ele)"
        ) from cause
