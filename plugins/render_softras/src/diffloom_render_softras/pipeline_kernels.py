"""Pipelines of the soft rasterizer, and sums from the entries of tiles over triangles and points.

Slots hold nine numbers for a triangle: three for each of its corners, in the order of its outline. Sums have a fixed
order.
"""

from __future__ import annotations

from typing import Any

from diffloom_kernels import Program, device, launch, launch_runs
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

from .blend_kernels import blend, blend_adjoint, texture_adjoint
from .coverage_kernels import cover, cover_adjoint, find_hard_index, limit_depths
from .fragment_kernels import set_up


@device
def gather_outline(t, part, stripes, box, swapped, cells, slots, adj_corners):
    """Sum all entries of triangle t into adj_corners[t, corner], corners in the order of its face."""
    gather_triangle(t, part, stripes, box, cells, slots, adj_corners)
    if swapped[t]:
        for c in range(3):
            first = adj_corners[t, 0, c]
            adj_corners[t, 0, c] = adj_corners[t, 2, c]
            adj_corners[t, 2, c] = first


def prepare(setup, source, screen, triangles, bins):
    """Pipeline: project points, set triangles up, count them into tiles."""
    frames = setup.frames
    project_points(frames.viewport, source.cameras, source.points, screen)
    launch(triangles.box.shape[0], set_up, frames.grid, frames.mesh, setup.rules, screen, triangles)
    count_tiles(frames, triangles.box, triangles.planes, bins)


def fill(setup, triangles, count, lists):
    """Pipeline: write the lists of the tiles."""
    fill_tiles(setup.frames, triangles.box, triangles.planes, count, lists)


def cover_pixels(pixels, depths, limited, setup, fragments, coverage):
    """Pipeline: compute coverage and, if wanted, depths, after the lists were filled."""
    frames = setup.frames
    launch_runs(pixels, cover, depths, limited, frames.grid, frames.mesh, fragments, setup.blur, coverage)


def cover_first(pixels, depths, setup, count, fragments, coverage):
    """Pipeline: fill the lists, then compute coverage."""
    fill(setup, fragments.triangles, count, fragments.lists)
    cover_pixels(pixels, depths, 0, setup, fragments, coverage)


def find_limits(pixels, setup, fragments, hits, scratch):
    """Pipeline: find the depth of the last face that counts, where more faces reach a pixel."""
    frames = setup.frames
    launch_runs(pixels // TILE, limit_depths, frames.grid, fragments, setup.blur, hits, scratch)


def blend_pixels(pixels, wants, setup, fragments, shading, coverage, images):
    """Pipeline: compute colours and depths, after the coverage."""
    frames = setup.frames
    launch_runs(pixels, blend, wants, frames.grid, frames.mesh, fragments, setup.blur, setup.fade, shading.surfacing,
                shading.lighting, shading.background, coverage, images)


def index_pixels(pixels, setup, triangles, lists, index):
    """Pipeline: find the face shown at each pixel, after the lists were filled."""
    launch_runs(pixels, find_hard_index, setup.frames.grid, setup.frames.mesh, triangles, lists, index)


def to_points(part, setup, triangles, slots, adj_points):
    """Pipeline: sum slots over triangles, then over points."""
    launch(triangles.box.shape[0], gather_outline, part, slots.stripes, triangles.box, triangles.swapped, slots.cells,
           slots.sums, slots.adj_corners)
    launch(adj_points.shape[0], gather_point, setup.frames.mesh, slots.corners, slots.adj_corners, adj_points)


def to_world(setup, source, triangles, slots, adjoint):
    """Sum slots of positions into the cotangents of the points and of their camera coordinates."""
    to_points(0, setup, triangles, slots, adjoint.screen)
    project_points_adjoint(setup.frames.viewport, source.cameras, source.points, adjoint.screen, adjoint.world,
                           adjoint.seen)


def record_entries(setup, triangles, lists, cells):
    """Write its entry to each cell."""
    launch(lists.triangle.shape[0], record_entry, lists, triangles.box, setup.frames.grid, cells)


def cover_pixels_adjoint(limited, setup, source, fragments, clear, adj_alpha, slots, adjoint):
    """Pipeline: compute the cotangent of the points from that of alpha."""
    frames, lists = setup.frames, fragments.lists
    record_entries(setup, fragments.triangles, lists, slots.cells)
    launch_runs(interleave_count(lists.triangle.shape[0]) * TILE, cover_adjoint, limited, frames.grid, frames.mesh,
                fragments, setup.blur, clear, adj_alpha, slots.sums)
    to_world(setup, source, fragments.triangles, slots, adjoint)


def blend_pixels_adjoint(wants, setup, source, fragments, shading, coverage, images, adj_images, slots, adjoint):
    """Pipeline: compute the cotangent of the points from those of colour, alpha and depth; other pipelines read the
    slots.
    """
    frames, lists = setup.frames, fragments.lists
    record_entries(setup, fragments.triangles, lists, slots.cells)
    launch_runs(interleave_count(lists.triangle.shape[0]) * TILE, blend_adjoint, wants, frames.grid, frames.mesh,
                fragments, setup.blur, setup.fade, shading.surfacing, shading.lighting, shading.background,
                setup.rules.perspective, coverage, images, adj_images, slots.sums)
    to_world(setup, source, fragments.triangles, slots, adjoint)


def values_adjoint(repeats, stride, corners, triangles, slots, adj_values):
    """Pipeline: compute cotangents of colours or texture coordinates."""
    launch(triangles.box.shape[0], gather_outline, 1, slots.stripes, triangles.box, triangles.swapped, slots.cells,
           slots.sums, slots.adj_corners)
    launch(adj_values.shape[0], gather_value, repeats, stride, corners, slots.adj_corners, adj_values)


def texture_image_adjoint(chunks, wants, setup, fragments, shading, coverage, images, adj_planes, adj_image):
    """Pipeline: compute the cotangent of the texture, in copies."""
    frames = setup.frames
    launch_runs(chunks * TILE, texture_adjoint, chunks, wants, frames.grid, frames.mesh, fragments, setup.blur,
                setup.fade, shading.surfacing, shading.lighting, coverage, images, adj_planes, adj_image)


def cameras_adjoint(setup, source, adjoint, adj_camera):
    """Pipeline: compute cotangents of the cameras."""
    project_cameras_adjoint(setup.frames.viewport, source.cameras, source.points, adjoint.screen, adjoint.seen,
                            adj_camera)


PIPELINES: tuple[Any, ...] = (
    prepare, fill, cover_first, cover_pixels, find_limits, blend_pixels, index_pixels, to_points, cover_pixels_adjoint,
    blend_pixels_adjoint, values_adjoint, texture_image_adjoint, cameras_adjoint,
)

#: Register spills that numba-cuda-mlir may report; numba-cuda has none.
SPILLS = {"blend_adjoint": "36 sums over a triangle's corners stay beside all that lights and textures need"}

#: Program of all pipelines. programs.py, which the CUDA check imports, registers its samples.
program = Program("softras", PIPELINES, spills=SPILLS)
