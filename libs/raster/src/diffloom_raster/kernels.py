"""Device functions of the raster layer for the kernels of a renderer. Only these are public.

- Binning: ``locate_tile`` gives the corner of a tile of TILE x TILE pixels, ``locate_stripe`` and ``locate_pixels``
  runs of pixels in it. The pipelines ``count_tiles`` and ``fill_tiles`` sort triangles into tiles without atomics;
  ``record_entry`` and ``count_cells`` find the entries of a triangle again, for adjoints.
- Triangles: ``set_up_triangle``, or its parts ``corner_rows``, ``pixel_range``, ``set_box`` and ``set_plane``; squared
  distances from the sides by ``load_sides`` and ``triangle_distance``.
- Projection: ``project_points`` with the adjoints ``project_points_adjoint`` and ``project_cameras_adjoint``.
- Coverage: ``cover`` finds the nearest triangle of each pixel, ``perspective_weights`` the weights of its corners;
  ``gather_point`` sums cotangents over the corners that meet in a point.
- Soft mask: ``soften`` and ``choose_nearest``.
- Lighting: ``lit_colour``; ``light_table_adjoint`` for the cotangents of lights, whose columns begin at AMBIENT,
  SHININESS, EYE and LIGHTS.
- Surfaces: ``own_colour`` of a triangle and ``shade_fragment`` under lights, at corners weighted by ``mix_rows``.
- Slots: ``gather_triangle`` and ``gather_value`` sum cotangents of entries over triangles and over rows of values.
- Texture: ``sample``, which also gives the derivatives by u and v, and ``sample_texels_adjoint``.
- Lanes: ``first_index`` and ``run_width`` of a run, ``total`` over its lanes, ``expv`` and ``logv``.

A function and its adjoint ``*_adjoint`` take the same arguments in the same order; the cotangent of x is ``adj_x``.
"""

from __future__ import annotations

# Several names a line, not one.
# isort: off
from .binning_kernels import (
    TILE, count_cells, count_tiles, fill_tiles, interleave, interleave_count, is_outside_box, locate_pixels,
    locate_stripe, locate_tile, record_entry,
)
from .coverage_kernels import (
    bin_triangles, cover, cover_pixels, gather_point, mix_values, mix_values_adjoint, mix_weights_adjoint,
    perspective_weights, perspective_weights_adjoint, write_face_index,
)
from .lane_kernels import alll, expv, extract_lane, first_index, is_single, logv, run_width, to_index, total
from .lighting_kernels import (
    AMBIENT, DIRECTIONAL, EYE, LIGHTS, POINT, SHININESS, add_lane_sums3, light_row_adjoint, light_table_adjoint,
    lit_colour, lit_colour_adjoint, load_ambient, sum_light, sum_light_with_adjoint, unit3, unit3_adjoint,
)
from .projection_kernels import (
    camera_adjoint, load_camera, project_cameras_adjoint, project_point, project_point_adjoint, project_points,
    project_points_adjoint,
)
from .slot_kernels import gather_triangle, gather_value
from .soft_mask_kernels import choose_nearest, miss_adjoint, record_touching, soften, soften_adjoint, sum_mask_slots
from .surface_kernels import (
    lit_factor, mix_rows, mix_rows_adjoint, mix_two_columns, own_colour, own_colour_adjoint, shade_fragment,
    shade_fragment_adjoint, shade_table_adjoint, value_rows,
)
from .texture_kernels import sample, sample_image_adjoint, sample_texels_adjoint
from .triangle_kernels import (
    EDGES, LENGTH, SIDES, corner_rows, load_corner, load_depth, load_sides, pixel_range, set_box, set_plane,
    set_up_triangle, triangle_distance, triangle_distance_adjoint, twice_area,
)
# isort: on

__all__ = [
    # binning
    "TILE", "count_cells", "count_tiles", "fill_tiles", "interleave", "interleave_count", "is_outside_box",
    "locate_pixels", "locate_stripe", "locate_tile", "record_entry",
    # coverage
    "bin_triangles", "cover", "cover_pixels", "gather_point", "mix_values", "mix_values_adjoint",
    "mix_weights_adjoint", "perspective_weights", "perspective_weights_adjoint", "write_face_index",
    # lane
    "alll", "expv", "extract_lane", "first_index", "is_single", "logv", "run_width", "to_index", "total",
    # lighting
    "AMBIENT", "DIRECTIONAL", "EYE", "LIGHTS", "POINT", "SHININESS", "add_lane_sums3", "light_row_adjoint",
    "light_table_adjoint", "lit_colour", "lit_colour_adjoint", "load_ambient", "sum_light",
    "sum_light_with_adjoint", "unit3", "unit3_adjoint",
    # projection
    "camera_adjoint", "load_camera", "project_cameras_adjoint", "project_point", "project_point_adjoint",
    "project_points", "project_points_adjoint",
    # slots
    "gather_triangle", "gather_value",
    # soft mask
    "choose_nearest", "miss_adjoint", "record_touching", "soften", "soften_adjoint", "sum_mask_slots",
    # surface
    "lit_factor", "mix_rows", "mix_rows_adjoint", "mix_two_columns", "own_colour", "own_colour_adjoint",
    "shade_fragment", "shade_fragment_adjoint", "shade_table_adjoint", "value_rows",
    # texture
    "sample", "sample_image_adjoint", "sample_texels_adjoint",
    # triangle
    "EDGES", "LENGTH", "SIDES", "corner_rows", "load_corner", "load_depth", "load_sides", "pixel_range", "set_box",
    "set_plane", "set_up_triangle", "triangle_distance", "triangle_distance_adjoint", "twice_area",
]
