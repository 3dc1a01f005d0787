"""Sheets described by plain tables, as scene files write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from diffloom.errors import InputError
from diffloom.validation import check_choice
from diffloom_physics_cloth.meshes.disc import disc
from diffloom_physics_cloth.meshes.grid import grid, irregular_grid
from diffloom_physics_cloth.meshes.sheet import Sheet
from diffloom_physics_cloth.meshes.staggered import staggered_grid
from diffloom_physics_cloth.meshes.surface_mesh import load
from diffloom_physics_cloth.meshes.walker import walker

SHAPES: Mapping[str, Callable[..., Sheet]] = {
    "grid": grid,
    "irregular_grid": irregular_grid,
    "staggered_grid": staggered_grid,
    "disc": disc,
    "walker": walker,
}

SheetLike = Sheet | str | Path | Mapping[str, Any]


def make_sheet(mesh: SheetLike) -> Sheet:
    """A sheet from what a user writes.

    A Sheet is returned as it is; a path is a mesh file; a table names a built-in ``shape`` with its arguments, such as
    ``{"shape": "grid", "cells": [20, 10], "size": [2, 1]}``, or a ``file`` with ``scale`` and ``position``.
    """
    if isinstance(mesh, Sheet):
        return mesh
    if isinstance(mesh, (str, Path)):
        return SHAPES[mesh]() if isinstance(mesh, str) and mesh in SHAPES else load(mesh)
    if not isinstance(mesh, Mapping) or ("shape" in mesh) == ("file" in mesh):
        raise InputError(f"mesh: got {mesh!r}; expected a file name or a table with either 'shape' or 'file'")
    arguments = dict(mesh)
    if "file" in arguments:
        sheet = load(arguments.pop("file"))
        return call("file", sheet.placed, arguments)
    shape = check_choice("mesh.shape", str(arguments.pop("shape")), SHAPES)
    return call(shape, SHAPES[shape], arguments)


def call(what: str, function: Callable[..., Sheet], arguments: Mapping[str, Any]) -> Sheet:
    """``function(**arguments)``; a wrong argument name is an InputError."""
    try:
        return function(**arguments)
    except TypeError as cause:
        raise InputError(f"mesh ({what}): {cause}; got {', '.join(arguments) or 'no arguments'}") from cause
