"""Clips from files: NPZ with rows of numbers, and CSV with a line of names."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from diffloom.interfaces import InputError
from diffloom.regular_files import read_bytes
from diffloom_geometry.rotations import multiply_quaternions, rotate_vectors
from diffloom_motion.clips import Array, Clip
from diffloom_video.limits import MOST_BYTES, convert_errors, read_arrays

#: Kinds of columns, with their number of numbers.
KINDS = {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3, "weight": 1}
#: One column or more: the coordinates of a tree's joints, in the order of its links.
JOINTS = "joint_position"
DATA = "DIFFLOOM_REAL_DATA"


@dataclass(frozen=True)
class Recording:
    """Description of a file of recorded motion. Missing samples are NaN, or empty in a CSV.

    Args:
        file: NPZ or CSV file.
        rate: Frames per second.
        columns: By kind, the numbers (NPZ, from 0) or names (CSV) of its columns; "position" is required.
        unit: Metres per recorded unit of length.
        axes: Axes of the angular velocity, "world" or "body".
        rows: Name of the array of rows in an NPZ.
        lengths: Name of the array of clip lengths in an NPZ, whose clips follow each other in ``rows``.
        clip: Column of a CSV with the name of the clip.
        level: Upright direction in the recording's axes, if it is not z; clips are turned so that it becomes z.
    """

    file: str
    rate: float
    columns: Mapping[str, Sequence[int | str]] = field(default_factory=dict)
    unit: float = 1.0
    axes: str = "world"
    rows: str = "rows"
    lengths: str | None = "lengths"
    clip: str | None = None
    level: Sequence[float] | None = None

    def __post_init__(self) -> None:
        for kind, columns in self.columns.items():
            if len(columns) != KINDS.get(kind) and (kind != JOINTS or not columns):
                known = ", ".join((*(f"{name} ({count})" for name, count in KINDS.items()), f"{JOINTS} (one or more)"))
                raise InputError(
                    f"columns.{kind}: got {list(columns)}; expected a kind with its number of columns: {known}"
                )
        if "position" not in self.columns:
            raise InputError("columns: got no position; name its three columns")
        if self.axes not in ("world", "body"):
            raise InputError(f"axes: got {self.axes!r}; expected 'world' or 'body' for the angular velocity")
        if self.level is not None and (len(self.level) != 3 or not float(self.level[2]) > 0.0):
            raise InputError(f"level: got {self.level}; expected a direction of three numbers, the last above 0")
        if self.rate <= 0.0 or self.unit <= 0.0:
            raise InputError(f"got rate={self.rate:g} and unit={self.unit:g}; expected positive numbers")

    def read(self, folder: Path | None = None) -> list[Clip]:
        """Read all clips of the file.

        Args:
            folder: Folder of the file; the one that the environment variable DIFFLOOM_REAL_DATA names is tried too.

        Returns:
            The clips.

        Raises:
            InputError: The file is missing, too large or lacks a column.
        """
        path = find_data(self.file, folder)
        with convert_errors(path.name, "an NPZ file or a table in CSV with one line a frame"):
            pieces = self._npz(path) if path.suffix.lower() == ".npz" else self._csv(path)
            clips = [self._clip(name, piece) for name, piece in pieces]
        return clips if self.level is None else [turn_upright(clip, self.level) for clip in clips]

    def _clip(self, name: str, parts: Mapping[str, Array]) -> Clip:
        weight = parts["weight"][:, 0] if "weight" in parts else np.ones(len(parts["position"]))
        present = np.isfinite(np.concatenate([parts[kind] for kind in parts if kind != "weight"], axis=1)).all(axis=1)
        filled = {kind: np.where(present[:, None], value, _blank(kind)) for kind, value in parts.items()}
        turn, spin, speed = (filled.get(kind) for kind in ("orientation", "angular_velocity", "velocity"))
        if turn is not None:
            turn = turn / np.linalg.norm(turn, axis=1, keepdims=True)
        if spin is not None and self.axes == "body":
            if turn is None:
                raise InputError('columns: got angular_velocity with axes = "body"; it needs orientation too')
            spin = rotate_vectors(torch.tensor(turn), torch.tensor(spin)).numpy()
        return Clip(
            name, self.rate, self.unit * filled["position"], turn, np.where(present, np.nan_to_num(weight), 0.0),
            None if speed is None else self.unit * speed, spin, filled.get(JOINTS),
        )  # fmt: skip

    def _npz(self, path: Path) -> list[tuple[str, dict[str, Array]]]:
        data = read_arrays(path, path.name, (self.rows, *(() if self.lengths is None else (self.lengths,))))
        rows = np.asarray(data[self.rows], dtype=np.float64)
        lengths = [len(rows)] if self.lengths is None else [int(n) for n in data[self.lengths]]
        if rows.ndim != 2 or any(n < 1 for n in lengths) or sum(lengths) != len(rows):
            raise InputError(
                f"{path.name}: rows has shape {rows.shape} and lengths add up to {sum(lengths)}; expected one row per "
                "frame and at least one frame per clip"
            )
        places = {kind: [int(c) for c in columns] for kind, columns in self.columns.items()}
        if max(max(c) for c in places.values()) >= rows.shape[1]:
            raise InputError(f"{path.name}: got columns {places}; the file has 0 to {rows.shape[1] - 1}")
        ends = np.cumsum(lengths)
        pieces = [rows[end - n : end] for end, n in zip(ends, lengths, strict=True)]
        return [(str(i), {kind: piece[:, c] for kind, c in places.items()}) for i, piece in enumerate(pieces)]

    def _csv(self, path: Path) -> list[tuple[str, dict[str, Array]]]:
        content = read_bytes(path, MOST_BYTES, what="recording")
        with io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="") as lines:
            table = list(csv.DictReader(lines))
        names = [str(c) for columns in self.columns.values() for c in columns]
        wanted = [*names, *(() if self.clip is None else (self.clip,))]
        missing = [name for name in wanted if not table or name not in table[0]]
        if missing:
            raise InputError(
                f"{path.name}: it has no column {missing[0]!r}; it has {', '.join(table[0] if table else ())}"
            )
        groups: dict[str, list[dict[str, str]]] = {}
        for line in table:
            groups.setdefault("0" if self.clip is None else line[self.clip], []).append(line)

        def numbers(lines: list[dict[str, str]], columns: Sequence[int | str]) -> Array:
            return np.array([[float(line[str(c)] or "nan") for c in columns] for line in lines])

        return [(name, {k: numbers(own, c) for k, c in self.columns.items()}) for name, own in groups.items()]


def turn_upright(clip: Clip, up: Sequence[float]) -> Clip:
    """Turn a clip by the smallest angle so that the direction ``up`` becomes z."""
    x, y, z = np.asarray(up, dtype=np.float64) / np.linalg.norm(up)
    turn = torch.tensor([1.0 + z, y, -x, 0.0], dtype=torch.float64)
    turn = turn / turn.norm()

    def turn_vectors(value: Array | None) -> Array | None:
        return None if value is None else rotate_vectors(turn, torch.tensor(value)).numpy()

    seen = clip.orientation
    return replace(
        clip, position=rotate_vectors(turn, torch.tensor(clip.position)).numpy(), velocity=turn_vectors(clip.velocity),
        angular_velocity=turn_vectors(clip.angular_velocity),
        orientation=None if seen is None else multiply_quaternions(turn[None], torch.tensor(seen)).numpy(),
    )  # fmt: skip


def find_data(file: str, folder: Path | None) -> Path:
    """Find a file in its folder or in that of the environment; InputError if it is missing."""
    places = [Path(file), *([] if folder is None else [folder / file])]
    if os.environ.get(DATA):
        places.append(Path(os.environ[DATA]) / file)
    for place in places:
        if place.exists():
            return place
    raise InputError(
        f"recording.file: there is no {file!r}, and recordings are not part of diffloom: set {DATA} in the environment "
        "to the folder that holds it, or give another file with --set recording.file=PATH"
    )


def _blank(kind: str) -> Array:
    return np.array([1.0, 0.0, 0.0, 0.0]) if kind == "orientation" else np.zeros(KINDS.get(kind, 1))
