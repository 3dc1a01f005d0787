"""The program of the soft rasterizer."""

from __future__ import annotations

from typing import Any

from diffloom_kernels import Program

from .pipeline_kernels import PIPELINES


def samples(dtype: Any) -> dict[str, tuple[Any, ...]]:
    """Arguments of every pipeline, as when a tiny scene is drawn."""
    from .samples import recorded_arguments

    return recorded_arguments(dtype)


#: With numba-cuda-mlir; numba-cuda's kernel just fits.
SPILLS = {"blend_adjoint": "36 sums over a triangle's corners stay beside all that lights and textures need"}

program = Program("softras", PIPELINES, samples, SPILLS)
