"""Columns of numbers from files: NPZ, CSV (also packed by gzip) and Parquet."""

from __future__ import annotations

import csv
import io
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diffloom.interfaces import InputError
from diffloom.regular_files import read_bytes
from diffloom_motion.clips import Array
from diffloom_video.limits import MOST_BYTES, read_arrays

#: Name of an array of an NPZ with the number of one of its columns.
COLUMN_OF_ARRAY = re.compile(r"(.+)\[(\d+)\]")
#: Window of zlib that expects the head of a gzip file.
GZIP = 31
#: Separators between the columns of a CSV.
SEPARATORS = ",;\t"


@dataclass(frozen=True)
class Table:
    """Rows of one clip.

    Args:
        name: Name of the clip.
        columns: Columns (frames,) by name or number.
        place: Name of the file, for errors.
    """

    name: str
    columns: Mapping[str | int, Array]
    place: str

    def select(self, names: Sequence[str | int]) -> Array:
        """Return columns side by side.

        Args:
            names: Names or numbers of the columns.

        Returns:
            (frames, columns); missing samples are NaN.

        Raises:
            InputError: The file lacks a column.
        """
        missing = [name for name in names if name not in self.columns]
        if missing:
            there = list(self.columns)
            if there and all(isinstance(name, int) for name in there):
                told = f"the file has 0 to {len(there) - 1}"
            else:
                told = f"it has {', '.join(map(str, there))}"
            raise InputError(f"{self.place}: it has no column {missing[0]!r}; {told}")
        return np.stack([np.asarray(self.columns[name], dtype=np.float64) for name in names], axis=1)


def read_tables(
    path: Path, wanted: Sequence[str | int], rows: str, lengths: str | None, clip: str | None
) -> list[Table]:
    """Read the columns of a file, clip by clip.

    Args:
        path: The file: ``.npz``, ``.parquet``, or a CSV, which may end in ``.gz``.
        wanted: Names or numbers of the columns that are needed.
        rows: Name of the array of rows in an NPZ, whose columns have numbers.
        lengths: Name of the array of clip lengths in an NPZ, or None.
        clip: Column with the name of the clip, or None for one clip.

    Returns:
        The clips, in the order of the file.

    Raises:
        InputError: The file is too large, or it lacks a column.
    """
    kind = path.suffix.lower()
    if kind == ".npz":
        return _read_npz(path, wanted, rows, lengths)
    columns = _read_parquet(path) if kind in (".parquet", ".pq") else _read_csv(path)
    if clip is not None and clip not in columns:
        raise InputError(f"{path.name}: it has no column {clip!r}; it has {', '.join(columns)}")
    needed = [name for name in wanted if name in columns]
    numbers = {name: _as_numbers(columns[str(name)], path.name, str(name)) for name in needed}
    numbers |= {name: np.zeros(0) for name in columns if name not in numbers}
    if clip is None:
        return [Table("0", numbers, path.name)]
    groups: dict[str, list[int]] = {}
    for row, name in enumerate(columns[clip]):
        groups.setdefault(str(name), []).append(row)
    return [
        Table(name, {key: value[own] if key in needed else value for key, value in numbers.items()}, path.name)
        for name, own in groups.items()
    ]


def _as_numbers(values: Sequence[Any], place: str, name: str) -> Array:
    """Convert the cells of a column; empty ones become NaN."""
    try:
        return np.array([float("nan") if value in ("", None) else float(value) for value in values])
    except ValueError as error:
        raise InputError(f"{place}: column {name!r} has a cell that is no number ({error})") from None


def _read_csv(path: Path) -> dict[str, list[str]]:
    content = read_bytes(path, MOST_BYTES, what="recording")
    if path.suffix.lower() == ".gz":
        content = zlib.decompressobj(GZIP).decompress(content, MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise InputError(f"{path.name}: it unpacks to more than {MOST_BYTES / 2**30:.0f} GB")
    lines = content.decode("utf-8-sig").splitlines()
    if not lines:
        raise InputError(f"{path.name}: the file is empty; expected a line of names and one line a frame")
    separator = max(SEPARATORS, key=lines[0].count)
    reader = csv.reader(lines, delimiter=separator)
    names = [name.strip() for name in next(reader)]
    table = [row for row in reader if row]
    uneven = next((i for i, row in enumerate(table) if len(row) != len(names)), None)
    if uneven is not None:
        raise InputError(
            f"{path.name}: line {uneven + 2} has {len(table[uneven])} cells; the first line names {len(names)} columns"
        )
    return {name: [row[i].strip() for row in table] for i, name in enumerate(names)}


def _read_parquet(path: Path) -> dict[str, list[Any]]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise InputError(
            f"{path.name}: reading Parquet needs pyarrow: pip install 'diffloom-motion[parquet]'"
        ) from None
    table = parquet.read_table(io.BytesIO(read_bytes(path, MOST_BYTES, what="recording")))
    found: dict[str, list[Any]] = {}
    for name in table.column_names:
        values = table.column(name).to_pylist()
        if values and isinstance(values[0], list):
            found |= {f"{name}[{i}]": [row[i] for row in values] for i in range(len(values[0]))}
        else:
            found[name] = values
    return found


def _read_npz(path: Path, wanted: Sequence[str | int], rows: str, lengths: str | None) -> list[Table]:
    named = [name for name in wanted if isinstance(name, str)]
    arrays = [match[1] if (match := COLUMN_OF_ARRAY.fullmatch(name)) else name for name in named]
    needed = tuple(dict.fromkeys([*arrays, *(() if len(named) == len(wanted) and named else (rows,))]))
    optional = () if lengths is None or (named and not _has_array(path, lengths)) else (lengths,)
    data = read_arrays(path, path.name, (*needed, *optional))
    columns: dict[str | int, Array] = {}
    for name, array in zip(named, arrays, strict=True):
        match = COLUMN_OF_ARRAY.fullmatch(name)
        value = np.asarray(data[array], dtype=np.float64)
        if value.ndim != (2 if match else 1) or (match and int(match[2]) >= value.shape[1]):
            raise InputError(
                f"{path.name}: array {array!r} has shape {value.shape}, so {name!r} is no column of it; name one "
                f"column, such as {array}[0]"
            )
        columns[name] = value[:, int(match[2])] if match else value
    if rows in data and rows in needed:
        whole = np.asarray(data[rows], dtype=np.float64)
        if whole.ndim != 2:
            raise InputError(f"{path.name}: {rows} has shape {whole.shape}; expected one row per frame")
        columns |= {i: whole[:, i] for i in range(whole.shape[1])}
    count = {len(value) for value in columns.values()}
    sizes = [int(n) for n in data[optional[0]]] if optional else sorted(count)[:1]
    if len(count) != 1 or any(n < 1 for n in sizes) or sum(sizes) != max(count):
        raise InputError(
            f"{path.name}: its arrays have {', '.join(map(str, sorted(count)))} rows and lengths add up to "
            f"{sum(sizes)}; expected one row per frame and at least one frame per clip"
        )
    ends = np.cumsum(sizes)
    return [
        Table(str(i), {key: value[end - n : end] for key, value in columns.items()}, path.name)
        for i, (end, n) in enumerate(zip(ends, sizes, strict=True))
    ]


def _has_array(path: Path, name: str) -> bool:
    """Return True if an NPZ has an array of this name."""
    try:
        read_arrays(path, path.name, (name,))
    except InputError:
        return False
    return True
