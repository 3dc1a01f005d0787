"""SIMD lanes: several consecutive elements computed by one run of a device function.

A device function called with a *run* instead of an int computes all elements of the run at once: arrays indexed by the
run give float lanes, integer arrays give index lanes, comparisons give masks. The same source serves scalars.
"""

from __future__ import annotations

from . import arithmetic, arrays, functions, models, places, rows
from .runs import LANE_BYTES, element_at, lane_count, run_at

__all__ = [
    "LANE_BYTES",
    "arithmetic",
    "arrays",
    "element_at",
    "functions",
    "lane_count",
    "models",
    "places",
    "rows",
    "run_at",
]
