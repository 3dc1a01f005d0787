"""Device functions of the raster layer, for the kernels of a renderer; only these are public.

- Binning: tiles of TILE x TILE pixels (``tile_corner``), runs of pixels in them (``stripe_of``, ``pixels_of``), and the
  pipelines ``count_tiles`` and ``fill_tiles``, which sort triangles into tiles without atomics. ``note_entry`` and
  ``cells_of`` find the entries of a triangle again, for adjoints.
- Triangles: ``set_up`` (or the parts of it: ``corner_rows``, ``pixel_range``, ``set_box``, ``set_plane``), and squared
  distances from their sides (``sides_of``, ``triangle_distance``).
- Projection: ``project_points`` with the adjoints ``project_points_adjoint`` and ``project_cameras_adjoint``.
- Coverage: ``cover`` finds the nearest triangle of each pixel; ``perspective_weights`` the weights of its corners;
  ``gather_point`` sums cotangents over the corners that meet in a point.
- Soft mask: ``soften`` and ``choose_nearest``.
- Lighting: ``lit_colour``; ``light_table_adjoint`` for the cotangents of lights, whose columns begin at AMBIENT,
  SHININESS, EYE and LIGHTS.
- Texture: ``sample``, which also gives the derivatives by u and v, and ``sample_texels_adjoint``.
- Lanes: ``first_of`` and ``width_of`` a run, ``total`` over its lanes, ``expv`` and ``logv``.

A function and its adjoint ``*_adjoint`` take the same arguments in the same order; the cotangent of x is ``adj_x``.
"""

from __future__ import annotations

# Several names a line, not one.
# isort: off
from .binning_kernels import (
    TILE, cells_of, count_tiles, fill_tiles, interleave, interleave_count, misses, note_entry, pixels_of, stripe_of,
    tile_corner,
)
from .coverage_kernels import (
    bin_triangles, cover, cover_pixels, gather_point, mix_values, mix_values_adjoint, mix_weights_adjoint, name_faces,
    perspective_weights, perspective_weights_adjoint,
)
from .lane_kernels import alll, expv, first_of, index_of, is_single, lane_of, logv, total, width_of
from .lighting_kernels import (
    AMBIENT, DIRECTIONAL, EYE, LIGHTS, POINT, SHININESS, add_total3, light_row_adjoint, light_sum,
    light_sum_with_adjoint, light_table_adjoint, lit_colour, lit_colour_adjoint, load_ambient, unit3, unit3_adjoint,
)
from .projection_kernels import (
    camera_adjoint, camera_of, project_cameras_adjoint, project_point, project_point_adjoint, project_points,
    project_points_adjoint,
)
from .soft_mask_kernels import (
    choose_nearest, mask_sums, miss_adjoint, note_touching, soften, soften_adjoint,
)
from .texture_kernels import sample, sample_image_adjoint, sample_texels_adjoint
from .triangle_kernels import (
    EDGES, LENGTH, SIDES, corner_rows, load_corner, load_depth, pixel_range, set_box, set_plane, set_up, sides_of,
    triangle_distance, triangle_distance_adjoint, twice_area,
)
# isort: on

__all__ = [
    # binning
    "TILE", "cells_of", "count_tiles", "fill_tiles", "interleave", "interleave_count", "misses", "note_entry",
    "pixels_of", "stripe_of", "tile_corner",
    # coverage
    "bin_triangles", "cover", "cover_pixels", "gather_point", "mix_values", "mix_values_adjoint", "mix_weights_adjoint",
    "name_faces", "perspective_weights", "perspective_weights_adjoint",
    # lanes
    "alll", "expv", "first_of", "index_of", "is_single", "lane_of", "logv", "total", "width_of",
    # lighting
    "AMBIENT", "DIRECTIONAL", "EYE", "LIGHTS", "POINT", "SHININESS", "add_total3", "light_row_adjoint", "light_sum",
    "light_sum_with_adjoint", "light_table_adjoint", "lit_colour", "lit_colour_adjoint", "load_ambient", "unit3",
    "unit3_adjoint",
    # projection
    "camera_adjoint", "camera_of", "project_cameras_adjoint", "project_point", "project_point_adjoint",
    "project_points", "project_points_adjoint",
    # soft mask
    "choose_nearest", "mask_sums", "miss_adjoint", "note_touching", "soften", "soften_adjoint",
    # texture
    "sample", "sample_image_adjoint", "sample_texels_adjoint",
    # triangles
    "EDGES", "LENGTH", "SIDES", "corner_rows", "load_corner", "load_depth", "pixel_range", "set_box", "set_plane",
    "set_up", "sides_of", "triangle_distance", "triangle_distance_adjoint", "twice_area",
]
