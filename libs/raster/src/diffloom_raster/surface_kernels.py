"""Colour of a triangle at a run of places, and the adjoint.

q: weights of the triangle's corners; rows: their rows in a table of points or values. surfacing, lighting: the records
``Surfacing`` and ``SurfaceLighting``.
"""

from __future__ import annotations

from diffloom_kernels import add3, device, dot3, had3, ld3, sub3

from .lighting_kernels import (
    EYE,
    add_lane_sums3,
    light_table_adjoint,
    lit_colour,
    lit_colour_adjoint,
    load_ambient,
    sum_light,
    unit3,
)
from .texture_kernels import sample


@device
def value_rows(t, frame, surfacing):
    """Return rows of the values at the corners of triangle t of a frame."""
    index, shift = surfacing.rows, frame * surfacing.stride
    f = t % index.shape[0]
    return index[f, 0] + shift, index[f, 1] + shift, index[f, 2] + shift


@device
def mix_rows(q, rows, values):
    """Return values of three rows weighted with q."""
    a, b, c = ld3(values, rows[0]), ld3(values, rows[1]), ld3(values, rows[2])
    return (
        q[0] * a[0] + q[1] * b[0] + q[2] * c[0],
        q[0] * a[1] + q[1] * b[1] + q[2] * c[1],
        q[0] * a[2] + q[1] * b[2] + q[2] * c[2],
    )


@device
def mix_rows_adjoint(rows, values, adj):
    """Return cotangents of q for mix_rows."""
    return dot3(ld3(values, rows[0]), adj), dot3(ld3(values, rows[1]), adj), dot3(ld3(values, rows[2]), adj)


@device
def mix_two_columns(q, rows, values):
    """Return the first two columns of three rows weighted with q."""
    a, b, c = rows
    return (
        q[0] * values[a, 0] + q[1] * values[b, 0] + q[2] * values[c, 0],
        q[0] * values[a, 1] + q[1] * values[b, 1] + q[2] * values[c, 1],
    )


@device
def own_colour(q, rows, frame, surfacing):
    """Return the surface's own colour, and its derivatives by u and v if it is textured."""
    if surfacing.textured:
        uv = mix_two_columns(q, rows, surfacing.values)
        return sample(uv[0], uv[1], frame * surfacing.texels.stride, surfacing.texels)
    colour = mix_rows(q, rows, surfacing.values)
    none = sub3(colour, colour)
    return colour, none, none


@device
def own_colour_adjoint(adj_colour, by_u, by_v, rows, surfacing):
    """Return cotangents of the mixed values (the third 0 for u and v), and of q."""
    values = surfacing.values
    if surfacing.textured:
        u, v = dot3(by_u, adj_colour), dot3(by_v, adj_colour)
        adj_q = (
            values[rows[0], 0] * u + values[rows[0], 1] * v,
            values[rows[1], 0] * u + values[rows[1], 1] * v,
            values[rows[2], 0] * u + values[rows[2], 1] * v,
        )
        return (u, v, u - u), adj_q
    return adj_colour, mix_rows_adjoint(rows, values, adj_colour)


@device
def place_and_normal(q, rows, frame, lighting):
    """Return position, unit normal and view direction at the pixels, the last two with the other results of unit3."""
    points, eye = lighting.points, lighting.eye
    position = mix_rows(q, rows, points)
    towards = sub3(ld3(eye, frame if eye.shape[0] > 1 else 0), position)
    return position, unit3(mix_rows(q, rows, lighting.normals), points), unit3(towards, points)


@device
def load_material(t, lighting):
    """Return the number of triangle t's material."""
    count = lighting.material.shape[0]
    if count > 0:
        return lighting.material[t % count]
    return 0


@device
def shade_fragment(t, colour, q, rows, frame, lighting):
    """Return the colour under the lights."""
    if lighting.shading == 0:
        return colour
    position, n, view = place_and_normal(q, rows, frame, lighting)
    m = load_material(t, lighting)
    return lit_colour(m, colour, n[0], view[0], position, lighting.lights, lighting.shading == 2)


@device
def shade_fragment_adjoint(t, colour, q, rows, frame, lighting, adj):
    """Return the lit colour; cotangents of own colour, position, (mixed) normal and eye, and of q through position and
    normal.
    """
    position, n, view = place_and_normal(q, rows, frame, lighting)
    lit, adj_own, adj_position, adj_normal, adj_eye = lit_colour_adjoint(
        load_material(t, lighting), colour, n, view, position, lighting.lights, lighting.shading == 2, adj
    )
    by_position = mix_rows_adjoint(rows, lighting.points, adj_position)
    adj_q = add3(by_position, mix_rows_adjoint(rows, lighting.normals, adj_normal))
    return lit, adj_own, adj_position, adj_normal, adj_eye, adj_q


@device
def shade_table_adjoint(t, i, colour, q, rows, frame, lighting, adj, adj_eye, table):
    """Add the cotangents of eye and lights to row i of a table.

    Position, normal and view are computed again, because keeping them for the few draws that need this takes registers
    from all draws.
    """
    position, n, view = place_and_normal(q, rows, frame, lighting)
    add_lane_sums3(table, i, EYE, adj_eye)
    m = load_material(t, lighting)
    light_table_adjoint(
        m, i, n[0], view[0], position, lighting.lights, lighting.shading == 2, had3(adj, colour), adj, table
    )


@device
def lit_factor(t, q, rows, frame, lighting):
    """Return the factor of the own colour: ambient + diffuse light, or 1."""
    R = lighting.points.dtype.type
    if lighting.shading == 0:
        one = q[0] * R(0.0) + R(1.0)
        return one, one, one
    position, n, view = place_and_normal(q, rows, frame, lighting)
    m = load_material(t, lighting)
    diffuse, specular = sum_light(m, n[0], view[0], position, lighting.lights, False)
    return add3(diffuse, load_ambient(m, lighting.lights))
