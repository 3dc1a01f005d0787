"""Normals of vertices, light on a run of surface points, and their adjoints, by the law of ``diffloom_raster.shade``.

The normal of vertex i is the sum over its faces of (b - a) x (c - a), scaled to length one; 0 where the sum is shorter
than SHORTEST_SUM. Frames of ``count`` vertices repeat the faces; corners: see records.Corners. lights: see
records.Lights; m: the number of the points' material among its rows.
"""

from __future__ import annotations

from diffloom_kernels import (
    add3,
    cross3,
    device,
    dot3,
    had3,
    launch,
    ld3,
    length3,
    maximum,
    mul3,
    st3,
    sub3,
    where,
)

from .lane_kernels import expv, logv, total

POINT = 0
"""Kind of a point light."""
DIRECTIONAL = 1
"""Kind of a directional light."""
#: Length below which a vector is not scaled to one.
SHORTEST = 1e-6
#: Cosine below which there is no highlight, so that no logarithm of 0 is taken.
DARKEST = 1e-30
#: Factors of the spherical harmonics.
Y0, Y1, Y2 = 0.28209479177387814, 0.4886025119029199, 1.0925484305920792
Y20, Y22 = 0.31539156525252005, 0.5462742152960396


@device
def harmonic(k, n, like):
    """Return the k-th of the nine real spherical harmonics of degree 0 to 2 at unit vectors n."""
    R = like.dtype.type
    x, y, z = n
    if k == 0:
        return x * R(0.0) + R(Y0)
    if k == 1:
        return R(Y1) * y
    if k == 2:
        return R(Y1) * z
    if k == 3:
        return R(Y1) * x
    if k == 4:
        return R(Y2) * x * y
    if k == 5:
        return R(Y2) * y * z
    if k == 6:
        return R(Y20) * (R(3.0) * z * z - R(1.0))
    if k == 7:
        return R(Y2) * x * z
    return R(Y22) * (x * x - y * y)


@device
def irradiance(m, n, harmonics):
    """Return light from all around on points with unit normal n; zero without harmonics."""
    total = mul3(n, harmonics.dtype.type(0.0))
    for k in range(harmonics.shape[1]):
        y = harmonic(k, n, harmonics)
        total = add3(total, (y * harmonics[m, k, 0], y * harmonics[m, k, 1], y * harmonics[m, k, 2]))
    return total


@device
def irradiance_adjoint(m, n, harmonics, adj):
    """Return the cotangent of n for irradiance."""
    R = harmonics.dtype.type
    x, y, z = n
    if harmonics.shape[1] == 0:
        return mul3(n, R(0.0))
    two = R(2.0)
    a1, a2 = harmonic_weight(m, 1, harmonics, adj), harmonic_weight(m, 2, harmonics, adj)
    a3, a4 = harmonic_weight(m, 3, harmonics, adj), harmonic_weight(m, 4, harmonics, adj)
    a5, a6 = harmonic_weight(m, 5, harmonics, adj), harmonic_weight(m, 6, harmonics, adj)
    a7, a8 = harmonic_weight(m, 7, harmonics, adj), harmonic_weight(m, 8, harmonics, adj)
    return (
        R(Y1) * a3 + R(Y2) * (a4 * y + a7 * z) + R(Y22) * two * a8 * x,
        R(Y1) * a1 + R(Y2) * (a4 * x + a5 * z) - R(Y22) * two * a8 * y,
        R(Y1) * a2 + R(Y2) * (a5 * y + a7 * x) + R(Y20) * R(6.0) * a6 * z,
    )


@device
def harmonic_weight(m, k, harmonics, adj):
    """Return the cotangent of the k-th harmonic."""
    return adj[0] * harmonics[m, k, 0] + adj[1] * harmonics[m, k, 1] + adj[2] * harmonics[m, k, 2]


@device
def unit3(v, like):
    """Return v scaled to length one, the scale, and 1 (0 where v is too short to turn)."""
    R = like.dtype.type
    length = length3(v)
    scale = R(1.0) / maximum(length, R(SHORTEST))
    return mul3(v, scale), scale, where(length > R(SHORTEST), R(1.0), R(0.0))


