"""Reading a solid from any file we know: tetrahedra as they are, closed surfaces filled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from diffloom.errors import InputError
from diffloom_geometry.mesh_files import check_size
from diffloom_geometry.msh import read_msh
from diffloom_geometry.node_ele import read_node_ele
from diffloom_geometry.tet_text import read_tet
from diffloom_geometry.tetmesh import TetMesh

_TET_READERS: dict[str, Callable[[Path], TetMesh]] = {
    ".tet": read_tet,
    ".msh": read_msh,
    ".node": read_node_ele,
    ".ele": read_node_ele,
}


def read_solid(path: str | Path, *, edge_length: float = 0.05) -> TetMesh:
    """The solid in a file: ``.tet``, ``.msh`` (ASCII 2 and 4), ``.node``/``.ele``, or a closed surface.

    Surfaces (anything trimesh reads: obj, ply, stl, off, glb ...) are filled with tetrahedra by pytetwild, an
    optional extra. edge_length: wanted edge of these, as a fraction of the surface's bounding-box diagonal.
    The mesh is not checked yet: see ``diffloom_geometry.tet_checks.check_tetmesh``.
    """
    try:
        place = Path(path).expanduser()
    except RuntimeError:  # "~" of nobody: a name like any other
        place = Path(path)
    if not place.exists():
        raise InputError(f"mesh file {str(path)!r} does not exist; expected {', '.join(_TET_READERS)} or a surface")
    reader = _TET_READERS.get(place.suffix.lower())
    if reader is not None:
        check_size(place)
        try:
            return reader(place)
        except InputError:
            raise
        except Exception as cause:
            raise InputError(f"{place.name} cannot be read: {str(cause)[:200] or type(cause).__name__}") from cause
    from diffloom_geometry.tet_fill import fill_surface

    return fill_surface(place, edge_length=edge_length)
