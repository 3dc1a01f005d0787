"""The program of DIB-R."""

from __future__ import annotations

from typing import Any

from diffloom.kernels import Program

from .kernels.schedules import SCHEDULES


def samples(dtype: Any) -> dict[str, tuple[Any, ...]]:
    """Arguments of the schedules for a tiny scene, by which compilers learn their types."""
    from .samples import recorded_arguments

    return recorded_arguments(dtype)


program = Program("dibr", schedules=SCHEDULES, samples=samples)
