"""The passes of a rendering in order.

numbers: near, reach, sharpness, multiplier, eps, as an array: read by kernels only. records: (box, inner, planes, hard,
sides), see triangles.py; lists: (start, entry_triangle, entry_tile, open_tile), see diffloom.shading.kernels.tiles and
coverage.py; pixels and planes: see listing.py; look and light: see colouring.py; camera: (rotation, eye, focal,
centre); features: (by_point, own, own_index), see interpolation.py; work: (frame, visible, count, face_index). Counts
that are 0 or 1 (projects, soft, ...) switch passes off or on.
"""

from __future__ import annotations

from diffloom.kernels import launch, launch_runs, together
from diffloom.shading.kernels.projection import camera_adjoint, project_point, project_point_adjoint
from diffloom.shading.kernels.tiles import TILE, count_tiles, fill_tiles

from .colouring import colour_pixels, colour_pixels_adjoint, name_eyes, scatter_texture, sum_column, sum_copies, sum_eye
from .coverage import cover, name_faces
from .gathering import gather_own, gather_point, gather_triangle, note_touching
from .interpolation import interpolate, interpolate_adjoint
from .kaolin_coverage import from_plane, kaolin_cover, kaolin_set_up, to_plane
from .kaolin_mask import kaolin_soften, kaolin_soften_adjoint
from .listing import count_pixels, lay_ground, list_pixels, name_frames, put, running_sum, take
from .mask import choose_nearest, soften, soften_adjoint, veil_adjoint
from .triangles import set_up


def prepare(
    projects, cull, bands, count, size, grid, middle, numbers, camera, world, place, mesh, frame_start, drawn, records,
    frame, tally,
):
    """Project points, make triangles ready and count what the tiles will list. tally: arrays of count_tiles."""
    launch(
        projects * world.shape[0], project_point, count, numbers[0], middle, world, camera[0], camera[1], camera[2],
        camera[3], place,
    )
    with together:
        launch(
            records[0].shape[0], set_up, size, place, mesh, drawn, cull, numbers[1],
            records[0], records[1], records[2], records[3], records[4],
        )
        launch(frame_start.shape[0] - 1, name_frames, frame_start, frame)
    count_tiles(
        frame_start.shape[0] - 1, bands, records[0], records[2], frame_start, grid, middle,
        tally[0], tally[1], tally[2], tally[3], tally[4],
    )


def kaolin_prepare(
    projects, bands, count, size, grid, middle, numbers, camera, world, place, mesh, frame_start, drawn, records,
    frame, tally,
):
    """The same by Kaolin's rules."""
    launch(
        projects * world.shape[0], project_point, count, numbers[0], middle, world, camera[0], camera[1], camera[2],
        camera[3], place,
    )
    launch(projects * world.shape[0], to_plane, size, place)
    with together:
        launch(
            records[0].shape[0], kaolin_set_up, size, numbers[0], place, mesh, drawn, numbers[1],
            records[0], records[1], records[2],
        )
        launch(frame_start.shape[0] - 1, name_frames, frame_start, frame)
    count_tiles(
        frame_start.shape[0] - 1, bands, records[0], records[2], frame_start, grid, middle,
        tally[0], tally[1], tally[2], tally[3], tally[4],
    )


