"""Pipelines of DIB-R, and sums from chunks of pixels and entries of tiles over triangles and vertices.

Sums have a fixed order, without atomics: the result is the same for any number of threads. Counts that are 0 or 1
(projects, soft, ...) switch passes off or on.
"""

from __future__ import annotations

from typing import Any

from diffloom_kernels import Program, constant, device, independent, launch, launch_runs, static
from diffloom_raster.kernels import (
    TILE,
    camera_adjoint,
    choose_nearest,
    count_tiles,
    cover,
    fill_tiles,
    miss_adjoint,
    project_point,
    project_point_adjoint,
    record_touching,
    sample_image_adjoint,
    set_up_triangle,
    soften,
    soften_adjoint,
    sum_mask_slots,
    write_face_index,
)

from .kaolin_kernels import (
    kaolin_cover,
    kaolin_set_up,
    kaolin_soften,
    kaolin_soften_adjoint,
    to_plane,
    to_plane_adjoint,
)
from .pixel_kernels import (
    count_pixels,
    fill_background,
    interpolate,
    interpolate_adjoint,
    list_pixels,
    put_pixels,
    put_pixels_adjoint,
    running_sum,
    write_frames,
)
from .shading_kernels import (
    shade_pixels,
    shade_pixels_adjoint,
    sum_column,
    sum_eye,
    write_materials,
    write_pixel_frames,
)


@device
def gather_triangle(n, wants, box, cells, near_open, touched, chunk, slots, adj_corner):
    """Sum the cotangents of triangle n's chunks and of the soft mask into adj_corners[n, corner, 0:3]."""
    o = constant(adj_corner[n, 0, 0], 0)
    ax, ay, az, bx, by, bz, cx, cy, cz = o, o, o, o, o, o, o, o, o
    place = slots.place
    for c in range(chunk[n], chunk[n + 1] if wants.features else chunk[n]):
        ax, ay, az = ax + place[c, 0, 0], ay + place[c, 0, 1], az + place[c, 0, 2]
        bx, by, bz = bx + place[c, 1, 0], by + place[c, 1, 1], bz + place[c, 1, 2]
        cx, cy, cz = cx + place[c, 2, 0], cy + place[c, 2, 1], cz + place[c, 2, 2]
    if wants.stripes > 0:
        g = sum_mask_slots(n, wants.stripes, box, cells, near_open, touched, slots.mask)
        ax, ay, bx, by, cx, cy = ax + g[0], ay + g[1], bx + g[2], by + g[3], cx + g[4], cy + g[5]
    adj_corner[n, 0, 0], adj_corner[n, 0, 1], adj_corner[n, 0, 2] = ax, ay, az
    adj_corner[n, 1, 0], adj_corner[n, 1, 1], adj_corner[n, 1, 2] = bx, by, bz
    adj_corner[n, 2, 0], adj_corner[n, 2, 1], adj_corner[n, 2, 2] = cx, cy, cz


@device
def gather_features(r, features, mesh, corners, chunk, slot_point, found):
    """Sum the corners around row r into the cotangents of positions and of features by point."""
    adj_place, adj_feature = found.screen, found.by_point
    t, v = r // mesh.points, r % mesh.points
    zero = constant(adj_place[r, 0], 0)
    x, y, z = zero, zero, zero
    for d in range(adj_feature.shape[1]):
        adj_feature[r, d] = zero
    for k in range(corners.start[v], corners.start[v + 1]):
        n, c = t * mesh.faces.shape[0] + corners.corner[k] // 3, corners.corner[k] % 3
        x, y, z = x + found.corners[n, c, 0], y + found.corners[n, c, 1], z + found.corners[n, c, 2]
        for s in range(chunk[n], chunk[n + 1] if features else chunk[n]):
            for d in range(adj_feature.shape[1]):
                adj_feature[r, d] += slot_point[s, c, d]
    adj_place[r, 0], adj_place[r, 1], adj_place[r, 2] = x, y, z


