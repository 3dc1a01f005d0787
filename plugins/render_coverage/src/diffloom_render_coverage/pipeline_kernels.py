"""The pipelines of exact coverage."""

from __future__ import annotations

from typing import Any

from diffloom_kernels import Program, launch, launch_runs
from diffloom_raster.kernels import (
    TILE,
    count_tiles,
    fill_tiles,
    gather_point,
    gather_triangle,
    gather_value,
    interleave_count,
    project_cameras_adjoint,
    project_points,
    project_points_adjoint,
    record_entry,
)

from .mixed_kernels import draw_mixed, draw_mixed_adjoint, texture_adjoint
from .run_kernels import cover, find_index, shade, shade_adjoint
from .triangle_kernels import set_up_triangle, sort_tile


def prepare(setup, source, triangles, bins):
    """Project points, set triangles up, count them into tiles."""
    frames = setup.frames
    project_points(frames.viewport, source.cameras, source.points, source.screen)
    launch(
        triangles.box.shape[0], set_up_triangle, frames.grid, frames.mesh, setup.rules, setup.edges, source.screen,
        triangles,
    )  # fmt: skip
    count_tiles(frames, triangles.box, triangles.planes, bins)


def arrange(setup, count, scene):
    """Write the lists of the tiles, and sort them from front to back."""
    fill_tiles(setup.frames, scene.triangles.box, scene.triangles.planes, count, scene.lists)
    launch(count.shape[0], sort_tile, scene.lists, scene.triangles.outline, scene.limit)


def draw(pixels, workers, items, wants, setup, scene, shading, images, pieces, tally):
    """Colours, coverage and depths, after the lists were sorted."""
    launch_runs(pixels, cover, setup, scene, images.planes)
    launch_runs(pixels * wants.inner, shade, wants, setup, scene, shading, images)
    launch(workers, draw_mixed, workers, items, wants, setup, scene, shading, images, pieces, tally)


def index_pixels(pixels, setup, scene, index):
    """The triangle at each pixel's centre, after the lists were sorted."""
    launch_runs(pixels, find_index, setup.frames.grid, setup.frames.mesh, scene.triangles, scene.lists, index)


def to_points(part, setup, triangles, slots, adj_points):
    """Sum slots over triangles, then over points."""
    launch(triangles.box.shape[0], gather_triangle, part, slots.stripes, triangles.box, slots.cells, slots.sums,
           slots.adj_corners)
    launch(adj_points.shape[0], gather_point, setup.frames.mesh, slots.corners, slots.adj_corners, adj_points)


def draw_adjoint(workers, items, wants, setup, scene, shading, images, adj_images, pieces, slots, adjoint):
    """Compute the cotangents of the points from those of the images; the slots are kept for the rest."""
    lists, source = scene.lists, scene.source
    launch(lists.triangle.shape[0], record_entry, lists, scene.triangles.box, setup.frames.grid, slots.cells)
    launch_runs(wants.inner * interleave_count(lists.triangle.shape[0]) * TILE, shade_adjoint, wants, setup, scene,
                shading, images, adj_images, slots.sums)
    launch(workers, draw_mixed_adjoint, workers, items, wants, setup, scene, shading, adj_images, pieces, slots.sums)
    to_points(0, setup, scene.triangles, slots, adjoint.screen)
    project_points_adjoint(setup.frames.viewport, source.cameras, source.points, adjoint.screen, adjoint.world,
                           adjoint.seen)


def values_adjoint(repeats, stride, corners, triangles, slots, adj_values):
    """Cotangents of colours or texture coordinates."""
    launch(triangles.box.shape[0], gather_triangle, 1, slots.stripes, triangles.box, slots.cells, slots.sums,
           slots.adj_corners)
    launch(adj_values.shape[0], gather_value, repeats, stride, corners, slots.adj_corners, adj_values)


def texture_image_adjoint(copies, active, setup, scene, shading, adj_planes, pieces, adj_image):
    """Cotangent of the texture, in copies."""
    launch(copies, texture_adjoint, copies, active, setup, scene, shading, adj_planes, pieces, adj_image)


def cameras_adjoint(setup, source, adjoint, adj_camera):
    """Cotangents of the cameras."""
    project_cameras_adjoint(setup.frames.viewport, source.cameras, source.points, adjoint.screen, adjoint.seen,
                            adj_camera)


PIPELINES: tuple[Any, ...] = (
    prepare, arrange, draw, index_pixels, to_points, draw_adjoint, values_adjoint, texture_image_adjoint,
    cameras_adjoint,
)

#: Kernels that may spill, with the reason.
SPILLS = {"draw_mixed_adjoint": "pieces, lights and textures of a pixel meet in one body"}

#: Program of the renderer; samples for it are registered by programs.py, which the CUDA check imports.
program = Program("coverage", PIPELINES, spills=SPILLS)