def see(
    fresh, soft, bands, length, knum, size, grid, middle, numbers, view, frame_start, records, mate, tiles, lists, work,
    nearest, which, near, miss, limit, touched, first, chunk,
):
    """What each pixel shows (unless known: fresh 0), the soft mask, and how many pixels each triangle has."""
    fill_tiles(
        frame_start.shape[0] - 1, bands, records[0], records[2], frame_start, grid, middle, lists[0], tiles,
        lists[1], lists[2],
    )
    launch_runs(
        fresh * tiles.shape[0] * TILE, cover, view, lists[0], lists[1], records[1], records[3], nearest, which
    )
    launch(fresh * tiles.shape[0], name_faces, size, view, lists[0], lists[1], which, work[3], lists[3], work[1])
    with together:
        launch_runs(
            soft * tiles.shape[0] * TILE, soften, view, lists[0], lists[1], lists[3], records[0], records[4],
            mate, which, numbers[2], numbers[1], knum, miss, limit, touched,
        )
        launch(
            records[1].shape[0], count_pixels, length, view, records[1], records[3], work[0], work[1], work[3],
            work[2], first, chunk,
        )
    launch_runs(
        soft * tiles.shape[0] * TILE, choose_nearest, view, lists[0], lists[1], lists[3], records[0], records[4], mate,
        numbers[2], numbers[1], knum, near, miss, limit,
    )
    with together:
        launch(1, running_sum, first)
        launch(1, running_sum, chunk)


def kaolin_see(
    fresh, soft, bands, length, knum, size, grid, middle, numbers, view, frame_start, records, place, mesh, shown,
    tiles, lists, work, nearest, miss, last, first, chunk,
):
    """The same by Kaolin's rules."""
    fill_tiles(
        frame_start.shape[0] - 1, bands, records[0], records[2], frame_start, grid, middle, lists[0], tiles,
        lists[1], lists[2],
    )
    launch(
        fresh * tiles.shape[0], kaolin_cover, size, view, lists[0], lists[1], records[1], place, mesh, shown,
        numbers[3], numbers[4], nearest, work[3], lists[3], work[1],
    )
    with together:
        launch(
            soft * tiles.shape[0], kaolin_soften, size, view, lists[0], lists[1], place, mesh, work[3],
            numbers[2], numbers[1], knum, numbers[3], miss, last,
        )
        launch(
            records[1].shape[0], count_pixels, length, view, records[1], records[3], work[0], work[1], work[3],
            work[2], first, chunk,
        )
    with together:
        launch(1, running_sum, first)
        launch(1, running_sum, chunk)


def paint(
    shades, channels, deep, soft, kaolin, lanes, length, numbers, view, place, mesh, frame_start, features, records,
    work, pixels, spot, weight, value, depth, look, light, rgb, miss, ground, planes, depths,
):
    """List the covered pixels, interpolate, colour, and put them into the planes, the mask last; ground elsewhere."""
    launch(
        records[1].shape[0], list_pixels, view, records[1], records[3], work[0], work[3], work[2], pixels, spot
    )
    launch_runs(
        lanes * pixels[2].shape[0], interpolate, kaolin, length, pixels, place, mesh, features[0], features[1],
        features[2], numbers[3], numbers[4], weight, value, depth,
    )
    launch(min(light[1].shape[0], 1) * (frame_start.shape[0] - 1), name_eyes, frame_start, pixels[0], light[1])
    launch_runs(shades * rgb.shape[1], colour_pixels, look, light, value, rgb)
    with together:
        launch(pixels[2].shape[0], put, channels, channels + soft, length, work[0], work[2], pixels, spot, rgb, planes)
        launch(deep * pixels[2].shape[0], put, 1, 1, length, work[0], work[2], pixels, spot, depth, depths)
        launch(
            work[3].shape[0] * work[3].shape[1], lay_ground, channels, soft, deep, ground, work[3], miss, planes, depths
        )


