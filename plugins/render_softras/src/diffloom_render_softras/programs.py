"""The program of the soft rasterizer."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from diffloom.kernels import Program

from .kernels import schedules

_SCHEDULES: list[FunctionType] = [value for value in vars(schedules).values() if isinstance(value, FunctionType)]


def samples(dtype: Any) -> dict[str, tuple[Any, ...]]:
    """Arguments of every schedule, as when a tiny scene is drawn."""
    from .samples import recorded_arguments

    return recorded_arguments(dtype)


program = Program(
    "softras", schedules=tuple(s for s in _SCHEDULES if s.__module__ == schedules.__name__), samples=samples
)
