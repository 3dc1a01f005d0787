"""Colour and depth: a mean over the faces in reach, those in front weighing more.

With p the probability of a face, z its depth and z_0 the least depth of all, the weight is w = p exp((z_0 - z) sharp),
sharp = 1 / (gamma (far - near)); the background weighs delta = max(exp(-m / gamma), 1e-10), m = (far - z_0) / (far -
near). Faces so far behind that their weight is lost beside the others are passed over (cut).
"""

from __future__ import annotations

from diffloom_kernels import anyl, device, maximum, minimum, where
from diffloom_raster.bin_kernels import TILE, misses, tile_corner
from diffloom_raster.lane_kernels import first_of, width_of
from diffloom_raster.power_kernels import expv

from .cover_kernels import within
from .fragment_kernels import edges, is_inside, nearest_edge, weights
from .surface_kernels import own_colour, point_rows, shaded, value_rows
from .triangle_kernels import NEAREST

#: The least weight of the background.
FLOOR = 1e-10


@device
def background_weight(least, fade, outline):
    """delta, and whether it is held at its floor while the least depth is not beyond far."""
    R = outline.dtype.type
    m = maximum((fade.far - least) / fade.span, R(FLOOR))
    free = expv((R(FLOOR) - m) / fade.gamma)
    return maximum(free, R(FLOOR)), (free < R(FLOOR)) & (m > R(FLOOR))


@device
def reference_depth(least, fade, outline):
    """z_0: the least depth, but no more than where m reaches its floor."""
    return minimum(least, fade.far - outline.dtype.type(FLOOR) * fade.span)


@device
def blend(e, wants, grid, mesh, fragments, blur, fade, surfacing, lighting, background, coverage, images):
    """planes[frame, 0:4] = colour and alpha, depth and weight (the sum of all weights) for a run of pixels."""
    triangles, lists, planes = fragments.triangles, fragments.lists, images.planes
    outline, box = triangles.outline, triangles.box
    R = outline.dtype.type
    s = first_of(e)
    tile = lists.active[s // (TILE * TILE)]
    frame, top, left = tile_corner(tile, grid)
    row, column = top + s % (TILE * TILE) // TILE, left + s % TILE
    here = e + (column - s)
    x, y = grid.columns[here], grid.rows[row]
    last = column + width_of(e) - 1
    one, zero = R(1.0), R(0.0)
    least = coverage.nearest[frame, row, here]
    start = reference_depth(least, fade, outline)
    heavy, pinned = background_weight(least, fade, outline)
    r, g, b = heavy * background[0], heavy * background[1], heavy * background[2]
    far, mass = heavy * fade.far, heavy
    for k in range(lists.start[tile], lists.start[tile + 1]):
        t = lists.triangle[k]
        if misses(t, row, column, last, box) or not anyl((start - outline[t, NEAREST]) * fade.sharp > fade.cut):
            continue
        p, q, z, seen = fragment(t, frame, row, here, x, y, wants.limited, mesh, outline, blur, fragments.limit)
        behind = (start - z) * fade.sharp
        seen = seen & (behind > fade.cut)
        if anyl(seen):
            w = where(seen, p * expv(behind), zero)
            mass = mass + w
            far = far + w * z
            if wants.colour:
                rows = value_rows(t, frame, triangles.swapped, surfacing)
                own, by_u, by_v = own_colour(q, rows, frame, surfacing)
                c = shaded(t, own, q, point_rows(t, triangles.swapped, mesh), frame, lighting)
                r, g, b = r + w * c[0], g + w * c[1], b + w * c[2]
    share = one / mass
    planes[frame, 0, row, here], planes[frame, 1, row, here] = r * share, g * share
    planes[frame, 2, row, here], planes[frame, 3, row, here] = b * share, one - coverage.clear[frame, row, here]
    images.depth[frame, row, here], images.weight[frame, row, here] = far * share, mass


@device
def fragment(t, frame, row, here, x, y, limited, mesh, outline, blur, limit):
    """Probability, weights, depth of triangle t at a run of pixels, and where it counts."""
    R = outline.dtype.type
    a, b, c = edges(outline, t, x, y)
    d, second, third = nearest_edge(a, b, c)
    inside = is_inside(a, b, c, outline)
    near = inside | (d < blur.reach_squared)
    q, scale, z = weights(outline, t, a, b, c)
    if limited:
        near = near & within(z, limit.depth[frame, row, here])
    return R(1.0) / (R(1.0) + expv(where(inside, -d, d) * blur.sharpness)), q, z, near
