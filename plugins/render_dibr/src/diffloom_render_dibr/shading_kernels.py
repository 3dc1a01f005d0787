"""The colour of listed pixels under the lights, and the adjoint, a run of pixels at a time.

value: (channels, pixels), the interpolated normal (3) and position (3) if lit, then the surface's own colour (3) or its
texture coordinates (2). look: (lit, textured, corners, bilinear, image), lit 0 for unlit, 1 for lambert, 2 for phong;
corners and bilinear as in diffloom.shading.kernels.sampling. light: (eye, eye_row, ambient, kinds, lights, harmonics,
shininess), the last four as in diffloom.shading.kernels.lighting; eye: (frames or 1, 3); eye_row: (pixels,) the frame
of each pixel, empty for one eye.
"""

from __future__ import annotations

from diffloom.kernels import add3, device, dot3, had3, sub3
from diffloom.shading.kernels.harmonics import harmonic
from diffloom.shading.kernels.lighting import light_row_adjoint, light_sum, light_sum_adjoint, unit3, unit3_adjoint
from diffloom.shading.kernels.runs import first_of, total, width_of
from diffloom.shading.kernels.sampling import sample, sample_scatter

#: Columns of the table of cotangents of what lights the scene: ambient, shininess, then nine for each light, then the
#: harmonics.
AMBIENT, SHININESS, LIGHTS = 0, 3, 4


@device
def row3(value, d, e):
    """Three channels from d on."""
    return (value[d, e], value[d + 1, e], value[d + 2, e])


@device
def set_row3(value, d, e, v):
    """Store three channels from d on."""
    value[d, e], value[d + 1, e], value[d + 2, e] = v[0], v[1], v[2]


@device
def own_colour(e, look, value):
    """The surface's own colour, and its derivatives by u and v if it is textured."""
    d = 6 if look[0] > 0 else 0
    if look[1]:
        return sample(value[d, e], value[d + 1, e], (look[2], look[3]), look[4])
    colour = row3(value, d, e)
    none = sub3(colour, colour)
    return colour, none, none


@device
def eye_of(e, light):
    """The camera's place."""
    eye, eye_row = light[0], light[1]
    if eye_row.shape[0] > 0:
        t = eye_row[e]
        return (eye[t, 0], eye[t, 1], eye[t, 2])
    return (eye[0, 0], eye[0, 1], eye[0, 2])


@device
def stance(e, value, light):
    """Position, and unit normal and direction to the eye with what unit3 tells of them."""
    position = row3(value, 3, e)
    return position, unit3(row3(value, 0, e), value), unit3(sub3(eye_of(e, light), position), value)


@device
def ambient_of(light):
    """Light from everywhere."""
    return (light[2][0], light[2][1], light[2][2])


@device
def colour_pixels(e, look, light, value, rgb):
    """rgb[:, e]: own colour x (ambient + diffuse) + specular, or the own colour where unlit."""
    colour, by_u, by_v = own_colour(e, look, value)
    if look[0] > 0:
        position, n, view = stance(e, value, light)
        diffuse, specular = light_sum(
            n[0], view[0], position, light[3], light[4], light[5], light[6], look[0] == 2
        )
        colour = add3(had3(colour, add3(diffuse, ambient_of(light))), specular)
    set_row3(rgb, 0, e, colour)


@device
def colour_pixels_adjoint(e, wants, look, light, value, adj_rgb, adj_value, adj_colour, adj_eye, table):
    """adj_value[:, e]; and, if wanted: adj_colour of the own colour, adj_eye, and the table's row of this run.

    wants: (texture, eye, table) as 0 or 1.
    """
    colour, by_u, by_v = own_colour(e, look, value)
    adj = row3(adj_rgb, 0, e)
    adj_own = adj
    d = 0
    if look[0] > 0:
        d = 6
        position, n, view = stance(e, value, light)
        highlights = look[0] == 2
        diffuse, specular = light_sum(n[0], view[0], position, light[3], light[4], light[5], light[6], highlights)
        adj_diffuse = had3(adj, colour)
        adj_n, adj_view, adj_position = light_sum_adjoint(
            n[0], view[0], position, light[3], light[4], light[5], light[6], highlights, adj_diffuse, adj
        )
        adj_towards = unit3_adjoint(view[0], view[1], view[2], adj_view)
        set_row3(adj_value, 0, e, unit3_adjoint(n[0], n[1], n[2], adj_n))
        set_row3(adj_value, 3, e, sub3(adj_position, adj_towards))
        if wants[1]:
            set_row3(adj_eye, 0, e, adj_towards)
        if wants[2]:
            light_row(e, n[0], view[0], position, light, highlights, adj_diffuse, adj, table)
        adj_own = had3(adj, add3(diffuse, ambient_of(light)))
    if look[1]:
        adj_value[d, e], adj_value[d + 1, e] = dot3(by_u, adj_own), dot3(by_v, adj_own)
        if wants[0]:
            set_row3(adj_colour, 0, e, adj_own)
    else:
        set_row3(adj_value, d, e, adj_own)


