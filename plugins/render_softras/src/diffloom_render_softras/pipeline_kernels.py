"""The pipelines of the soft rasterizer."""

from __future__ import annotations

from typing import Any

from diffloom_kernels import launch, launch_runs
from diffloom_raster.bin_kernels import TILE, count_tiles, dealings, fill_tiles, note_entry
from diffloom_raster.project_kernels import camera_backward, project_backward, project_forward
from diffloom_raster.rasterise_kernels import gather_point

from .blend_adjoint_kernels import blend_adjoint
from .blend_kernels import blend
from .cover_kernels import cover, cover_adjoint
from .gather_kernels import gather_triangle, gather_value
from .hard_kernels import hard_index
from .limit_kernels import limit_depths
from .texture_adjoint_kernels import texture_adjoint
from .triangle_kernels import set_up


def prepare(setup, source, screen, triangles, bins):
    """Project points, set triangles up, count them into tiles."""
    frames = setup.frames
    project_forward(frames.viewport, source.cameras, source.points, screen)
    launch(triangles.box.shape[0], set_up, frames.grid, frames.mesh, setup.rules, screen, triangles)
    count_tiles(frames, triangles.box, triangles.planes, bins)


def fill(setup, triangles, count, lists):
    """Write the lists of the tiles."""
    fill_tiles(setup.frames, triangles.box, triangles.planes, count, lists)


def cover_pixels(pixels, depths, limited, setup, fragments, coverage):
    """Coverage and, if asked for, depths, after the lists were filled."""
    frames = setup.frames
    launch_runs(pixels, cover, depths, limited, frames.grid, frames.mesh, fragments, setup.blur, coverage)


def cover_first(pixels, depths, setup, count, fragments, coverage):
    """Fill the lists, then coverage."""
    fill(setup, fragments.triangles, count, fragments.lists)
    cover_pixels(pixels, depths, 0, setup, fragments, coverage)


def find_limits(pixels, setup, fragments, hits, scratch):
    """How deep the nearest faces reach, where there are more of them than count."""
    frames = setup.frames
    launch_runs(pixels // TILE, limit_depths, frames.grid, fragments, setup.blur, hits, scratch)


def blend_pixels(pixels, wants, setup, fragments, shading, coverage, images):
    """Colours and depths, after the coverage."""
    frames = setup.frames
    launch_runs(pixels, blend, wants, frames.grid, frames.mesh, fragments, setup.blur, setup.fade, shading.surfacing,
                shading.lighting, shading.background, coverage, images)


def index_pixels(pixels, setup, triangles, lists, index):
    """The face shown at each pixel, after the lists were filled."""
    launch_runs(pixels, hard_index, setup.frames.grid, setup.frames.mesh, triangles, lists, index)


def to_points(part, setup, triangles, slots, adj_points):
    """Sum slots over triangles, then over points."""
    launch(triangles.box.shape[0], gather_triangle, part, slots.stripes, triangles.box, triangles.swapped, slots.cells,
           slots.sums, slots.adj_corners)
    launch(adj_points.shape[0], gather_point, setup.frames.mesh, slots.corners, slots.adj_corners, adj_points)


def to_world(setup, source, triangles, slots, adjoint):
    """From the slots of places to the cotangents of the points and of their camera coordinates."""
    to_points(0, setup, triangles, slots, adjoint.screen)
    project_backward(setup.frames.viewport, source.cameras, source.points, adjoint.screen, adjoint.world, adjoint.seen)


def note_entries(setup, triangles, lists, cells):
    """Tell cells their entries."""
    launch(lists.triangle.shape[0], note_entry, lists, triangles.box, setup.frames.grid, cells)


def cover_backward(limited, setup, source, fragments, clear, adj_alpha, slots, adjoint):
    """From the cotangent of alpha to that of the points."""
    frames, lists = setup.frames, fragments.lists
    note_entries(setup, fragments.triangles, lists, slots.cells)
    launch_runs(dealings(lists.triangle.shape[0]) * TILE, cover_adjoint, limited, frames.grid, frames.mesh, fragments,
                setup.blur, clear, adj_alpha, slots.sums)
    to_world(setup, source, fragments.triangles, slots, adjoint)


def blend_backward(wants, setup, source, fragments, shading, coverage, images, adj_images, slots, adjoint):
    """From the cotangents of colour, alpha and depth to that of the points; the slots are kept for the rest."""
    frames, lists = setup.frames, fragments.lists
    note_entries(setup, fragments.triangles, lists, slots.cells)
    launch_runs(dealings(lists.triangle.shape[0]) * TILE, blend_adjoint, wants, frames.grid, frames.mesh, fragments,
                setup.blur, setup.fade, shading.surfacing, shading.lighting, shading.background,
                setup.rules.perspective, coverage, images, adj_images, slots.sums)
    to_world(setup, source, fragments.triangles, slots, adjoint)


def values_backward(repeats, stride, corners, triangles, slots, adj_values):
    """Cotangents of colours or texture coordinates."""
    launch(triangles.box.shape[0], gather_triangle, 1, slots.stripes, triangles.box, triangles.swapped, slots.cells,
           slots.sums, slots.adj_corners)
    launch(adj_values.shape[0], gather_value, repeats, stride, corners, slots.adj_corners, adj_values)


def texture_backward(chunks, wants, setup, fragments, shading, coverage, images, adj_planes, adj_image):
    """Cotangent of the texture, in copies."""
    frames = setup.frames
    launch_runs(chunks * TILE, texture_adjoint, chunks, wants, frames.grid, frames.mesh, fragments, setup.blur,
                setup.fade, shading.surfacing, shading.lighting, coverage, images, adj_planes, adj_image)


def cameras_backward(setup, source, adjoint, adj_camera):
    """Cotangents of the cameras."""
    camera_backward(setup.frames.viewport, source.cameras, source.points, adjoint.screen, adjoint.seen, adj_camera)


PIPELINES: tuple[Any, ...] = (
    prepare, fill, cover_first, cover_pixels, find_limits, blend_pixels, index_pixels, to_points, cover_backward,
    blend_backward, values_backward, texture_backward, cameras_backward,
)
