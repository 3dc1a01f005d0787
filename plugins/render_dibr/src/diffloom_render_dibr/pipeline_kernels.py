"""The pipelines of DIB-R. Counts that are 0 or 1 (projects, soft, ...) switch passes off or on."""

from __future__ import annotations

from typing import Any

from diffloom_kernels import launch, launch_runs, static, together
from diffloom_raster.bin_kernels import TILE, count_tiles, fill_tiles
from diffloom_raster.project_kernels import camera_adjoint, project_point, project_point_adjoint
from diffloom_raster.rasterise_kernels import cover, name_faces
from diffloom_raster.soft_mask_kernels import choose_nearest, miss_adjoint, note_touching, soften, soften_adjoint
from diffloom_raster.texture_kernels import image_backward
from diffloom_raster.triangle_kernels import set_up

from .gather_kernels import gather_features, gather_own, gather_triangle
from .interpolation_kernels import interpolate, interpolate_adjoint
from .kaolin_coverage_kernels import from_plane, kaolin_cover, kaolin_set_up, to_plane
from .kaolin_mask_kernels import kaolin_soften, kaolin_soften_adjoint
from .listing_kernels import count_pixels, lay_ground, list_pixels, name_frames, put, running_sum, take
from .shading_kernels import name_materials, name_pixels, shade_pixels, shade_pixels_adjoint, sum_column, sum_eye


def prepare(setup, source, triangles, frame, bins):
    """Project points, set triangles up and count what the tiles will list. frame: (triangles,) of a triangle."""
    frames, screen, n = setup.frames, source.screen, triangles.box.shape[0]
    viewport, grid, mesh, reach = frames.viewport, frames.grid, frames.mesh, setup.falloff.reach
    launch(source.projects * screen.shape[0], project_point, viewport, source.cameras, source.world, screen)
    if static(setup.rules.kaolin):
        launch(source.projects * screen.shape[0], to_plane, grid, screen)
    with together:
        if static(setup.rules.kaolin):
            launch(n, kaolin_set_up, grid, viewport.near, screen, mesh, reach, triangles)
        else:
            launch(n, set_up, grid, mesh, screen, source.valid, setup.cull, reach, triangles)
        launch(mesh.frame_start.shape[0] - 1, name_frames, mesh.frame_start, frame)
    count_tiles(frames, triangles.box, triangles.planes, bins)


def rasterise(fresh, soft, setup, screen, valid, triangles, tally, lists, scratch, coverage, mask, counts):
    """What each pixel shows (unless known: fresh 0), the soft mask, and how many pixels each triangle has."""
    grid, mesh, falloff = setup.frames.grid, setup.frames.mesh, setup.falloff
    tiles, n, inner, edges = tally.shape[0], triangles.inner.shape[0], triangles.inner, triangles.edges
    fill_tiles(setup.frames, triangles.box, triangles.planes, tally, lists)
    if static(setup.rules.kaolin):
        launch(fresh * tiles, kaolin_cover, grid, mesh, lists, inner, screen, valid, setup.rules.guard,
               scratch.nearest, coverage)
        with together:
            launch(soft * tiles, kaolin_soften, grid, mesh, lists, screen, coverage.face_index, falloff,
                   setup.rules.guard.multiplier, mask.miss, scratch.last)
            launch(n, count_pixels, setup.length, grid, inner, edges, coverage, counts)
    else:
        launch_runs(fresh * tiles * TILE, cover, grid, lists, inner, edges, scratch.nearest, scratch.which)
        launch(fresh * tiles, name_faces, grid, lists, scratch.which, coverage)
        with together:
            launch_runs(soft * tiles * TILE, soften, grid, lists, coverage.open, triangles.box, triangles.sides,
                        mesh.sibling, scratch.which, falloff, mask)
            launch(n, count_pixels, setup.length, grid, inner, edges, coverage, counts)
        launch_runs(soft * tiles * TILE, choose_nearest, grid, lists, coverage.open, triangles.box, triangles.sides,
                    mesh.sibling, falloff, scratch.near, mask)
    with together:
        launch(1, running_sum, counts.first)
        launch(1, running_sum, counts.chunk)


def shade(setup, screen, inner, edges, face_index, pixels, features, values, surfacing, rgb, miss, planes):
    """List the covered pixels, interpolate, shade, and put them into the planes, the mask last; ground elsewhere."""
    grid, mesh, n, chunks = setup.frames.grid, setup.frames.mesh, inner.shape[0], pixels.owner.shape[0]
    launch(n, list_pixels, grid, inner, edges, face_index, pixels)
    launch_runs(setup.lanes * chunks, interpolate, setup.rules, setup.length, mesh, pixels, screen, features, values)
    launch(min(surfacing.frame.shape[0], 1) * (mesh.frame_start.shape[0] - 1), name_pixels, mesh.frame_start,
           pixels.counts.first, surfacing.frame)
    launch(min(surfacing.material.shape[0], 1) * n, name_materials, pixels.counts.first, surfacing.face_material,
           surfacing.material)
    launch_runs(surfacing.shades * rgb.shape[1], shade_pixels, surfacing, values.value, rgb)
    with together:
        launch(chunks, put, planes.channels, planes.channels + planes.soft, setup.length, pixels, rgb, planes.colour)
        launch(planes.deep * chunks, put, 1, 1, setup.length, pixels, values.depth, planes.depth)
        launch(face_index.shape[0] * face_index.shape[1], lay_ground, face_index, miss, planes)


