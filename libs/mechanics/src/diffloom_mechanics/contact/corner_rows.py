"""Rows in which triangles leave what their corners gather, and the size of a table of cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def power_of_two(n: int) -> int:
    """The smallest power of two that is not below n."""
    return 1 << max(n - 1, 1).bit_length()


def corner_slots(faces: NDArray[np.integer[Any]], particles: int) -> NDArray[np.int32]:
    """For each vertex i the rows 3 face + corner that belong to it, at slots[slots[i]] to slots[slots[i + 1]]."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(faces.ravel(), minlength=particles))])
    rows = np.argsort(faces.ravel(), kind="stable")
    return np.concatenate([starts + particles + 1, rows]).astype(np.int32)