@device
def unit3_adjoint(u, scale, free, adj):
    """Return the cotangent of v for u = unit3(v): (adj - u (u . adj)) scale."""
    return mul3(sub3(adj, mul3(u, dot3(u, adj) * free)), scale)


@device
def towards(m, k, lights, position):
    """Return the vector from the surface to light k."""
    place = (lights.table[m, k, 0], lights.table[m, k, 1], lights.table[m, k, 2])
    if lights.kinds[k] == POINT:
        return sub3(place, position)
    # A direction is constant; adding a zero vector turns it into lanes.
    return sub3(place, sub3(position, position))


@device
def highlight(m, n, l, view, cosine, lights):
    """Return max(v.r, 0)^shininess with r = 2 (n.l) n - l, and v.r; where there is no highlight, 0 and 1."""
    R = lights.table.dtype.type
    aligned = R(2.0) * cosine * dot3(view, n) - dot3(view, l)
    lit = (aligned > R(DARKEST)) & (cosine > R(0.0))
    aligned = where(lit, aligned, R(1.0))
    return where(lit, expv(lights.shininess[m, 0] * logv(aligned)), R(0.0)), aligned


@device
def sum_light(m, n, view, position, lights, highlights):
    """Return diffuse and specular light on points with unit normal n, seen from the unit direction view."""
    table = lights.table
    R = table.dtype.type
    diffuse = irradiance(m, n, lights.harmonics)
    specular = mul3(n, R(0.0))
    for k in range(lights.kinds.shape[0]):
        l, scale, free = unit3(towards(m, k, lights, position), lights.table)
        cosine = dot3(n, l)
        lit = maximum(cosine, R(0.0))
        diffuse = add3(diffuse, (lit * table[m, k, 3], lit * table[m, k, 4], lit * table[m, k, 5]))
        if highlights:
            peak, aligned = highlight(m, n, l, view, cosine, lights)
            specular = add3(specular, (peak * table[m, k, 6], peak * table[m, k, 7], peak * table[m, k, 8]))
    return diffuse, specular


@device
def sum_light_with_adjoint(m, n, view, position, lights, highlights, adj_diffuse, adj_specular):
    """Return sum_light and the cotangents of n, view and position; directions and highlights are computed once for
    both.
    """
    table = lights.table
    R = table.dtype.type
    zero = R(0.0)
    diffuse, specular = irradiance(m, n, lights.harmonics), mul3(n, zero)
    adj_n = irradiance_adjoint(m, n, lights.harmonics, adj_diffuse)
    adj_view, adj_position = mul3(n, zero), mul3(n, zero)
    for k in range(lights.kinds.shape[0]):
        l, scale, free = unit3(towards(m, k, lights, position), lights.table)
        cosine = dot3(n, l)
        lit = maximum(cosine, zero)
        diffuse = add3(diffuse, (lit * table[m, k, 3], lit * table[m, k, 4], lit * table[m, k, 5]))
        adj_cosine = adj_diffuse[0] * table[m, k, 3] + adj_diffuse[1] * table[m, k, 4] + adj_diffuse[2] * table[m, k, 5]
        adj_cosine = where(cosine > zero, adj_cosine, zero)
        adj_l = mul3(n, zero)
        if highlights:
            peak, aligned = highlight(m, n, l, view, cosine, lights)
            specular = add3(specular, (peak * table[m, k, 6], peak * table[m, k, 7], peak * table[m, k, 8]))
            gloss = table[m, k, 6], table[m, k, 7], table[m, k, 8]
            adj_peak = dot3(adj_specular, gloss)
            adj_aligned = adj_peak * lights.shininess[m, 0] * peak / aligned
            twice = R(2.0) * adj_aligned
            adj_view = add3(adj_view, sub3(mul3(n, twice * cosine), mul3(l, adj_aligned)))
            adj_n = add3(adj_n, mul3(view, twice * cosine))
            adj_l = mul3(view, -adj_aligned)
            adj_cosine = adj_cosine + twice * dot3(view, n)
        adj_n = add3(adj_n, mul3(l, adj_cosine))
        adj_l = add3(adj_l, mul3(n, adj_cosine))
        if lights.kinds[k] == POINT:
            adj_position = sub3(adj_position, unit3_adjoint(l, scale, free, adj_l))
    return diffuse, specular, adj_n, adj_view, adj_position


