"""Exports of motion for other programs: animated meshes, trajectories and videos."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import trimesh
from numpy.typing import NDArray

from diffloom.interfaces import InputError, NoGradient
from diffloom_fitting.files import explain_errors, new_file, write_bytes, write_text
from diffloom_studio.playback import Playback, PlaybackBody
from diffloom_studio.report.media import find_frame_rate, write_video
from diffloom_studio.report.panels import enlarge

__all__ = ["FORMATS", "export"]

ARRAY, FLOAT = 34962, 5126  # numbers of a vertex buffer and of 32-bit floats in glTF


def make_mesh(body: PlaybackBody, frame: int) -> Any:
    """Return one frame as a trimesh, its vertices in their order."""
    return trimesh.Trimesh(body.vertices[frame], body.faces, vertex_colors=body.colours, process=False)


def write_ply(path: Path, body: PlaybackBody) -> Path:
    """Write a folder of frame_0000.ply and so on, and times.csv."""
    return _write_sequence(path, body, "ply")


def write_obj(path: Path, body: PlaybackBody) -> Path:
    """Write a folder of frame_0000.obj and so on, and times.csv."""
    return _write_sequence(path, body, "obj")


def _write_sequence(path: Path, body: PlaybackBody, kind: str) -> Path:
    """Write a folder with one file for each frame, and times.csv."""
    folder = path.with_suffix("") if path.suffix == f".{kind}" else path
    with explain_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for frame in range(len(body.times)):
        content = make_mesh(body, frame).export(file_type=kind)
        write_bytes(folder / f"frame_{frame:04d}.{kind}", content.encode() if isinstance(content, str) else content)
    rows = [f"{frame},{time:.9g}" for frame, time in enumerate(body.times)]
    write_bytes(folder / "times.csv", ("frame,time [s]\n" + "\n".join(rows) + "\n").encode())
    return folder


def write_glb(path: Path, body: PlaybackBody) -> Path:
    """Write one file with an animation: the first frame is the mesh, every other one a morph target shown at its
    time.
    """
    parts = _Glb(trimesh.Scene(make_mesh(body, 0)).export(file_type="glb"))
    (mesh,) = parts.tree["meshes"]
    (primitive,) = mesh["primitives"]
    moved = (body.vertices[1:] - body.vertices[0]).astype("<f4")
    primitive["targets"] = [{"POSITION": parts.add(part, "VEC3", ARRAY)} for part in moved]
    mesh["weights"] = [0.0] * len(moved)
    # The weight of each target is 1 at its own time and 0 at all other times.
    weights = np.eye(len(body.times), dtype="<f4")[:, 1:]
    times = parts.add(body.times.astype("<f4"), "SCALAR")
    sampler = {"input": times, "output": parts.add(weights.reshape(-1), "SCALAR")}
    node = next(k for k, one in enumerate(parts.tree["nodes"]) if "mesh" in one)
    channel = {"sampler": 0, "target": {"node": node, "path": "weights"}}
    parts.tree["animations"] = [{"name": body.name, "samplers": [sampler], "channels": [channel]}]
    write_bytes(path, parts.pack())
    return path


class _Glb:
    """Parts of a GLB: the tree, and the bytes it names, to which more can be appended."""

    def __init__(self, content: bytes) -> None:
        length = int.from_bytes(content[12:16], "little")
        self.tree: dict[str, Any] = json.loads(content[20 : 20 + length])
        data = content[28 + length :]
        self._data = [data + b"\0" * (-len(data) % 4)]

    def add(self, values: NDArray[Any], kind: str, target: int | None = None) -> int:
        """Append floats to the bytes; return the number by which the tree names them."""
        view = {"buffer": 0, "byteOffset": sum(map(len, self._data)), "byteLength": values.nbytes}
        self._data.append(values.tobytes())
        self.tree["bufferViews"].append(view if target is None else view | {"target": target})
        rows = values.reshape(len(values), -1)
        self.tree["accessors"].append({
            "bufferView": len(self.tree["bufferViews"]) - 1, "componentType": FLOAT, "count": len(values), "type": kind,
            "min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist(),
        })  # fmt: skip
        return len(self.tree["accessors"]) - 1

    def pack(self) -> bytes:
        """Return the file's content."""
        data = b"".join(self._data)
        self.tree["buffers"] = [{"byteLength": len(data)}]
        text = json.dumps(self.tree).encode()
        text += b" " * (-len(text) % 4)
        chunks = _pack_chunk(b"JSON", text) + _pack_chunk(b"BIN\0", data)
        return b"glTF" + _pack_number(2) + _pack_number(12 + len(chunks)) + chunks


def _pack_chunk(kind: bytes, content: bytes) -> bytes:
    return _pack_number(len(content)) + kind + content


def _pack_number(value: int) -> bytes:
    return value.to_bytes(4, "little")


