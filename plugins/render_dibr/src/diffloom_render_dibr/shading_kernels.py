"""Colour of listed pixels under the lights, and the adjoint, a run of pixels at a time.

value: (channels, pixels), the interpolated normal (3) and position (3) if lit, then the surface's own colour (3) or its
texture coordinates (2). surfacing: see records.py.
"""

from __future__ import annotations

from diffloom_kernels import device, dot3, had3, sub3
from diffloom_raster.kernels import (
    first_index,
    light_table_adjoint,
    lit_colour,
    lit_colour_adjoint,
    run_width,
    sample,
    unit3,
)


@device
def row3(value, d, e):
    """Return three channels from d on."""
    return (value[d, e], value[d + 1, e], value[d + 2, e])


@device
def set_row3(value, d, e, v):
    """Store three channels from d on."""
    value[d, e], value[d + 1, e], value[d + 2, e] = v[0], v[1], v[2]


@device
def texel_row(e, surfacing):
    """Return the texture's first row in the frame of a run, all of whose pixels show one triangle."""
    if surfacing.texels.stride > 0:
        return surfacing.frame[first_index(e)] * surfacing.texels.stride
    return 0


@device
def own_colour(e, surfacing, value):
    """Return the surface's own colour, and its derivatives by u and v if it is textured."""
    d = 6 if surfacing.shading > 0 else 0
    if surfacing.textured:
        return sample(value[d, e], value[d + 1, e], texel_row(e, surfacing), surfacing.texels)
    colour = row3(value, d, e)
    none = sub3(colour, colour)
    return colour, none, none


@device
def load_eye(e, surfacing):
    """Return the camera's position."""
    eye = surfacing.eye
    if surfacing.frame.shape[0] > 0 and eye.shape[0] > 1:
        t = surfacing.frame[e]
        return (eye[t, 0], eye[t, 1], eye[t, 2])
    return (eye[0, 0], eye[0, 1], eye[0, 2])


@device
def load_material(e, surfacing):
    """Return the number of the material of a run, all of whose pixels show one triangle."""
    if surfacing.material.shape[0] > 0:
        return surfacing.material[first_index(e)]
    return 0


@device
def place_and_normal(e, surfacing, value):
    """Return position, and unit normal and direction to the eye with the other results of unit3."""
    position = row3(value, 3, e)
    return position, unit3(row3(value, 0, e), value), unit3(sub3(load_eye(e, surfacing), position), value)


@device
def shade_pixels(e, surfacing, value, rgb):
    """Write the own colour, under the lights if lit, to rgb[:, e]."""
    colour, by_u, by_v = own_colour(e, surfacing, value)
    if surfacing.shading > 0:
        position, n, view = place_and_normal(e, surfacing, value)
        m = load_material(e, surfacing)
        colour = lit_colour(m, colour, n[0], view[0], position, surfacing.lights, surfacing.shading == 2)
    set_row3(rgb, 0, e, colour)


@device
def shade_pixels_adjoint(e, wants, surfacing, value, adjoint):
    """Write cotangents of the values of pixels e; and, if wanted, of own colour and eye, and the table's row of this
    run.
    """
    colour, by_u, by_v = own_colour(e, surfacing, value)
    adj, adj_value = row3(adjoint.rgb, 0, e), adjoint.value
    adj_own = adj
    d = 0
    if surfacing.shading > 0:
        d = 6
        position, n, view = place_and_normal(e, surfacing, value)
        m, highlights = load_material(e, surfacing), surfacing.shading == 2
        lit, adj_own, adj_position, adj_normal, adj_eye = lit_colour_adjoint(
            m, colour, n, view, position, surfacing.lights, highlights, adj
        )
        set_row3(adj_value, 0, e, adj_normal)
        set_row3(adj_value, 3, e, adj_position)
        if wants.eye:
            set_row3(adjoint.eye, 0, e, adj_eye)
        if wants.table:
            i = first_index(e) // run_width(e)
            light_table_adjoint(
                m, i, n[0], view[0], position, surfacing.lights, highlights, had3(adj, colour), adj, adjoint.table
            )
    if surfacing.textured:
        adj_value[d, e], adj_value[d + 1, e] = dot3(by_u, adj_own), dot3(by_v, adj_own)
        if wants.texture:
            set_row3(adjoint.colour, 0, e, adj_own)
    else:
        set_row3(adj_value, d, e, adj_own)


@device
def sum_column(d, table, sums):
    """Sum the entries of column d from the first to the last into sums[d]."""
    s = table.dtype.type(0)
    for i in range(table.shape[0]):
        s += table[i, d]
    sums[d] = s


@device
def sum_eye(t, frame_start, first, adj_eye, sums):
    """Sum the cotangents of the eye over the pixels of frame t into sums[t]."""
    zero = adj_eye.dtype.type(0)
    x, y, z = zero, zero, zero
    for k in range(first[frame_start[t]], first[frame_start[t + 1]]):
        x, y, z = x + adj_eye[0, k], y + adj_eye[1, k], z + adj_eye[2, k]
    sums[t, 0], sums[t, 1], sums[t, 2] = x, y, z


@device
def write_materials(t, first, face_material, material):
    """Write the material of triangle t to material[k] for the pixels k that show it."""
    for k in range(first[t], first[t + 1]):
        material[k] = face_material[t % face_material.shape[0]]


@device
def write_pixel_frames(t, frame_start, first, frame):
    """Write t to frame[k] for the pixels k of frame t."""
    for k in range(first[frame_start[t]], first[frame_start[t + 1]]):
        frame[k] = t
