"""Numba types of the lanes; no behaviour."""

from __future__ import annotations

from numba.core import types


class FloatLanes(types.Type):
    """``count`` values of a float type, one per element of the run."""

    def __init__(self, dtype: types.Float, count: int) -> None:
        self.dtype = dtype
        self.count = count
        super().__init__(name=f"float_lanes({dtype}, {count})")


class MaskLanes(types.Type):
    """``count`` truth values."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"mask_lanes({count})")


class IndexLanes(types.Type):
    """``count`` integers: node indices or small integer data."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"index_lanes({count})")


class Run(types.Type):
    """``count`` consecutive elements, known by the first."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"run({count})")


class Place(types.Type):
    """A node of a block of scenes, one scene a lane (see places.py)."""

    def __init__(self) -> None:
        super().__init__(name="place")


LANES = (FloatLanes, MaskLanes, IndexLanes, Run)


def is_lanes(*kinds: types.Type) -> bool:
    """Whether any of the types is a lane type."""
    return any(isinstance(kind, LANES) for kind in kinds)
