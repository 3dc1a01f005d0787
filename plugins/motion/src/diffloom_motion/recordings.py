"""Clips from files: NPZ, CSV and Parquet with columns of poses, joints and weights."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from diffloom.interfaces import InputError
from diffloom_fitting import quantity
from diffloom_geometry.rotations import multiply_quaternions, rotate_vectors
from diffloom_motion.clips import Array, Clip
from diffloom_motion.tables import Table, read_tables
from diffloom_video.limits import convert_errors

#: Kinds of columns, with their number of numbers.
KINDS = {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3, "weight": 1}
#: One column or more: the coordinates of a tree's joints, their rates and torques, in the order of its links.
JOINTS, JOINT_KINDS = "joint_position", ("joint_position", "joint_velocity", "joint_torque")
#: Unit of each kind of column in a clip.
UNITS = {
    "position": "m", "velocity": "m/s", "angular_velocity": "rad/s", "joint_position": "rad",
    "joint_velocity": "rad/s", "joint_torque": "N m", "time": "s",
}  # fmt: skip
#: Units that are no SI unit with a usual prefix, with the SI unit and the factor to it.
OTHER_UNITS = (("deg", "rad", math.pi / 180.0), ("rpm", "rad/s", math.pi / 30.0), ("cm", "m", 0.01))
#: Largest error of a frame's time, relative to the time between frames, that is not resampled.
UNEVEN = 0.02
DATA = "DIFFLOOM_REAL_DATA"


@dataclass(frozen=True)
class Recording:
    """Description of a file of recorded motion. Missing samples are NaN, or empty in a CSV.

    Args:
        file: NPZ, CSV (also ``.csv.gz``) or Parquet file, or several with equal columns, whose clips follow each other.
        rate: Frames per second; None takes it from the column ``time``. With both, clips are resampled to this rate.
        columns: By kind, the names of its columns, or numbers of columns of ``rows`` in an NPZ. Needed are "position",
            or "joint_position" where the base is fixed.
        unit: Metres per recorded unit of length.
        axes: Axes of the angular velocity, "world" or "body".
        rows: Name of the array of rows in an NPZ.
        lengths: Name of the array of clip lengths in an NPZ, whose clips follow each other in ``rows``.
        clip: Column with the name of the clip.
        level: Upright direction in the recording's axes, if it is not z; clips are turned so that it becomes z.
        base: "fixed": the first joint is fixed to the world and only joints were recorded; "floating": the first link
            flies, and its pose was recorded. None: fixed if there are joints and no position.
        time: Column with the time of each frame; uneven times are resampled by interpolation.
        units: Unit of a kind of column, such as {"joint_position": "deg"}; further kinds have SI units.
    """

    file: str | Sequence[str]
    rate: float | None = None
    columns: Mapping[str, Sequence[int | str]] = field(default_factory=dict)
    unit: float = 1.0
    axes: str = "world"
    rows: str = "rows"
    lengths: str | None = "lengths"
    clip: str | None = None
    level: Sequence[float] | None = None
    base: str | None = None
    time: int | str | None = None
    units: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        faults = find_faults(vars(self))
        if faults:
            raise InputError("\n".join(faults))

    @property
    def fixed(self) -> bool:
        """True if the tree's base is fixed."""
        return self.base == "fixed" or (self.base is None and "position" not in self.columns)

    def read(self, folder: Path | None = None) -> list[Clip]:
        """Read all clips of the file.

        Args:
            folder: Folder of the file; the one that the environment variable DIFFLOOM_REAL_DATA names is tried too.

        Returns:
            The clips.

        Raises:
            InputError: The file is missing, too large or lacks a column.
        """
        paths = [find_data(file, folder) for file in ([self.file] if isinstance(self.file, str) else self.file)]
        wanted = [
            *(c for columns in self.columns.values() for c in columns),
            *(() if self.time is None else (self.time,)),
        ]
        clips = []
        for path in paths:
            with convert_errors(path.name, "an NPZ or Parquet file, or a table in CSV with one line a frame"):
                for table in read_tables(path, wanted, self.rows, self.lengths, self.clip):
                    clip = self._clip(table)
                    clips.append(clip if len(paths) == 1 else replace(clip, name=f"{path.stem}:{clip.name}"))
        return clips if self.level is None else [turn_upright(clip, self.level) for clip in clips]

    def _clip(self, table: Table) -> Clip:
        parts = {kind: self._factor(kind) * table.select(columns) for kind, columns in self.columns.items()}
        rate = self.rate
        if self.time is not None:
            times = self._factor("time") * table.select([self.time])[:, 0]
            parts, rate = resample(parts, times, rate, f"{table.place}: clip {table.name!r}")
        assert rate is not None
        frames = len(next(iter(parts.values())))
        weight = parts["weight"][:, 0] if "weight" in parts else np.ones(frames)
        present = np.isfinite(np.concatenate([parts[kind] for kind in parts if kind != "weight"], axis=1)).all(axis=1)
        filled = {kind: np.where(present[:, None], value, _blank(kind)) for kind, value in parts.items()}
        turn, spin, speed = (filled.get(kind) for kind in ("orientation", "angular_velocity", "velocity"))
        if turn is not None:
            turn = turn / np.linalg.norm(turn, axis=1, keepdims=True)
        if spin is not None and self.axes == "body":
            assert turn is not None
            spin = rotate_vectors(torch.tensor(turn), torch.tensor(spin)).numpy()
        place = np.zeros((frames, 3)) if self.fixed else self.unit * filled["position"]
        return Clip(
            table.name, rate, place, turn, np.where(present, np.nan_to_num(weight), 0.0),
            None if speed is None else self.unit * speed, spin, filled.get(JOINTS), filled.get("joint_velocity"),
            filled.get("joint_torque"), self.fixed,
        )  # fmt: skip

    def _factor(self, kind: str) -> float:
        """Return the factor from a column's unit to that of a clip."""
        unit = self.units.get(kind)
        return 1.0 if unit is None else unit_factor(unit, UNITS[kind], f"recording.units.{kind}")


