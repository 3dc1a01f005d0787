"""Sheets from the tables of scene files, and from surface meshes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import NDArray

from diffloom.errors import InputError
from diffloom.validation import check_choice
from diffloom_geometry import is_surface_mesh, read_triangles
from diffloom_physics_cloth.meshes.shapes import disc, grid, irregular_grid, staggered_grid, walker
from diffloom_physics_cloth.meshes.sheet import Indices, Sheet

if TYPE_CHECKING:
    import trimesh


def convert_trimesh(mesh: trimesh.Trimesh, name: str = "mesh") -> Sheet:
    """Return the sheet of a ``trimesh.Trimesh``.

    Vertices at exactly one place are merged, because files repeat them along seams of the texture. Texture coordinates
    stay per corner. Group: rim, the vertices of the boundary, if there is one.
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
    """Return the distinct points in the order of first appearance, and the new number of each old point."""
    _, first, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return points[first[order]], rank[inverse.reshape(-1)]


def load_sheet(file: str | Path) -> Sheet:
    """Read a sheet from an OBJ, PLY, STL, OFF, GLB or glTF file."""
    path = Path(file)
    if not path.is_file():
        raise InputError(f"mesh file {str(file)!r} does not exist; the path is taken from {Path.cwd()}")
    return convert_trimesh(read_triangles(path), name=path.name)


SHAPES: Mapping[str, Callable[..., Sheet]] = {
    "grid": grid,
    "irregular_grid": irregular_grid,
    "staggered_grid": staggered_grid,
    "disc": disc,
    "walker": walker,
}

SheetLike = Union["Sheet", str, Path, Mapping[str, Any], "trimesh.Trimesh"]


def make_sheet(mesh: SheetLike) -> Sheet:
    """Return the sheet that a user describes.

    Args:
        mesh: A Sheet, which is returned unchanged; a ``trimesh.Trimesh``; the path of a mesh file; or a table that
            names a built-in ``shape`` with its arguments, such as ``{"shape": "grid", "cells": [20, 10], "size": [2,
            1]}``, or a ``file`` with ``scale`` and ``position``.
    """
    if isinstance(mesh, Sheet):
        return mesh
    if is_surface_mesh(mesh):
        return convert_trimesh(mesh)  # type: ignore[arg-type]
    if isinstance(mesh, (str, Path)):
        return SHAPES[mesh]() if isinstance(mesh, str) and mesh in SHAPES else load_sheet(mesh)
    if not isinstance(mesh, Mapping) or ("shape" in mesh) == ("file" in mesh):
        raise InputError(f"mesh: got {mesh!r}; expected a file name or a table with either 'shape' or 'file'")
    arguments = dict(mesh)
    if "file" in arguments:
        file = arguments.pop("file")
        sheet = convert_trimesh(file) if is_surface_mesh(file) else load_sheet(file)
        return call_with_table("file", sheet.transform, arguments)
    shape = check_choice("mesh.shape", str(arguments.pop("shape")), SHAPES)
    return call_with_table(shape, SHAPES[shape], arguments)


def call_with_table(what: str, function: Callable[..., Sheet], arguments: Mapping[str, Any]) -> Sheet:
    """Return ``function(**arguments)``; raise InputError for a wrong argument name."""
    try:
        return function(**arguments)
    except TypeError as cause:
        raise InputError(f"mesh ({what}): {cause}; got {', '.join(arguments) or 'no arguments'}") from cause
