"""Program of the raster layer: one pipeline for each of its operations."""

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

#: Program of all pipelines. programs.py, which the CUDA check imports, registers its samples.
program = Program("raster", PIPELINES)