@device
def lit_colour(m, colour, n, view, position, lights, highlights):
    """Return the colour under the lights: own colour x (ambient + diffuse) + specular."""
    diffuse, specular = sum_light(m, n, view, position, lights, highlights)
    return add3(had3(colour, add3(diffuse, load_ambient(m, lights))), specular)


@device
def lit_colour_adjoint(m, colour, n, view, position, lights, highlights, adj):
    """Return lit_colour, and cotangents of the own colour, of the position, of the normal and of the eye.

    n, view: results of unit3 for the normal and for the direction to the eye, both of any length.
    """
    diffuse, specular, adj_n, adj_view, adj_position = sum_light_with_adjoint(
        m, n[0], view[0], position, lights, highlights, had3(adj, colour), adj
    )
    factor = add3(diffuse, load_ambient(m, lights))
    adj_normal = unit3_adjoint(n[0], n[1], n[2], adj_n)
    adj_eye = unit3_adjoint(view[0], view[1], view[2], adj_view)
    lit = add3(had3(colour, factor), specular)
    return lit, had3(adj, factor), sub3(adj_position, adj_eye), adj_normal, adj_eye


@device
def load_ambient(m, lights):
    """Return the ambient light on material m."""
    return lights.ambient[m, 0], lights.ambient[m, 1], lights.ambient[m, 2]


@device
def light_row_adjoint(m, k, n, view, position, lights, highlights, adj_diffuse, adj_specular):
    """Return cotangents of row k of lights (place, diffuse, specular: three vec3) and its part of the shininess's."""
    table = lights.table
    R = table.dtype.type
    zero = R(0.0)
    l, scale, free = unit3(towards(m, k, lights, position), lights.table)
    cosine = dot3(n, l)
    lit = maximum(cosine, zero)
    adj_cosine = adj_diffuse[0] * table[m, k, 3] + adj_diffuse[1] * table[m, k, 4] + adj_diffuse[2] * table[m, k, 5]
    adj_cosine = where(cosine > zero, adj_cosine, zero)
    adj_l = mul3(n, zero)
    adj_colour, adj_shininess = mul3(n, zero), zero * cosine
    if highlights:
        peak, aligned = highlight(m, n, l, view, cosine, lights)
        gloss = table[m, k, 6], table[m, k, 7], table[m, k, 8]
        adj_peak = dot3(adj_specular, gloss)
        adj_aligned = adj_peak * lights.shininess[m, 0] * peak / aligned
        adj_l = mul3(view, -adj_aligned)
        adj_cosine = adj_cosine + R(2.0) * adj_aligned * dot3(view, n)
        adj_colour = mul3(adj_specular, peak)
        adj_shininess = adj_peak * peak * logv(aligned)
    adj_l = add3(adj_l, mul3(n, adj_cosine))
    return unit3_adjoint(l, scale, free, adj_l), mul3(adj_diffuse, lit), adj_colour, adj_shininess


# The table of cotangents of lights has columns for ambient, shininess, eye, then nine for each light, then the
# harmonics; and so again for each further material, whose columns for the eye stay empty.
AMBIENT = 0
"""First column of the ambient light."""
SHININESS = 3
"""Column of the shininess."""
EYE = 4
"""First column of the eye."""
LIGHTS = 7
"""First column of the lights."""


@device
def add_lane_sums3(table, i, column, v):
    """Add sums over the lanes of v to table[i, column:column + 3]."""
    table[i, column] += total(v[0])
    table[i, column + 1] += total(v[1])
    table[i, column + 2] += total(v[2])


