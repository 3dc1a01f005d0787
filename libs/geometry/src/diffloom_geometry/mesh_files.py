"""Triangle meshes from files of unknown origin: read by trimesh, within limits, and from one file alone.

A mesh file is data and runs no code, but it can claim more than it holds, refer to another file, or unfold into far
more than it takes on disk. Therefore only formats are read whose claims can be compared with their size, no second file
is opened, and every exception of a reader becomes an InputError.
"""

from __future__ import annotations

import io
import json
import re
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from diffloom.errors import InputError
from diffloom.regular_files import read_bytes, read_text

SURFACES = (".obj", ".ply", ".stl", ".off", ".glb", ".gltf")
#: Largest file that is read [bytes], and most triangles or vertices it may unfold into.
MOST_BYTES, MOST_ROWS = 256 * 2**20, 20_000_000


def is_surface_mesh(thing: object) -> bool:
    """Return True for a mesh object with vertices, faces and texture, as trimesh has them.

    Args:
        thing: Any object.

    Returns:
        True for a ``trimesh.Trimesh``; trimesh is not imported for that.
    """
    return all(hasattr(thing, name) for name in ("vertices", "faces", "visual", "merge_vertices"))


def read_triangles(path: Path) -> Any:
    """Read the triangles in a file; nothing is merged.

    Args:
        path: OBJ, PLY, STL, OFF, GLB or glTF file.

    Returns:
        The mesh as a ``trimesh.Trimesh``.

    Raises:
        InputError: The file is missing, too large, damaged, or holds no triangles.
    """
    try:
        import trimesh
    except ImportError as cause:
        raise InputError(f"to read {path.name!r} trimesh must be installed: pip install trimesh") from cause
    content = read_limited(path)
    kind = path.suffix.lower()
    if kind not in SURFACES:
        raise InputError(f"mesh {path.name!r}: got a file ending in {kind!r}; expected one of {', '.join(SURFACES)}")
    try:
        _check_claims(kind, content)
        # A stream has no folder, so that no other file is found from it.
        mesh = trimesh.load(io.BytesIO(content), file_type=kind[1:], force="mesh", process=False)
    except InputError as error:
        raise InputError(f"mesh {path.name!r}: {error}") from error
    except Exception as cause:
        told = str(cause)[:200] or type(cause).__name__
        raise InputError(
            f"mesh {path.name!r}: trimesh cannot read it ({told}); convert it to OBJ, PLY, STL or GLB in one file"
        ) from cause
    if not isinstance(mesh, trimesh.Trimesh) or not len(mesh.faces):
        raise InputError(f"mesh {path.name!r}: the file holds no triangles; expected a surface mesh")
    return mesh


def read_limited(path: Path) -> bytes:
    """Return the content of a file; raise InputError when it is missing, no plain file, or too large."""
    return read_bytes(path, MOST_BYTES, what="mesh")


def read_lines(path: Path) -> list[str]:
    """Return the lines of a mesh in a text file; raise InputError as ``read_limited``."""
    return read_text(path, MOST_BYTES, what="mesh").splitlines()


def _check_claims(kind: str, content: bytes) -> None:
    """Raise InputError when a file claims to hold more than its bytes can, or unfolds into too much."""
    if kind == ".ply":
        head = content[: content.find(b"end_header") + 1 or 4096]
        _check_rows((int(n) for n in re.findall(rb"element\s+\w+\s+(\d{1,30})", head)), len(content))
    elif kind == ".off":
        numbers = re.findall(rb"^[^#\n]*?(\d{1,30})\s+(\d{1,30})\s+\d+\s*$", content[:4096], flags=re.MULTILINE)
        _check_rows((int(n) for n in (numbers[0] if numbers else ())), len(content))
    elif kind in (".glb", ".gltf"):
        _check_gltf(_gltf_head(content, kind), len(content))


def _check_rows(counts: Iterable[int], size: int) -> None:
    """Raise InputError when a claimed number of rows exceeds the number of bytes."""
    for count in counts:
        if count > min(size, MOST_ROWS):
            raise InputError(f"it claims {count} rows in {size} bytes; expected a file that holds what it says")


def _gltf_head(content: bytes, kind: str) -> Any:
    """Return the JSON part of a GLB or glTF file."""
    if kind == ".gltf":
        return json.loads(content)
    length, mark = struct.unpack_from("<I4s", content, 12)
    if content[:4] != b"glTF" or mark != b"JSON" or length > len(content) - 20:
        raise InputError("it does not begin as a GLB file does; it may be cut off")
    return json.loads(content[20 : 20 + length])


def _check_gltf(head: Any, size: int) -> None:
    """Raise InputError unless accessors fit into the file, nodes form a tree, and at most MOST_ROWS rows unfold."""
    accessors = [int(a["count"]) for a in head.get("accessors", ())]
    _check_rows(accessors, size)
    nodes = head.get("nodes", ())
    children = [int(child) for node in nodes for child in node.get("children", ())]
    if len(set(children)) < len(children):
        raise InputError("a node of its scene hangs under two others; expected a tree")
    rows = [
        sum(accessors[index] for part in mesh.get("primitives", ()) for index in _list_accessors(part))
        for mesh in head.get("meshes", ())
    ]
    unfolded = sum(rows[int(node["mesh"])] for node in nodes if "mesh" in node)
    if unfolded > MOST_ROWS:
        raise InputError(f"its scene repeats meshes up to {unfolded} rows; at most {MOST_ROWS} are read")


def _list_accessors(part: Any) -> list[int]:
    """Return the accessors of a primitive."""
    indices = [part["indices"]] if "indices" in part else []
    return [int(index) for index in (*part.get("attributes", {}).values(), *indices)]