def list_columns(body: PlaybackBody) -> dict[str, NDArray[np.float64] | NDArray[np.int64]]:
    """Return time [s], node, q0.. (coordinates) and u0.. (velocities), in the units of the model."""
    q, u = body.trajectory.q.cpu().double().numpy(), body.trajectory.u.cpu().double().numpy()
    frames, nodes = q.shape[:2]
    found: dict[str, NDArray[np.float64] | NDArray[np.int64]] = {
        "time": np.repeat(body.times, nodes),
        "node": np.tile(np.arange(nodes), frames),
    }
    found |= {f"q{k}": q[..., k].reshape(-1) for k in range(q.shape[2])}
    return found | {f"u{k}": u[..., k].reshape(-1) for k in range(u.shape[2])}


def write_csv(path: Path, body: PlaybackBody) -> Path:
    """Write a table as text."""
    columns = list_columns(body)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    write_text(path, text.getvalue())
    return path


def write_parquet(path: Path, body: PlaybackBody) -> Path:
    """Write a table for large trajectories; needs pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise InputError('export: parquet needs pyarrow; pip install "diffloom-studio[parquet]"') from error
    with new_file(path) as beside:
        pyarrow.parquet.write_table(pyarrow.table(list_columns(body)), beside)
    return path


RATE = 1000.0  # time codes per second; frames lie near whole ones


def write_usd(path: Path, body: PlaybackBody) -> Path:
    """Write a stage with one mesh, y up, in metres."""
    try:
        from pxr import Usd, UsdGeom, Vt
    except ImportError as error:
        raise InputError('export: USD needs usd-core; pip install "diffloom-studio[usd]"') from error
    with new_file(path) as beside:
        stage = Usd.Stage.CreateNew(str(beside))
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        stage.SetTimeCodesPerSecond(RATE)
        stage.SetStartTimeCode(RATE * float(body.times[0]))
        stage.SetEndTimeCode(RATE * float(body.times[-1]))
        mesh = UsdGeom.Mesh.Define(stage, f"/{body.name}")
        stage.SetDefaultPrim(mesh.GetPrim())
        mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(body.faces), 3, dtype=np.int32)))
        mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(body.faces.astype(np.int32).reshape(-1)))
        mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        points = mesh.CreatePointsAttr()
        for time, vertices in zip(body.times, body.vertices, strict=True):
            points.Set(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(vertices)), RATE * float(time))
        if body.colours is not None:
            shown = mesh.CreateDisplayColorPrimvar(UsdGeom.Tokens.vertex)
            shown.Set(Vt.Vec3fArray.FromNumpy(body.colours.astype(np.float32) / 255.0))
        stage.GetRootLayer().Save()
    return path


LEAST = 240  # height of the video [px]


def write_view(path: Path, playback: Playback, body: str, frames: int, view: str | None) -> Path:
    """Write the video of ``body`` from the camera ``view``, as mp4, webp or gif."""
    if body not in playback.values:
        raise InputError(f"export: got the body {body!r}; expected one of {', '.join(playback.values)}")
    whole = playback.experiment.scene
    scene = whole.select_view(next(iter(whole.viewpoints)) if view is None else view)
    times = playback.times(frames)
    with torch.no_grad():
        image = scene.render(playback.values[body], times, ("rgba",), NoGradient()).image
    assert image is not None
    shown = np.ascontiguousarray(enlarge(image.bytes()[..., :3].numpy(), LEAST))
    write_video(path, shown, find_frame_rate(times.numpy()))
    return path


#: Writer and description of each format.
WRITERS: dict[str, tuple[Callable[[Path, PlaybackBody], Path], str]] = {
    "glb": (write_glb, "one file, every frame a morph target, animated"),
    "ply": (write_ply, "a folder, one file a frame, with colours"),
    "obj": (write_obj, "a folder, one file a frame"),
    "usd": (write_usd, "one file with time samples (extra: usd)"),
    "usda": (write_usd, "the same as text"),
    "usdc": (write_usd, "the same in binary form"),
    "csv": (write_csv, "one row a node and time: coordinates and velocities"),
    "parquet": (write_parquet, "the same (extra: parquet)"),
}
VIDEOS = ("mp4", "webp", "gif")
FORMATS = (*WRITERS, *VIDEOS)
"""Formats that `export` writes."""


def export(
    playback: Playback, path: str | Path, body: str = "fit", *, kind: str | None = None, frames: int = 61,
    view: str | None = None,
) -> Path:  # fmt: skip
    """Write one body of a playback to a file or a folder.

    Args:
        playback: Run or experiment.
        path: File to write, or folder for a sequence of files.
        body: "start", "fit" or "truth".
        kind: One of FORMATS; default the path's ending.
        frames: Number of frames, evenly over the time; at least 2.
        view: Label of the camera of a video; default the first one.

    Returns:
        Path that was written.

    Example:
        export(load_playback("runs/demo"), "ball.glb", "fit", frames=31)
    """
    place = Path(path)
    chosen = (kind or place.suffix.removeprefix(".")).lower()
    if chosen not in FORMATS:
        raise InputError(f"export: got the format {chosen!r}; expected one of {', '.join(FORMATS)}")
    if frames < 2:
        raise InputError(f"export: got {frames} frames; expected at least 2")
    with explain_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    if chosen in VIDEOS:
        return write_view(place, playback, body, frames, view)
    write, _ = WRITERS[chosen]
    return write(place, playback.body(body, playback.times(frames)))
