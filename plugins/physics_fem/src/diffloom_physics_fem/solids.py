"""Solid of a model: a built-in shape, a file, or a given mesh."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from diffloom.interfaces import InputError
from diffloom.validation import check_arguments
from diffloom_geometry import TetMesh, ball, beam, box, check_tetmesh, gear, is_surface_mesh, read_solid

_LOG = logging.getLogger(__name__)
_ARGUMENTS = {
    "box": ("size", "cells", "split"), "beam": ("size", "cells", "split"), "ball": ("radius", "layers"),
    "gear": ("radius", "width", "teeth", "layers"),
}  # fmt: skip


def make_solid(mesh: str | Path | TetMesh | Any, shape: Mapping[str, Any], *, scale: float, repair: bool) -> TetMesh:
    """Return the checked mesh.

    mesh: "box", "beam", "ball", "gear", a file, a closed trimesh, or a TetMesh. shape: arguments of built-in shapes,
    and ``edge_length`` for closed surfaces; None for an argument that is not given. Repairs are logged as a warning.
    """
    given = {name: value for name, value in shape.items() if value is not None}
    made = _make(mesh, given)
    checked, done = check_tetmesh(made if scale == 1.0 else made.scale_lengths(scale), repair=repair)
    for sentence in done:
        _LOG.warning("%s: %s", checked.name, sentence)
    return checked


def _make(mesh: str | Path | TetMesh | Any, given: dict[str, Any]) -> TetMesh:
    """Return a built-in shape, the mesh of a file, or the given mesh."""
    surface = is_surface_mesh(mesh)
    allowed = _ARGUMENTS.get(str(mesh), ()) if isinstance(mesh, (str, Path)) else ()
    if surface or (isinstance(mesh, (str, Path)) and not allowed):
        allowed = ("edge_length",)
    for name in given:
        if name not in allowed:
            shown = mesh.name if isinstance(mesh, TetMesh) else "trimesh" if surface else mesh
            words = f"takes {', '.join(allowed)}" if allowed else "takes no shape arguments"
            raise InputError(f"FemModel: got {name}={given[name]!r}, but mesh {str(shown)!r} {words}")
    if isinstance(mesh, TetMesh):
        return mesh
    if surface:
        return read_solid(mesh, **given)
    makers: dict[str, Callable[..., TetMesh]] = {"ball": ball, "gear": gear, "box": box}
    if str(mesh) in makers:
        check_arguments(str(mesh), makers[str(mesh)], given)
        return makers[str(mesh)](**given)
    if str(mesh) == "beam":
        length, height, width = _three(given.pop("size", (1.0, 0.1, 0.1)))
        return beam(length, width, height, **given)
    return read_solid(mesh, **given)


def _three(size: Sequence[float]) -> Sequence[float]:
    """Return the lengths of a beam, or raise InputError."""
    if len(size) != 3:
        raise InputError(f"beam: got size {list(size)}; expected [length, height, width] in metres")
    return size
