"""Solids as a pair of text files, ``.node`` (points) and ``.ele`` (tetrahedra), counted from 0 or 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from diffloom.errors import InputError
from diffloom_geometry.tetmesh import Floats, Ints, TetMesh


def read_node_ele(path: Path) -> TetMesh:
    """The solid in ``path`` (either of the two files; the other has the same stem).

    Boundary markers of points become the vertex groups "marker_<n>" (0 marks none), the first attribute of
    tetrahedra the groups "region_<n>".
    """
    points = _table(path.with_suffix(".node"), 4)
    header, rows = points
    dimension, attributes, markers = int(header[1]), int(header[2]), int(header[3])
    if dimension != 3:
        raise InputError(f"{path.stem}.node: points have {dimension} coordinates; expected 3")
    _check_width(path.with_suffix(".node"), rows, 4 + attributes + markers)
    first = int(rows[0, 0]) if len(rows) else 0
    if first not in (0, 1) or not np.array_equal(rows[:, 0], np.arange(first, first + len(rows))):
        raise InputError(f"{path.stem}.node: points must be numbered one by one from 0 or 1")
    header, cells = _table(path.with_suffix(".ele"), 3)
    corners, attributes_of_tets = int(header[1]), int(header[2])
    if corners != 4:
        raise InputError(f"{path.stem}.ele: tetrahedra have {corners} points; expected 4 (first order)")
    _check_width(path.with_suffix(".ele"), cells, 5 + attributes_of_tets)
    return TetMesh(
        rows[:, 1:4],
        cells[:, 1:5].astype(np.int64) - first,
        vertex_groups=_groups("marker", rows[:, -1], skip_zero=True) if markers else {},
        tet_groups=_groups("region", cells[:, 5], skip_zero=False) if attributes_of_tets else {},
        name=path.stem,
    )


def _table(path: Path, header_length: int) -> tuple[Floats, Floats]:
    """The numbers of the first line and the table below it."""
    if not path.exists():
        raise InputError(f"{path.name} is missing: a .node and an .ele file of one stem belong together")
    lines = [line.split("#", 1)[0].split() for line in path.read_text().splitlines()]
    lines = [words for words in lines if words]
    try:
        header = np.array([float(word) for word in lines[0]])
        count = int(header[0])
        rows = np.array([[float(word) for word in words] for words in lines[1 : count + 1]])
    except (ValueError, IndexError) as cause:
        raise InputError(f"{path.name} cannot be read as a table of numbers: {cause}") from cause
    if len(rows) != count:
        raise InputError(f"{path.name}: the first line promises {count} rows, the file has {len(rows)}")
    return np.pad(header, (0, max(0, header_length - len(header)))), rows.reshape(count, -1)


def _check_width(path: Path, rows: Floats, width: int) -> None:
    if len(rows) and rows.shape[1] != width:
        raise InputError(f"{path.name}: rows have {rows.shape[1]} entries; the first line promises {width}")


def _groups(word: str, labels: Floats, *, skip_zero: bool) -> dict[str, Ints]:
    kinds = [label for label in np.unique(labels) if label or not skip_zero]
    return {f"{word}_{label:g}": np.flatnonzero(labels == label) for label in kinds}