def unit_factor(unit: str, into: str, place: str) -> float:
    """Return the factor from a unit to another one; deg, rpm and cm are understood beside SI units with prefixes.

    Args:
        unit: Unit of a column, such as "deg", "rpm", "cm" or "N cm".
        into: Unit of a clip.
        place: Name of the key, for errors.
    """
    for name, plain, factor in OTHER_UNITS:
        if name in unit:
            return factor * unit_factor(unit.replace(name, plain), into, place)
    return float(quantity(f"1 {unit}", into, place))


def find_faults(table: Mapping[str, object]) -> list[str]:
    """Find everything that is missing or wrong in the description of a recording.

    Args:
        table: Values by the names of the arguments of `Recording`.

    Returns:
        One sentence for each fault, with an example.
    """
    columns, base = table.get("columns") or {}, table.get("base")
    units, level, rate = table.get("units") or {}, table.get("level"), table.get("rate")
    if not isinstance(columns, Mapping) or not isinstance(units, Mapping):
        return []  # the schema says so
    faults = [
        f"columns.{kind}: got {list(given)}; expected a kind with its number of columns: "
        + ", ".join(
            (*(f"{name} ({count})" for name, count in KINDS.items()), *(f"{k} (one or more)" for k in JOINT_KINDS))
        )
        for kind, given in columns.items()
        if len(given) != KINDS.get(kind) and (kind not in JOINT_KINDS or not given)
    ]
    if "position" not in columns and JOINTS not in columns:
        faults.append(
            'columns: got no position; name its three columns, such as columns = { position = ["x", "y", "z"] }, or '
            'the joints of a tree on a fixed base: columns = { joint_position = ["q1", "q2"] }'
        )
    elif base == "fixed" and JOINTS not in columns:
        faults.append(
            'columns: got no joint_position; a fixed base needs it, such as columns = { joint_position = ["q1"] }'
        )
    elif base == "floating" and "position" not in columns:
        faults.append(
            'columns: got no position; a floating base needs it, such as columns.position = ["x", "y", "z"], or set '
            'base = "fixed"'
        )
    if base not in (None, "fixed", "floating"):
        faults.append(f"base: got {base!r}; expected 'fixed' or 'floating'")
    if rate is None and table.get("time") is None:
        faults.append(
            "rate: got none; give the frames per second, such as rate = 100, or the column of times, such as "
            'time = "time"'
        )
    if table.get("axes", "world") not in ("world", "body"):
        faults.append(f"axes: got {table.get('axes')!r}; expected 'world' or 'body' for the angular velocity")
    if "angular_velocity" in columns and table.get("axes") == "body" and "orientation" not in columns:
        faults.append('columns: got angular_velocity with axes = "body"; it needs orientation too')
    if level is not None and (not isinstance(level, Sequence) or len(level) != 3 or not float(level[2]) > 0.0):
        faults.append(f"level: got {level}; expected a direction of three numbers, the last above 0")
    faults += [
        f"{name}: got {value:g}; expected a positive number"
        for name, value in (("rate", rate), ("unit", table.get("unit")))
        if isinstance(value, int | float) and not value > 0.0
    ]
    for kind in units:
        if kind not in UNITS:
            faults.append(
                f'units.{kind}: expected one of {", ".join(UNITS)}, such as units = {{ joint_position = "deg" }}'
            )
    return faults


def resample(
    parts: Mapping[str, Array], times: Array, rate: float | None, place: str
) -> tuple[dict[str, Array], float]:
    """Put samples on even times by linear interpolation, where they are uneven or another rate is asked for.

    Args:
        parts: Samples (frames, numbers) by kind.
        times: Time of each frame [s].
        rate: Frames per second; None takes the median time between frames.
        place: Name of the clip, for errors.

    Returns:
        The samples, and the rate.

    Raises:
        InputError: Times do not grow.
    """
    steps = np.diff(times)
    if len(times) < 2 or not np.isfinite(times).all() or not (steps > 0.0).all():
        bad = int(np.argmin(steps > 0.0)) + 1 if len(times) > 1 else 0
        raise InputError(f"{place}: its times must grow from frame to frame; they do not at frame {bad}")
    found = 1.0 / float(np.median(steps)) if rate is None else rate
    even = times[0] + np.arange(int(np.floor((times[-1] - times[0]) * found + 1e-6)) + 1) / found
    if len(even) == len(times) and np.abs(even - times).max() * found < UNEVEN:
        return dict(parts), found
    made = {}
    for kind, value in parts.items():
        if kind == "orientation":
            # Neighbouring quaternions are given one sign, so that a line between them is short.
            signs = np.sign((value[1:] * value[:-1]).sum(axis=1))
            value = value * np.concatenate([[1.0], np.cumprod(np.where(signs < 0.0, -1.0, 1.0))])[:, None]
        if kind == JOINTS:
            value = np.unwrap(value, axis=0) if np.isfinite(value).all() else value
        made[kind] = np.stack([np.interp(even, times, column) for column in value.T], axis=1)
    return made, found


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
