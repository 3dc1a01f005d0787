"""The schedules of the soft rasterizer; the package tells what the tuples hold."""

from __future__ import annotations

from diffloom.kernels import launch, launch_runs
from diffloom.shading.kernels.projection import camera_adjoint, project_point, project_point_adjoint
from diffloom.shading.kernels.tiles import TILE, count_tiles, dealings, fill_tiles, note_entry

from .blend import blend
from .blend_adjoint import blend_adjoint
from .cover import cover, cover_adjoint
from .gathering import gather_point, gather_triangle, gather_value
from .hard import hard_index
from .limits import limit_depths
from .texture_adjoint import texture_adjoint
from .triangles import set_up


def prepare(frames, bands, count, near, middle, grid, size, options, reach, least_area, camera, mesh, points, screen,
            shape, planes, counts):
    """Project points, set triangles up, count them into tiles.

    counts: count of each tile, frame_total, start, active, first_cell: see diffloom.shading.kernels.tiles.
    """
    launch(points.shape[0], project_point, count, near, middle, points, camera[0], camera[1], camera[2], camera[3],
           screen)
    launch(shape[0].shape[0], set_up, mesh, screen, size, options, reach, least_area, shape, planes)
    count_tiles(frames, bands, shape[1], planes, mesh[3], grid, middle, counts[0], counts[1], counts[2], counts[3],
                counts[4])


def fill(frames, bands, grid, middle, mesh, shape, planes, count, lists):
    """Write the lists of the tiles; nothing for no frames."""
    fill_tiles(frames, bands, shape[1], planes, mesh[3], grid, middle, lists[1], count, lists[2], lists[3])


def survey(frames, bands, grid, middle, mesh, shape, planes, count, lists, wants, pixels, full, view, soft, limit,
           found):
    """Fill the lists, then coverage and, if asked for, depths."""
    fill(frames, bands, grid, middle, mesh, shape, planes, count, lists)
    launch_runs(pixels, cover, wants, full, mesh, shape, lists, view, soft, limit, found)


def limits(pixels, most, mesh, shape, lists, view, soft, hits, room, limit):
    """How deep the nearest faces reach, where there are more of them than count."""
    launch_runs(pixels // TILE, limit_depths, most, mesh, shape, lists, view, soft, hits, room, limit)


def paint(pixels, wants, mesh, shape, lists, view, soft, fade, limit, look, light, background, found, pictures):
    """Colours and depths, after the survey."""
    launch_runs(pixels, blend, wants, mesh, shape, lists, view, soft, fade, limit, look, light, background, found,
                pictures)


def index(pixels, mesh, shape, lists, view, picture):
    """The face seen at each pixel, after the lists were filled."""
    launch_runs(pixels, hard_index, mesh, shape, lists, view, picture)


def to_points(part, parts, mesh, around, shape, cells, slots, adj_corners, adj_points):
    """Sum slots over triangles, then over points."""
    launch(shape[0].shape[0], gather_triangle, part, parts, shape, cells, slots, adj_corners)
    launch(adj_points.shape[0], gather_point, mesh, around, adj_corners, adj_points)


def back_to_world(parts, count, near, middle, camera, mesh, around, points, shape, cells, slots, adj_corners,
                  adj_screen, adj_points, adj_c):
    """From the slots of places to the cotangents of the points and of their camera coordinates."""
    to_points(0, parts, mesh, around, shape, cells, slots, adj_corners, adj_screen)
    launch(points.shape[0], project_point_adjoint, count, near, middle, points, camera[0], camera[1], camera[2],
           camera[3], adj_screen, adj_points, adj_c)


def silhouette_adjoint(parts, count, near, middle, grid, limited, camera, mesh, around, points, shape, lists, cells,
                       view, soft, limit, clear, adj_alpha, slots, adj_corners, adj_screen, adj_points, adj_c):
    """From the cotangent of alpha to that of the points."""
    launch(lists[2].shape[0], note_entry, lists[2], lists[3], shape[1], grid, cells[0], cells[1])
    launch_runs(dealings(lists[2].shape[0]) * TILE, cover_adjoint, limited, mesh, shape, lists, view, soft, limit,
                clear, adj_alpha, slots)
    back_to_world(parts, count, near, middle, camera, mesh, around, points, shape, cells, slots, adj_corners,
                  adj_screen, adj_points, adj_c)


def colour_adjoint(parts, count, near, middle, grid, wants, camera, mesh, around, points, shape, lists, cells, view,
                   soft, fade, limit, look, light, background, saved, adj_planes, adj_depth, slots, table, adj_corners,
                   adj_screen, adj_points, adj_c):
    """From the cotangents of colour, alpha and depth to that of the points; the slots are kept for the rest."""
    launch(lists[2].shape[0], note_entry, lists[2], lists[3], shape[1], grid, cells[0], cells[1])
    launch_runs(dealings(lists[2].shape[0]) * TILE, blend_adjoint, wants, mesh, shape, lists, view, soft, fade, limit,
                look, light, background, saved, adj_planes, adj_depth, slots, table)
    back_to_world(parts, count, near, middle, camera, mesh, around, points, shape, cells, slots, adj_corners,
                  adj_screen, adj_points, adj_c)


def values_adjoint(parts, frames, index_rows, around, shape, cells, slots, adj_corners, adj_values):
    """Cotangents of colours or texture coordinates."""
    launch(shape[0].shape[0], gather_triangle, 1, parts, shape, cells, slots, adj_corners)
    launch(adj_values.shape[0], gather_value, frames, index_rows, around, adj_corners, adj_values)


def image_adjoint(copies, limited, mesh, shape, lists, view, soft, fade, limit, look, light, saved, adj_planes,
                  adj_image):
    """Cotangent of the texture, in copies."""
    launch_runs(copies * TILE, texture_adjoint, limited, copies, mesh, shape, lists, view, soft, fade, limit, look,
                light, saved, adj_planes, adj_image)


def camera_sums(frames, count, near, camera, points, adj_screen, adj_c, adj_camera):
    """Cotangents of the cameras."""
    launch(frames, camera_adjoint, count, near, points, camera[0], camera[1], camera[2], adj_screen, adj_c, adj_camera)
