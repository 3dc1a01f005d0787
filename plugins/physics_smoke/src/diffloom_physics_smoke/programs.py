"""The program of smoke."""

from __future__ import annotations

from typing import Any

from diffloom_kernels import Program

from .pressure_kernels import project
from .step_kernels import step_backward, step_forward


def samples(dtype: Any) -> dict[str, tuple[Any, ...]]:
    """Arguments of every pipeline, as for a grid of two by three cells."""
    from .samples import recorded_arguments

    return recorded_arguments(dtype)


program = Program("smoke", (project, step_forward, step_backward), samples)
