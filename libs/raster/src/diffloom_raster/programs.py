"""The program of the raster layer: what is common to renderers, each operation by itself."""

from __future__ import annotations

from typing import Any

from diffloom_kernels import Program

from . import (
    interpolate_kernels,
    normal_kernels,
    project_kernels,
    rasterise_kernels,
    soft_mask_kernels,
    texture_kernels,
)

PIPELINES: tuple[Any, ...] = (
    project_kernels.project_forward, project_kernels.project_backward, project_kernels.camera_backward,
    normal_kernels.normals_forward, normal_kernels.normals_backward, rasterise_kernels.bin_triangles,
    rasterise_kernels.rasterise_forward, rasterise_kernels.rasterise_backward, interpolate_kernels.interpolate_forward,
    interpolate_kernels.interpolate_backward, texture_kernels.texture_forward, texture_kernels.texture_backward,
    texture_kernels.image_backward, soft_mask_kernels.soft_mask_forward, soft_mask_kernels.soft_mask_backward,
)  # fmt: skip


def samples(dtype: Any) -> dict[str, tuple[Any, ...]]:
    """Arguments of every pipeline, as when a triangle is drawn."""
    from .samples import recorded_arguments

    return recorded_arguments(dtype)


program = Program("raster", PIPELINES, samples)