@device
def gather_own(i, active, triangles, width, stride, corners, chunk, slot_own, adj_own):
    """Sum the corners of all frames that use row i into the cotangent of features with rows of their own.

    Where frames have ``stride`` rows each, the corners of one frame are summed. active: 0 where pixels pass nothing.
    """
    for d in range(i * width, (i + 1) * width):
        adj_own[d] = adj_own.dtype.type(0)
    row, begin, end = i, 0, triangles
    if stride > 0:
        row, begin = i % stride, i // stride * corners.faces.shape[0]
        end = begin + corners.faces.shape[0]
    for k in range(corners.start[row], corners.start[row + 1] if active else corners.start[row]):
        c = corners.corner[k] % 3
        for n in range(begin + corners.corner[k] // 3, end, corners.faces.shape[0]):
            for s in range(chunk[n], chunk[n + 1]):
                for d in range(width):
                    adj_own[i * width + d] += slot_own[(3 * s + c) * width + d]


def prepare(setup, source, triangles, frame, bins):
    """Pipeline: project points, set triangles up and count the entries of tiles. frame: (triangles,) frame of each
    triangle.
    """
    frames, screen, n = setup.frames, source.screen, triangles.box.shape[0]
    viewport, grid, mesh, reach = frames.viewport, frames.grid, frames.mesh, setup.falloff.reach
    launch(source.projects * screen.shape[0], project_point, viewport, source.cameras, source.world, screen)
    if static(setup.rules.kaolin):
        launch(source.projects * screen.shape[0], to_plane, grid, screen)
    with independent:
        if static(setup.rules.kaolin):
            launch(n, kaolin_set_up, grid, viewport.near, screen, mesh, reach, triangles)
        else:
            launch(n, set_up_triangle, grid, mesh, screen, source.valid, setup.cull, reach, triangles)
        launch(mesh.frame_start.shape[0] - 1, write_frames, mesh.frame_start, frame)
    count_tiles(frames, triangles.box, triangles.planes, bins)


def rasterise(fresh, soft, setup, screen, valid, triangles, tally, lists, scratch, coverage, mask, counts):
    """Pipeline: find the triangle of each pixel (unless known: fresh 0), the soft mask, and the pixels of each
    triangle.
    """
    grid, mesh, falloff = setup.frames.grid, setup.frames.mesh, setup.falloff
    tiles, n, inner, edges = tally.shape[0], triangles.inner.shape[0], triangles.inner, triangles.edges
    fill_tiles(setup.frames, triangles.box, triangles.planes, tally, lists)
    if static(setup.rules.kaolin):
        launch(fresh * tiles, kaolin_cover, grid, mesh, lists, inner, screen, valid, setup.rules.guard,
               scratch.nearest, coverage)
        with independent:
            launch(soft * tiles, kaolin_soften, grid, mesh, lists, screen, coverage.face_index, falloff,
                   setup.rules.guard.multiplier, mask.miss, scratch.last)
            launch(n, count_pixels, setup.length, grid, inner, edges, coverage, counts)
    else:
        launch_runs(fresh * tiles * TILE, cover, grid, lists, inner, edges, scratch.nearest, scratch.which)
        launch(fresh * tiles, write_face_index, grid, lists, scratch.which, coverage)
        with independent:
            launch_runs(soft * tiles * TILE, soften, grid, lists, coverage.open, triangles.box, triangles.sides,
                        mesh.sibling, scratch.which, falloff, mask)
            launch(n, count_pixels, setup.length, grid, inner, edges, coverage, counts)
        launch_runs(soft * tiles * TILE, choose_nearest, grid, lists, coverage.open, triangles.box, triangles.sides,
                    mesh.sibling, falloff, scratch.near, mask)
    with independent:
        launch(1, running_sum, counts.first)
        launch(1, running_sum, counts.chunk)


def shade(setup, screen, inner, edges, face_index, pixels, features, values, surfacing, rgb, miss, planes):
    """Pipeline: list the covered pixels, interpolate, shade, and write the planes, the mask last; ground elsewhere."""
    grid, mesh, n, chunks = setup.frames.grid, setup.frames.mesh, inner.shape[0], pixels.owner.shape[0]
    launch(n, list_pixels, grid, inner, edges, face_index, pixels)
    launch_runs(setup.lanes * chunks, interpolate, setup.rules, setup.length, mesh, pixels, screen, features, values)
    launch(min(surfacing.frame.shape[0], 1) * (mesh.frame_start.shape[0] - 1), write_pixel_frames, mesh.frame_start,
           pixels.counts.first, surfacing.frame)
    launch(min(surfacing.material.shape[0], 1) * n, write_materials, pixels.counts.first, surfacing.face_material,
           surfacing.material)
    launch_runs(surfacing.shades * rgb.shape[1], shade_pixels, surfacing, values.value, rgb)
    with independent:
        launch(chunks, put_pixels, planes.channels, planes.channels + planes.soft, setup.length, pixels, rgb,
               planes.colour)
        launch(planes.deep * chunks, put_pixels, 1, 1, setup.length, pixels, values.depth, planes.depth)
        launch(face_index.shape[0] * face_index.shape[1], fill_background, face_index, miss, planes)


def pixels_adjoint(setup, wants, source, pixels, features, values, surfacing, adj_planes, adjoint, slots):
    """Pass cotangents of planes and depths to the slots of chunks. adj_planes: records.PlanesAdjoint."""
    mesh, length, chunks = setup.frames.mesh, setup.length, pixels.owner.shape[0]
    with independent:
        launch(wants.features * chunks, put_pixels_adjoint, wants.channels, adj_planes.stride, length, pixels,
               adj_planes.colour, adjoint.rgb)
        launch(wants.deep * chunks, put_pixels_adjoint, 1, 1, length, pixels, adj_planes.depth, adjoint.depth)
    launch_runs(wants.shades * adjoint.rgb.shape[1], shade_pixels_adjoint, wants, surfacing, values.value, adjoint)
    launch_runs(wants.features * setup.lanes * chunks, interpolate_adjoint, setup.rules, length, mesh, pixels,
                source.screen, features, values.weight, adjoint, slots)


def mask_adjoint(setup, wants, screen, drawn, adj_planes, slots):
    """Pass cotangents of the mask to the slots of entries. drawn: records.MaskRecord."""
    grid, mesh, lists, mask, falloff = setup.frames.grid, setup.frames.mesh, drawn.lists, drawn.mask, setup.falloff
    open_tile = drawn.open
    with independent:
        launch(min(wants.stripes, 1) * open_tile.shape[0], miss_adjoint, grid, open_tile, mask.miss, adj_planes.colour,
               slots.adj_log_miss)
        launch(slots.mask.shape[0] // max(wants.stripes, 1), record_touching, wants.stripes, lists, open_tile,
               mask.touched, drawn.box, grid, drawn.cells, drawn.near_open)
    if static(setup.rules.kaolin):
        launch(slots.mask.shape[0], kaolin_soften_adjoint, grid, mesh, lists, open_tile, screen, falloff,
               setup.rules.guard.multiplier, drawn.last, slots.adj_log_miss, slots.mask)
    else:
        launch_runs(slots.mask.shape[0] * setup.lanes, soften_adjoint, grid, lists, open_tile, drawn.sides,
                    mesh.sibling, falloff, mask, slots.adj_log_miss, slots.mask)


def draw_adjoint(setup, wants, source, drawn, shaded, adj_planes, adjoint, slots, corners, own_corners, found):
    """Pipeline: compute cotangents of positions and features, and of the world and the camera, from planes and depths.

    drawn, shaded: results of the forward pass, records.MaskRecord and records.ShadingRecord. found:
    records.DibrCotangents.
    """
    frames, chunk, features = setup.frames, shaded.pixels.counts.chunk, shaded.features
    pixels_adjoint(setup, wants, source, shaded.pixels, features, shaded.values, shaded.surfacing,
                    adj_planes, adjoint, slots)
    mask_adjoint(setup, wants, source.screen, drawn, adj_planes, slots)
    n = found.corners.shape[0]
    launch(n, gather_triangle, wants, drawn.box, drawn.cells, drawn.near_open, drawn.mask.touched, chunk,
           slots, found.corners)
    with independent:
        launch(found.screen.shape[0], gather_features, wants.features, frames.mesh, corners, chunk, slots.point, found)
        launch(features.rows, gather_own, wants.features, n, features.width, features.stride, own_corners, chunk,
               slots.own, found.own)
    if static(setup.rules.kaolin):
        launch(source.projects * found.screen.shape[0], to_plane_adjoint, frames.grid, found.screen)
    launch(source.projects * found.screen.shape[0], project_point_adjoint, frames.viewport, source.cameras,
           source.world, found.screen, found.world, found.seen)
    launch(found.camera.shape[0], camera_adjoint, frames.viewport, source.cameras, source.world, found.screen,
           found.seen, found.camera)


def sum_lights(frames, frame_start, first, table, adj_eye, totals, eye_totals):
    """Pipeline: sum the table's columns, and each frame's cotangents of the eye."""
    with independent:
        launch(table.shape[1], sum_column, table, totals)
        launch(frames, sum_eye, frame_start, first, adj_eye, eye_totals)


PIPELINES: tuple[Any, ...] = (prepare, rasterise, shade, draw_adjoint, sum_lights, sample_image_adjoint)

#: Programs by our rules (False) and Kaolin's (True). programs.py, which the CUDA check imports, registers samples.
PROGRAMS = {False: Program("dibr", PIPELINES), True: Program("dibr_kaolin", PIPELINES)}
