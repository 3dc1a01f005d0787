"""The program of the soft rasterizer."""

from __future__ import annotations

from typing import Any

from diffloom.kernels import Program

from .pipeline_kernels import PIPELINES


def samples(dtype: Any) -> dict[str, tuple[Any, ...]]:
    """Arguments of every pipeline, as when a tiny scene is drawn."""
    from .samples import recorded_arguments

    return recorded_arguments(dtype)


program = Program("softras", PIPELINES, samples)
