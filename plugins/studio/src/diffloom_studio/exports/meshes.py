"""Meshes: an animated GLB, and sequences of PLY or OBJ files, written by trimesh."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
from numpy.typing import NDArray

from diffloom_fitting.file_writing import explained, write_bytes
from diffloom_studio.playback import Body

ARRAY, FLOAT = 34962, 5126  # numbers that glTF gives to a vertex buffer and to 32-bit floats


def mesh_of(body: Body, frame: int) -> Any:
    """One frame as a trimesh, its vertices in their order."""
    return trimesh.Trimesh(body.vertices[frame], body.faces, vertex_colors=body.colours, process=False)


def write_ply(path: Path, body: Body) -> Path:
    """A folder of frame_0000.ply and so on, and times.csv."""
    return _sequence(path, body, "ply")


def write_obj(path: Path, body: Body) -> Path:
    """A folder of frame_0000.obj and so on, and times.csv."""
    return _sequence(path, body, "obj")


def _sequence(path: Path, body: Body, kind: str) -> Path:
    folder = path.with_suffix("") if path.suffix == f".{kind}" else path
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for frame in range(len(body.times)):
        content = mesh_of(body, frame).export(file_type=kind)
        write_bytes(folder / f"frame_{frame:04d}.{kind}", content.encode() if isinstance(content, str) else content)
    rows = [f"{frame},{time:.9g}" for frame, time in enumerate(body.times)]
    write_bytes(folder / "times.csv", ("frame,time [s]\n" + "\n".join(rows) + "\n").encode())
    return folder


def write_glb(path: Path, body: Body) -> Path:
    """One file that plays by itself: the first frame is the mesh, every other one a morph target shown in its turn."""
    parts = _Glb(trimesh.Scene(mesh_of(body, 0)).export(file_type="glb"))
    (mesh,) = parts.tree["meshes"]
    (primitive,) = mesh["primitives"]
    moved = (body.vertices[1:] - body.vertices[0]).astype("<f4")
    primitive["targets"] = [{"POSITION": parts.add(part, "VEC3", ARRAY)} for part in moved]
    mesh["weights"] = [0.0] * len(moved)
    # Every target's weight is 1 at its own time and 0 at all others.
    weights = np.eye(len(body.times), dtype="<f4")[:, 1:]
    times = parts.add(body.times.astype("<f4"), "SCALAR")
    sampler = {"input": times, "output": parts.add(weights.reshape(-1), "SCALAR")}
    node = next(k for k, one in enumerate(parts.tree["nodes"]) if "mesh" in one)
    channel = {"sampler": 0, "target": {"node": node, "path": "weights"}}
    parts.tree["animations"] = [{"name": body.name, "samplers": [sampler], "channels": [channel]}]
    write_bytes(path, parts.whole())
    return path


class _Glb:
    """A GLB taken apart: the tree, and the bytes it names, behind which more can be put."""

    def __init__(self, content: bytes) -> None:
        length = int.from_bytes(content[12:16], "little")
        self.tree: dict[str, Any] = json.loads(content[20 : 20 + length])
        data = content[28 + length :]
        self._data = [data + b"\0" * (-len(data) % 4)]

    def add(self, values: NDArray[Any], kind: str, target: int | None = None) -> int:
        """Put floats behind the other bytes; returns the number by which the tree names them."""
        view = {"buffer": 0, "byteOffset": sum(map(len, self._data)), "byteLength": values.nbytes}
        self._data.append(values.tobytes())
        self.tree["bufferViews"].append(view if target is None else view | {"target": target})
        rows = values.reshape(len(values), -1)
        self.tree["accessors"].append({
            "bufferView": len(self.tree["bufferViews"]) - 1, "componentType": FLOAT, "count": len(values), "type": kind,
            "min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist(),
        })  # fmt: skip
        return len(self.tree["accessors"]) - 1

    def whole(self) -> bytes:
        """All of it put together again."""
        data = b"".join(self._data)
        self.tree["buffers"] = [{"byteLength": len(data)}]
        text = json.dumps(self.tree).encode()
        text += b" " * (-len(text) % 4)
        chunks = _chunk(b"JSON", text) + _chunk(b"BIN\0", data)
        return b"glTF" + _number(2) + _number(12 + len(chunks)) + chunks


def _chunk(kind: bytes, content: bytes) -> bytes:
    return _number(len(content)) + kind + content


def _number(value: int) -> bytes:
    return value.to_bytes(4, "little")
