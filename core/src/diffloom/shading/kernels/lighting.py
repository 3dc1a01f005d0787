"""Light on a run of surface points, and the adjoint: the kernels' twin of diffloom.shading.lights.

kinds: (lights,) int32, POINT or DIRECTIONAL. lights: (lights, 9) position [m] or direction, diffuse rgb, specular rgb,
the material's factors multiplied in. harmonics: (9, 3) coefficients, or (0, 3) for none. shininess: (1,).
"""

from __future__ import annotations

from diffloom.kernels import add3, device, dot3, ld3, length3, maximum, mul3, sub3, where
from diffloom.shading.kernels.harmonics import irradiance, irradiance_adjoint
from diffloom.shading.kernels.powers import expv, logv

POINT, DIRECTIONAL = 0, 1
#: Vectors shorter than this are left short instead of being scaled to one.
SHORTEST = 1e-6
#: Below this a highlight is nothing, and its logarithm need not be taken.
DARKEST = 1e-30


@device
def unit3(v, like):
    """v scaled to length one, the scale, and 1 (0 where v is too short to turn)."""
    R = like.dtype.type
    length = length3(v)
    scale = R(1.0) / maximum(length, R(SHORTEST))
    return mul3(v, scale), scale, where(length > R(SHORTEST), R(1.0), R(0.0))


@device
def unit3_adjoint(u, scale, free, adj):
    """Cotangent of v for u = unit3(v)."""
    return mul3(sub3(adj, mul3(u, dot3(u, adj) * free)), scale)


@device
def towards(kind, row, lights, position):
    """From the surface to light ``row``."""
    place = ld3(lights, row)
    if kind == POINT:
        return sub3(place, position)
    # A direction is the same everywhere; the zero makes it lanes.
    return sub3(place, sub3(position, position))


@device
def highlight(n, l, view, cosine, shininess, lights):
    """max(v.r, 0)^shininess with r = 2 (n.l) n - l, and v.r; both as if 1 where there is none."""
    R = lights.dtype.type
    aligned = R(2.0) * cosine * dot3(view, n) - dot3(view, l)
    lit = (aligned > R(DARKEST)) & (cosine > R(0.0))
    aligned = where(lit, aligned, R(1.0))
    return where(lit, expv(shininess[0] * logv(aligned)), R(0.0)), aligned


@device
def light_sum(n, view, position, kinds, lights, harmonics, shininess, highlights):
    """Diffuse and specular light on points with unit normal n, seen from the unit direction view."""
    R = lights.dtype.type
    diffuse = irradiance(n, harmonics)
    specular = mul3(n, R(0.0))
    for k in range(kinds.shape[0]):
        l, scale, free = unit3(towards(kinds[k], k, lights, position), lights)
        cosine = dot3(n, l)
        lit = maximum(cosine, R(0.0))
        diffuse = add3(diffuse, (lit * lights[k, 3], lit * lights[k, 4], lit * lights[k, 5]))
        if highlights:
            peak, aligned = highlight(n, l, view, cosine, shininess, lights)
            specular = add3(specular, (peak * lights[k, 6], peak * lights[k, 7], peak * lights[k, 8]))
    return diffuse, specular


@device
def light_sum_adjoint(
    n, view, position, kinds, lights, harmonics, shininess, highlights, adj_diffuse, adj_specular
):
    """Cotangents of n, view and position for light_sum."""
    diffuse, specular, adj_n, adj_view, adj_position = light_sum_both(
        n, view, position, kinds, lights, harmonics, shininess, highlights, adj_diffuse, adj_specular
    )
    return adj_n, adj_view, adj_position


@device
def light_sum_both(
    n, view, position, kinds, lights, harmonics, shininess, highlights, adj_diffuse, adj_specular
):
    """What light_sum gives and what light_sum_adjoint gives: directions and highlights are found once for both."""
    R = lights.dtype.type
    zero = R(0.0)
    diffuse, specular = irradiance(n, harmonics), mul3(n, zero)
    adj_n = irradiance_adjoint(n, harmonics, adj_diffuse)
    adj_view, adj_position = mul3(n, zero), mul3(n, zero)
    for k in range(kinds.shape[0]):
        l, scale, free = unit3(towards(kinds[k], k, lights, position), lights)
        cosine = dot3(n, l)
        lit = maximum(cosine, zero)
        diffuse = add3(diffuse, (lit * lights[k, 3], lit * lights[k, 4], lit * lights[k, 5]))
        adj_cosine = adj_diffuse[0] * lights[k, 3] + adj_diffuse[1] * lights[k, 4] + adj_diffuse[2] * lights[k, 5]
        adj_cosine = where(cosine > zero, adj_cosine, zero)
        adj_l = mul3(n, zero)
        if highlights:
            peak, aligned = highlight(n, l, view, cosine, shininess, lights)
            specular = add3(specular, (peak * lights[k, 6], peak * lights[k, 7], peak * lights[k, 8]))
            adj_peak = adj_specular[0] * lights[k, 6] + adj_specular[1] * lights[k, 7] + adj_specular[2] * lights[k, 8]
            adj_aligned = adj_peak * shininess[0] * peak / aligned
            twice = R(2.0) * adj_aligned
            adj_view = add3(adj_view, sub3(mul3(n, twice * cosine), mul3(l, adj_aligned)))
            adj_n = add3(adj_n, mul3(view, twice * cosine))
            adj_l = mul3(view, -adj_aligned)
            adj_cosine = adj_cosine + twice * dot3(view, n)
        adj_n = add3(adj_n, mul3(l, adj_cosine))
        adj_l = add3(adj_l, mul3(n, adj_cosine))
        if kinds[k] == POINT:
            adj_position = sub3(adj_position, unit3_adjoint(l, scale, free, adj_l))
    return diffuse, specular, adj_n, adj_view, adj_position


@device
def light_row_adjoint(k, n, view, position, kinds, lights, shininess, highlights, adj_diffuse, adj_specular):
    """Cotangents of row k of lights (place, diffuse, specular: three vec3) and its part of the shininess's."""
    R = lights.dtype.type
    zero = R(0.0)
    l, scale, free = unit3(towards(kinds[k], k, lights, position), lights)
    cosine = dot3(n, l)
    lit = maximum(cosine, zero)
    adj_cosine = adj_diffuse[0] * lights[k, 3] + adj_diffuse[1] * lights[k, 4] + adj_diffuse[2] * lights[k, 5]
    adj_cosine = where(cosine > zero, adj_cosine, zero)
    adj_l = mul3(n, zero)
    adj_colour, adj_shininess = mul3(n, zero), zero * cosine
    if highlights:
        peak, aligned = highlight(n, l, view, cosine, shininess, lights)
        adj_peak = adj_specular[0] * lights[k, 6] + adj_specular[1] * lights[k, 7] + adj_specular[2] * lights[k, 8]
        adj_aligned = adj_peak * shininess[0] * peak / aligned
        adj_l = mul3(view, -adj_aligned)
        adj_cosine = adj_cosine + R(2.0) * adj_aligned * dot3(view, n)
        adj_colour = mul3(adj_specular, peak)
        adj_shininess = adj_peak * peak * logv(aligned)
    adj_l = add3(adj_l, mul3(n, adj_cosine))
    return unit3_adjoint(l, scale, free, adj_l), mul3(adj_diffuse, lit), adj_colour, adj_shininess
