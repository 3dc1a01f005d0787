"""Slots that each node gathers: the transpose of the element connectivity, in compressed rows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError

LANES = 8  # element counts are rounded up to this many, the widest lane run (float32)


def pad_count(count: int) -> int:
    """Return ``count`` rounded up to whole lane runs."""
    return -(-count // LANES) * LANES


@dataclass(frozen=True)
class Gather:
    """Slot rows by node: node i owns ``slots[starts[i]:starts[i + 1]]``; ``offsets`` are the first rows of the terms.

    Rows are ordered by term, element and corner, so sums always run in one order. A node with an odd number of rows
    also names row ``rows``, which is always zero, because sums take two rows at a time. ``corners`` are those of each
    term's elements, padded to whole lane runs, in memory of their own.
    """

    starts: NDArray[np.int32]
    slots: NDArray[np.int32]
    offsets: tuple[int, ...]
    rows: int
    corners: tuple[NDArray[np.int32], ...]


_KEPT: OrderedDict[tuple[Hashable, ...], tuple[Gather, list[NDArray[Any]]]] = OrderedDict()


def get_gather(terms: Sequence[tuple[str, NDArray[np.int32]]], nodes: int) -> Gather:
    """Return the gather of named terms' corners in one node set; the last 32 are cached by connectivity."""
    key = (nodes, *(array_identity(corners) for _, corners in terms))
    if key in _KEPT:
        _KEPT.move_to_end(key)
        return _KEPT[key][0]
    gather = build_gather(terms, nodes)
    _KEPT[key] = (gather, [corners for _, corners in terms])  # holding the arrays keeps their ids taken
    if len(_KEPT) > 32:
        _KEPT.popitem(last=False)
    return gather


def freeze_array(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only copy of an array.

    A model that freezes its connectivity is recognised at once in the next rollout; any other array is compared by
    content.

    Args:
        array: Array to copy.

    Returns:
        Contiguous copy that cannot be written to.
    """
    copy = np.array(array, order="C")
    copy.flags.writeable = False
    return copy


def array_identity(array: NDArray[Any]) -> Hashable:
    """Return a key of an array: its id where it cannot change, else its content."""
    if not array.flags.writeable and array.base is None:
        return id(array)
    return (array.shape, array.tobytes())


def build_gather(terms: Sequence[tuple[str, NDArray[np.int32]]], nodes: int) -> Gather:
    """Sort all slots by the node they belong to."""
    owners: list[NDArray[Any]] = []
    rows: list[NDArray[Any]] = []
    offsets: list[int] = []
    start = 0
    for name, corners in terms:
        count, width = corners.shape
        if count and not 0 <= corners.min() <= corners.max() < nodes:
            raise InputError(
                f"term {name!r}: node indices run from {corners.min()} to {corners.max()}; expected 0 to {nodes - 1}"
            )
        offsets.append(start)
        owners.append(corners.reshape(-1))
        rows.append(np.arange(start, start + count * width))
        start += pad_count(count) * width
    owner = np.concatenate(owners) if owners else np.zeros(0, np.int32)
    row = np.concatenate(rows) if rows else np.zeros(0, np.int64)
    odd = np.flatnonzero(np.bincount(owner, minlength=nodes) % 2)
    owner, row = np.concatenate([owner, odd]), np.concatenate([row, np.full(len(odd), start)])
    order = np.argsort(owner, kind="stable")
    starts = np.zeros(nodes + 1, np.int32)
    np.cumsum(np.bincount(owner, minlength=nodes), out=starts[1:])
    kept = tuple(np.array(pad_rows(corners, len(corners))) for _, corners in terms)
    return Gather(starts, row[order].astype(np.int32), tuple(offsets), start, kept)


def pad_rows(value: NDArray[Any], count: int) -> NDArray[Any]:
    """Repeat the last row up to whole lane runs; the extra elements are computed and never gathered."""
    if pad_count(count) == count or not count:
        return np.ascontiguousarray(value)
    filled = np.empty((pad_count(count), *value.shape[1:]), value.dtype)
    filled[:count] = value
    filled[count:] = value[-1]
    return filled
