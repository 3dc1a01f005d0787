"""Program of the raster layer: the pipelines of its operations, each run by itself."""

from __future__ import annotations

from typing import Any

from diffloom_kernels import Program

from . import coverage_kernels, lighting_kernels, projection_kernels, soft_mask_kernels, texture_kernels

PIPELINES: tuple[Any, ...] = (
    projection_kernels.project_points, projection_kernels.project_points_adjoint,
    projection_kernels.project_cameras_adjoint, lighting_kernels.find_normals, lighting_kernels.find_normals_adjoint,
    coverage_kernels.bin_triangles, coverage_kernels.rasterise_pixels, coverage_kernels.rasterise_pixels_adjoint,
    coverage_kernels.interpolate_pixels, coverage_kernels.interpolate_pixels_adjoint, texture_kernels.sample_points,
    texture_kernels.sample_points_adjoint, texture_kernels.sample_image_adjoint, soft_mask_kernels.mask_pixels,
    soft_mask_kernels.mask_pixels_adjoint,
)  # fmt: skip

#: Its samples are registered by programs.py, which the CUDA check imports.
program = Program("raster", PIPELINES)
