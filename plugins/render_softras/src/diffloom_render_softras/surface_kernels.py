"""The colour of a triangle at a run of pixels, and the adjoint.

look: (textured, corners, bilinear, index, values, image). index: (faces, 3) rows of values at the corners of a face;
values: colours, or u, v, 0 with an image.
light: (kind, points, normals, eye, ambient, kinds, lights, harmonics, shininess),
kind 0 for unlit, 1 for lambert, 2 for phong.
"""

from __future__ import annotations

from diffloom.kernels import add3, device, dot3, had3, ld3, sub3
from diffloom.shading.kernels.lighting import light_sum, light_sum_both, unit3, unit3_adjoint
from diffloom.shading.kernels.sampling import sample

from .triangles import corners_of


@device
def value_rows(t, shape, look):
    """Rows of the values at the corners of triangle t, in the order of its record."""
    index = look[3]
    f = t % index.shape[0]
    if shape[2][t]:
        return index[f, 2], index[f, 1], index[f, 0]
    return index[f, 0], index[f, 1], index[f, 2]


@device
def point_rows(t, shape, mesh):
    """Points of triangle t, in the order of its record."""
    i, j, k = corners_of(t, mesh)
    if shape[2][t]:
        return k, j, i
    return i, j, k


@device
def mix(q, rows, values):
    """Values of three rows weighted with q."""
    a, b, c = ld3(values, rows[0]), ld3(values, rows[1]), ld3(values, rows[2])
    return (
        q[0] * a[0] + q[1] * b[0] + q[2] * c[0],
        q[0] * a[1] + q[1] * b[1] + q[2] * c[1],
        q[0] * a[2] + q[1] * b[2] + q[2] * c[2],
    )


@device
def mix_adjoint(rows, values, adj):
    """Cotangents of q for mix."""
    return dot3(ld3(values, rows[0]), adj), dot3(ld3(values, rows[1]), adj), dot3(ld3(values, rows[2]), adj)


@device
def own_colour(q, rows, look):
    """The surface's own colour, its derivatives by the mixed value's first two entries, and that value."""
    value = mix(q, rows, look[4])
    if look[0]:
        colour, by_u, by_v = sample(value[0], value[1], (look[1], look[2]), look[5])
        return colour, by_u, by_v, value
    none = sub3(value, value)
    return value, none, none, value


@device
def own_colour_adjoint(adj_colour, by_u, by_v, look):
    """Cotangent of the mixed value."""
    if look[0]:
        u = dot3(by_u, adj_colour)
        return u, dot3(by_v, adj_colour), u - u
    return adj_colour


@device
def place_and_normal(q, points, frame, light):
    """Position, unit normal and view direction at the pixels, the last two with what unit3 gives."""
    position = mix(q, points, light[1])
    eye = ld3(light[3], frame if light[3].shape[0] > 1 else 0)
    return position, unit3(mix(q, points, light[2]), light[1]), unit3(sub3(eye, position), light[1])


@device
def lit_colour(colour, q, points, frame, light):
    """Colour under the lights: own colour x (ambient + diffuse) + specular."""
    if light[0] == 0:
        return colour
    position, n, view = place_and_normal(q, points, frame, light)
    diffuse, specular = light_sum(
        n[0], view[0], position, light[5], light[6], light[7], light[8], light[0] == 2
    )
    return add3(had3(colour, add3(diffuse, ambient_of(light))), specular)


@device
def ambient_of(light):
    """Light from everywhere."""
    return light[4][0], light[4][1], light[4][2]


@device
def lit_colour_adjoint(colour, q, points, frame, light, adj):
    """Lit colour; cotangents of own colour, position, (mixed) normal and eye, and of q through position and normal."""
    position, n, view = place_and_normal(q, points, frame, light)
    diffuse, specular, adj_n, adj_view, adj_position = light_sum_both(
        n[0], view[0], position, light[5], light[6], light[7], light[8], light[0] == 2, had3(adj, colour), adj
    )
    factor = add3(diffuse, ambient_of(light))
    adj_normal = unit3_adjoint(n[0], n[1], n[2], adj_n)
    adj_eye = unit3_adjoint(view[0], view[1], view[2], adj_view)
    adj_position = sub3(adj_position, adj_eye)
    adj_q = add3(mix_adjoint(points, light[1], adj_position), mix_adjoint(points, light[2], adj_normal))
    return add3(had3(colour, factor), specular), had3(adj, factor), adj_position, adj_normal, adj_eye, adj_q


@device
def lit_factor(q, points, frame, light):
    """What the own colour is multiplied with: ambient + diffuse light, or 1."""
    R = light[1].dtype.type
    if light[0] == 0:
        one = q[0] * R(0.0) + R(1.0)
        return one, one, one
    position, n, view = place_and_normal(q, points, frame, light)
    diffuse, specular = light_sum(n[0], view[0], position, light[5], light[6], light[7], light[8], False)
    return add3(diffuse, ambient_of(light))