@device
def light_table_adjoint(m, i, n, view, position, lights, highlights, adj_diffuse, adj_specular, table):
    """Add a run of points to row i of the table, except for its columns of the eye."""
    count, harmonics = lights.kinds.shape[0], lights.harmonics.shape[1]
    at = m * (LIGHTS + 9 * count + 3 * harmonics)
    add_lane_sums3(table, i, at + AMBIENT, adj_diffuse)
    for k in range(count):
        place, diffuse, specular, shine = light_row_adjoint(
            m, k, n, view, position, lights, highlights, adj_diffuse, adj_specular
        )
        add_lane_sums3(table, i, at + LIGHTS + 9 * k, place)
        add_lane_sums3(table, i, at + LIGHTS + 9 * k + 3, diffuse)
        add_lane_sums3(table, i, at + LIGHTS + 9 * k + 6, specular)
        table[i, at + SHININESS] += total(shine)
    first = at + LIGHTS + 9 * count
    for k in range(harmonics):
        y = harmonic(k, n, lights.harmonics)
        add_lane_sums3(table, i, first + 3 * k, (adj_diffuse[0] * y, adj_diffuse[1] * y, adj_diffuse[2] * y))


#: Length of a sum of face normals [m^2] below which it has no direction.
SHORTEST_SUM = 1e-18


@device
def face_normal(f, shift, faces, vertices):
    """Return (b - a) x (c - a) of face f in the frame that starts at row ``shift``."""
    a = ld3(vertices, faces[f, 0] + shift)
    return cross3(sub3(ld3(vertices, faces[f, 1] + shift), a), sub3(ld3(vertices, faces[f, 2] + shift), a))


@device
def normal_sum(i, count, corners, vertices):
    """Return the sum of face normals around vertex i."""
    R = vertices.dtype.type
    total = (R(0.0), R(0.0), R(0.0))
    for k in range(corners.start[i % count], corners.start[i % count + 1]):
        total = add3(total, face_normal(corners.corner[k] // 3, i // count * count, corners.faces, vertices))
    return total


@device
def vertex_normal(i, count, corners, vertices, normals):
    """Write the unit normal of vertex i to normals[i]."""
    R = vertices.dtype.type
    total = normal_sum(i, count, corners, vertices)
    length = length3(total)
    scale = R(1.0) / length if length > R(SHORTEST_SUM) else R(0.0)
    st3(normals, i, mul3(total, scale))


@device
def normal_sum_adjoint(i, count, corners, vertices, adj_normals, adj_sums):
    """Write the cotangent of the sum, (adj - n (n . adj)) / length, to adj_sums[i]."""
    R = vertices.dtype.type
    total = normal_sum(i, count, corners, vertices)
    length = length3(total)
    scale = R(1.0) / length if length > R(SHORTEST_SUM) else R(0.0)
    n, adj = mul3(total, scale), ld3(adj_normals, i)
    st3(adj_sums, i, mul3(sub3(adj, mul3(n, dot3(n, adj))), scale))


@device
def vertex_normal_adjoint(i, count, corners, vertices, adj_sums, adj_vertices):
    """Write the cotangent of vertex i: corner a of a face abc with the cotangent s of its normal gets s x (c - b)."""
    R = vertices.dtype.type
    shift = i // count * count
    total = (R(0.0), R(0.0), R(0.0))
    for k in range(corners.start[i % count], corners.start[i % count + 1]):
        f, c, faces = corners.corner[k] // 3, corners.corner[k] % 3, corners.faces
        p, q, r = faces[f, 0] + shift, faces[f, 1] + shift, faces[f, 2] + shift
        s = add3(ld3(adj_sums, p), add3(ld3(adj_sums, q), ld3(adj_sums, r)))
        if c == 0:
            p, q = q, r
        elif c == 1:
            p, q = r, p
        # p and q are the next two corners after corner c.
        total = add3(total, cross3(s, sub3(ld3(vertices, q), ld3(vertices, p))))
    st3(adj_vertices, i, total)


def find_normals(count, corners, vertices, normals):
    """Pipeline: compute the normals of vertices."""
    launch(vertices.shape[0], vertex_normal, count, corners, vertices, normals)


def find_normals_adjoint(count, corners, vertices, adj_normals, adj_sums, adj_vertices):
    """Pipeline: compute the cotangent of the vertices."""
    launch(vertices.shape[0], normal_sum_adjoint, count, corners, vertices, adj_normals, adj_sums)
    launch(vertices.shape[0], vertex_normal_adjoint, count, corners, vertices, adj_sums, adj_vertices)