@device
def total3(table, i, d, v):
    """Three columns from d on of row i: sums over the run."""
    table[i, d], table[i, d + 1], table[i, d + 2] = total(v[0]), total(v[1]), total(v[2])


@device
def light_row(e, n, view, position, light, highlights, adj_diffuse, adj_specular, table):
    """The table's row of run e."""
    kinds, lights, harmonics, shininess = light[3], light[4], light[5], light[6]
    i = first_of(e) // width_of(e)
    total3(table, i, AMBIENT, adj_diffuse)
    table[i, SHININESS] = table.dtype.type(0)
    for k in range(kinds.shape[0]):
        place, diffuse, specular, shine = light_row_adjoint(
            k, n, view, position, kinds, lights, shininess, highlights, adj_diffuse, adj_specular
        )
        total3(table, i, LIGHTS + 9 * k, place)
        total3(table, i, LIGHTS + 9 * k + 3, diffuse)
        total3(table, i, LIGHTS + 9 * k + 6, specular)
        table[i, SHININESS] += total(shine)
    first = LIGHTS + 9 * kinds.shape[0]
    for k in range(harmonics.shape[0]):
        y = harmonic(k, n, harmonics)
        total3(table, i, first + 3 * k, (adj_diffuse[0] * y, adj_diffuse[1] * y, adj_diffuse[2] * y))


@device
def sum_column(d, table, sums):
    """sums[d]: the column's entries, from the first to the last."""
    s = table.dtype.type(0)
    for i in range(table.shape[0]):
        s += table[i, d]
    sums[d] = s


@device
def sum_eye(t, frame_start, first, adj_eye, sums):
    """sums[t]: what the pixels of frame t pass to the eye."""
    zero = adj_eye.dtype.type(0)
    x, y, z = zero, zero, zero
    for k in range(first[frame_start[t]], first[frame_start[t + 1]]):
        x, y, z = x + adj_eye[0, k], y + adj_eye[1, k], z + adj_eye[2, k]
    sums[t, 0], sums[t, 1], sums[t, 2] = x, y, z


@device
def name_eyes(t, frame_start, first, eye_row):
    """eye_row[k] = t for the pixels of frame t."""
    for k in range(first[frame_start[t]], first[frame_start[t + 1]]):
        eye_row[k] = t


@device
def scatter_texture(copy, copies, d, corners, bilinear, value, adj_colour, adj_image):
    """adj_image[copy]: what the copy-th part of the pixels passes to the texture; value[d], value[d + 1]: u and v."""
    for i in range(adj_image.shape[1]):
        for j in range(adj_image.shape[2]):
            for c in range(3):
                adj_image[copy, i, j, c] = adj_image.dtype.type(0)
    pixels = adj_colour.shape[1]
    for k in range(pixels * copy // copies, pixels * (copy + 1) // copies):
        adj = (adj_colour[0, k], adj_colour[1, k], adj_colour[2, k])
        sample_scatter(value[d, k], value[d + 1, k], (corners, bilinear), adj, copy, adj_image)


@device
def sum_copies(i, copies, adj_image):
    """Row i of the first copy: the sum over all copies."""
    for copy in range(1, copies):
        for j in range(adj_image.shape[2]):
            for c in range(3):
                adj_image[0, i, j, c] += adj_image[copy, i, j, c]
