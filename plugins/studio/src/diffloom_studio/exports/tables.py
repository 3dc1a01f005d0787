"""Trajectories as tables: one row for each node at each time."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom_fitting.file_writing import new_file, write_text
from diffloom_studio.playback import Body


def columns_of(body: Body) -> dict[str, NDArray[np.float64] | NDArray[np.int64]]:
    """time [s], node, q0.. (coordinates) and u0.. (velocities), in the units of the model."""
    q, u = body.trajectory.q.cpu().double().numpy(), body.trajectory.u.cpu().double().numpy()
    frames, nodes = q.shape[:2]
    found: dict[str, NDArray[np.float64] | NDArray[np.int64]] = {
        "time": np.repeat(body.times, nodes),
        "node": np.tile(np.arange(nodes), frames),
    }
    found |= {f"q{k}": q[..., k].reshape(-1) for k in range(q.shape[2])}
    return found | {f"u{k}": u[..., k].reshape(-1) for k in range(u.shape[2])}


def write_csv(path: Path, body: Body) -> Path:
    """A text that every program reads."""
    columns = columns_of(body)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    write_text(path, text.getvalue())
    return path


def write_parquet(path: Path, body: Body) -> Path:
    """The same for large trajectories; needs pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise InputError('export: parquet needs pyarrow; pip install "diffloom-fitting[parquet]"') from error
    with new_file(path) as beside:
        pyarrow.parquet.write_table(pyarrow.table(columns_of(body)), beside)
    return path