def pixels_backward(setup, wants, source, pixels, features, values, surfacing, adj_planes, adjoint, slots):
    """From planes and depths to the slots of chunks. adj_planes: records.PlanesAdjoint."""
    mesh, length, chunks = setup.frames.mesh, setup.length, pixels.owner.shape[0]
    with together:
        launch(wants.features * chunks, take, wants.channels, adj_planes.stride, length, pixels, adj_planes.colour,
               adjoint.rgb)
        launch(wants.deep * chunks, take, 1, 1, length, pixels, adj_planes.depth, adjoint.depth)
    launch_runs(wants.shades * adjoint.rgb.shape[1], shade_pixels_adjoint, wants, surfacing, values.value, adjoint)
    launch_runs(wants.features * setup.lanes * chunks, interpolate_adjoint, setup.rules, length, mesh, pixels,
                source.screen, features, values.weight, adjoint, slots)


def mask_backward(setup, wants, screen, drawn, adj_planes, slots):
    """From the mask to the slots of entries. drawn: records.Drawn."""
    grid, mesh, lists, mask, falloff = setup.frames.grid, setup.frames.mesh, drawn.lists, drawn.mask, setup.falloff
    open_tile = drawn.open
    with together:
        launch(min(wants.stripes, 1) * open_tile.shape[0], miss_adjoint, grid, open_tile, mask.miss, adj_planes.colour,
               slots.pull)
        launch(slots.mask.shape[0] // max(wants.stripes, 1), note_touching, wants.stripes, lists, open_tile,
               mask.touched, drawn.box, grid, drawn.cells, drawn.near_open)
    if static(setup.rules.kaolin):
        launch(slots.mask.shape[0], kaolin_soften_adjoint, grid, mesh, lists, open_tile, screen, falloff,
               setup.rules.guard.multiplier, drawn.last, slots.pull, slots.mask)
    else:
        launch_runs(slots.mask.shape[0] * setup.lanes, soften_adjoint, grid, lists, open_tile, drawn.sides,
                    mesh.sibling, falloff, mask, slots.pull, slots.mask)


def backward(setup, wants, source, drawn, shaded, adj_planes, adjoint, slots, corners, own_corners, found):
    """From planes and depths to places and features, and on to the world and the camera.

    drawn, shaded: what forward left, records.Drawn and records.Shaded. found: records.Cotangents.
    """
    frames, chunk, features = setup.frames, shaded.pixels.counts.chunk, shaded.features
    pixels_backward(setup, wants, source, shaded.pixels, features, shaded.values, shaded.surfacing,
                    adj_planes, adjoint, slots)
    mask_backward(setup, wants, source.screen, drawn, adj_planes, slots)
    n = found.corners.shape[0]
    launch(n, gather_triangle, wants, drawn.box, drawn.cells, drawn.near_open, drawn.mask.touched, chunk,
           slots, found.corners)
    with together:
        launch(found.screen.shape[0], gather_features, wants.features, frames.mesh, corners, chunk, slots.point, found)
        launch(features.rows, gather_own, wants.features, n, features.width, features.stride, own_corners, chunk,
               slots.own, found.own)
    if static(setup.rules.kaolin):
        launch(source.projects * found.screen.shape[0], from_plane, frames.grid, found.screen)
    launch(source.projects * found.screen.shape[0], project_point_adjoint, frames.viewport, source.cameras,
           source.world, found.screen, found.world, found.seen)
    launch(found.camera.shape[0], camera_adjoint, frames.viewport, source.cameras, source.world, found.screen,
           found.seen, found.camera)


def sum_lights(frames, frame_start, first, table, adj_eye, totals, eye_totals):
    """Totals of the table's columns, and of what each frame's pixels pass to the eye."""
    with together:
        launch(table.shape[1], sum_column, table, totals)
        launch(frames, sum_eye, frame_start, first, adj_eye, eye_totals)


def sum_texture(texels, u, v, frame, adj_colour, adj_image):
    """The cotangent of the texture, in the first of the copies."""
    image_backward(texels, u, v, frame, adj_colour, adj_image)


PIPELINES: tuple[Any, ...] = (prepare, rasterise, shade, backward, sum_lights, sum_texture)
