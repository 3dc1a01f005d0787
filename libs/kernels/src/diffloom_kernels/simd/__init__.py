"""SIMD lanes: several consecutive elements computed by one call of a device function.

A device function called with a *run* instead of an int computes all elements of the run at once: arrays indexed by the
run give float lanes, integer arrays give index lanes, comparisons give masks. The same source serves scalars.
"""

from __future__ import annotations

from . import arithmetic, arrays, functions, rows, scene_nodes  # noqa: F401  importing them registers them with numba
from .runs import LANE_BYTES, element_at, lane_count, run_at
from .types import FloatLanes, IndexLanes, MaskLanes, Run, pack_indices, unpack

__all__ = [
    "LANE_BYTES", "FloatLanes", "IndexLanes", "MaskLanes", "Run", "element_at", "lane_count", "pack_indices",
    "run_at", "unpack",
]  # fmt: skip