def pull_back(
    features, shades, channels, stride, deep, parts, projects, cameras, kaolin, lanes, length, count, size, grid,
    middle, numbers, view, camera, world, place, mesh, around, carried, own_around, records, mate, work, lists, pixels,
    spot, weight, value, look, light, wants, miss, limit, last, touched, cells, adj_planes, adj_depths, adj_rgb,
    adj_value, adj_depth, sums, slots, adj_corner, adj_place, adj_point, adj_own, adj_world, adj_seen, adj_camera,
):
    """From planes and depths back to places and features, and on to the world and the camera.

    features: 1 if pixels pass something. stride: channels of the planes, with the mask. parts: stripes of an entry's
    tile, 0 if the mask passes nothing. around: where the corners at a point begin, and they (own_around: at a row of
    own features). carried: the features of interpolation. cells: (first_cell, cell_entry, near_open) of gathering.
    sums: (adj_colour, adj_eye, table) of colouring. slots: (mask, place, point, own, pull).
    """
    with together:
        launch(
            features * pixels[2].shape[0], take, channels, stride, length, work[0], work[2], pixels, spot, adj_planes,
            adj_rgb,
        )
        launch(deep * pixels[2].shape[0], take, 1, 1, length, work[0], work[2], pixels, spot, adj_depths, adj_depth)
        launch(min(parts, 1) * lists[3].shape[0], veil_adjoint, view, lists[3], miss, adj_planes, slots[4])
        launch(
            slots[0].shape[0] // max(parts, 1), note_touching, parts, lists[3], touched, lists[1], lists[2], records[0],
            grid, cells[0], cells[1], cells[2],
        )
    launch_runs(
        shades * adj_rgb.shape[1], colour_pixels_adjoint, wants, look, light, value, adj_rgb, adj_value, sums[0],
        sums[1], sums[2],
    )
    launch_runs(
        features * lanes * pixels[2].shape[0], interpolate_adjoint, kaolin, length, pixels, place, mesh, carried[0],
        carried[1], carried[2], numbers[4], weight, adj_value, adj_depth, slots[1], slots[2], slots[3],
    )
    launch_runs(
        (1 - kaolin) * slots[0].shape[0] * lanes, soften_adjoint, view, lists[1], lists[2], lists[3], touched,
        records[4], mate, numbers[2], limit, slots[4], slots[0],
    )
    launch(
        kaolin * slots[0].shape[0], kaolin_soften_adjoint, size, view, lists[1], lists[2], lists[3], place, mesh,
        numbers[2], numbers[1], numbers[3], last, slots[4], slots[0],
    )
    launch(
        adj_corner.shape[0], gather_triangle, features, parts, records[0], cells[0], cells[1], cells[2], touched,
        pixels[1], slots[0], slots[1], adj_corner,
    )
    with together:
        launch(
            adj_place.shape[0], gather_point, features, mesh, around[0], around[1], pixels[1], adj_corner, slots[2],
            adj_place, adj_point,
        )
        launch(
            adj_own.shape[0], gather_own, features, adj_corner.shape[0], carried[2].shape[0], own_around[0],
            own_around[1], pixels[1], slots[3], adj_own,
        )
    launch(kaolin * projects * adj_place.shape[0], from_plane, size, adj_place)
    launch(
        projects * adj_place.shape[0], project_point_adjoint, count, numbers[0], middle, world, camera[0], camera[1],
        camera[2], camera[3], adj_place, adj_world, adj_seen,
    )
    launch(
        cameras, camera_adjoint, count, numbers[0], world, camera[0], camera[1], camera[2], adj_place, adj_seen,
        adj_camera,
    )


def sum_lights(frames, frame_start, first, table, adj_eye, totals, eye_totals):
    """Totals of the table's columns, and of what each frame's pixels pass to the eye."""
    with together:
        launch(table.shape[1], sum_column, table, totals)
        launch(frames, sum_eye, frame_start, first, adj_eye, eye_totals)


def sum_texture(d, corners, bilinear, value, adj_colour, adj_image):
    """The cotangent of the texture, in the first of the copies."""
    launch(
        adj_image.shape[0], scatter_texture, adj_image.shape[0], d, corners, bilinear, value, adj_colour, adj_image
    )
    launch(adj_image.shape[1], sum_copies, adj_image.shape[0], adj_image)


SCHEDULES: tuple = (
    prepare, kaolin_prepare, see, kaolin_see, paint, pull_back, sum_lights, sum_texture,
)
