"""Arrays of dual numbers on the host: a numpy type of a value and its tangents, side by side in memory."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba.core import types
from numpy.typing import NDArray


@functools.cache
def dual_type(count: int) -> np.dtype[Any]:
    """Return the numpy type of dual numbers with ``count`` tangents.

    Args:
        count: Number of tangents.

    Returns:
        Structured type with the fields ``value`` and ``tangents``.
    """
    return np.dtype([("value", np.float64), ("tangents", np.float64, (count,))])


def tangent_count(dtype: np.dtype[Any]) -> int:
    """Return the number of tangents of a type; 0 for other types."""
    return dtype["tangents"].shape[0] if dtype.names == ("value", "tangents") else 0


def as_duals(value: NDArray[Any], tangents: Sequence[NDArray[Any] | None]) -> NDArray[Any]:
    """Return an array of dual numbers in the memory order of ``value``.

    Args:
        value: Values, float64.
        tangents: For each tangent an array of the shape of ``value``, or None for zero.

    Returns:
        New array.
    """
    made = np.empty_like(value, dtype=dual_type(len(tangents)))
    made["value"] = value
    for k, tangent in enumerate(tangents):
        made["tangents"][..., k] = 0.0 if tangent is None else tangent
    return made


def values_of(duals: NDArray[Any]) -> NDArray[Any]:
    """Return the values of an array of dual numbers.

    Args:
        duals: Array of dual numbers.

    Returns:
        View of its values.
    """
    return duals["value"]


def tangents_of(duals: NDArray[Any]) -> NDArray[Any]:
    """Return the tangents of an array of dual numbers.

    Args:
        duals: Array of dual numbers.

    Returns:
        View of its tangents, with the number of the tangent as the last axis.
    """
    return duals["tangents"]


def numba_array_type(value: NDArray[Any]) -> tuple[Any, str] | None:
    """Return numba's element type and the layout of an array of dual numbers; None for other arrays."""
    count = tangent_count(value.dtype)
    if not count:
        return None
    from .types import Dual

    layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
    return Dual(count), layout


def is_dual_array(kind: Any) -> bool:
    """Return True for numba's type of an array of dual numbers."""
    from .types import Dual

    return isinstance(kind, types.Array) and isinstance(kind.dtype, Dual)
