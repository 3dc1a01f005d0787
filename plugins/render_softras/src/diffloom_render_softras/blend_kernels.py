"""Colour and depth: a mean over the faces in reach, those in front weighing more.

With p the probability of a face, z its depth and z_0 the least depth of all, the weight is w = p exp((z_0 - z) sharp),
sharp = 1 / (gamma (far - near)); the background weighs delta = max(exp(-m / gamma), 1e-10), m = (far - z_0) / (far -
near). Faces so far behind that their weight is lost beside the others are passed over (cut).
"""

from __future__ import annotations

from diffloom.kernels import anyl, device, maximum, minimum, where
from diffloom.shading.kernels.powers import expv
from diffloom.shading.kernels.runs import first_of, width_of
from diffloom.shading.kernels.tiles import TILE

from .cover import within
from .fragments import edges, is_inside, nearest_edge, weights
from .pixels import misses, tile_corner
from .surface import lit_colour, own_colour, point_rows, value_rows
from .triangles import NEAREST

#: The least weight of the background.
FLOOR = 1e-10


@device
def background_weight(least, fade, record):
    """delta, and whether it is held at its floor while the least depth is not beyond far."""
    R = record.dtype.type
    m = maximum((fade[2] - least) / fade[3], R(FLOOR))
    free = expv((R(FLOOR) - m) / fade[4])
    return maximum(free, R(FLOOR)), (free < R(FLOOR)) & (m > R(FLOOR))


@device
def reference_depth(least, fade, record):
    """z_0: the least depth, but no more than where m reaches its floor."""
    return minimum(least, fade[2] - record.dtype.type(FLOOR) * fade[3])


@device
def blend(e, wants, mesh, shape, lists, view, soft, fade, limit, look, light, background, found, pictures):
    """planes[frame, 0:4] = colour and alpha, depth and weight (the sum of all weights) for a run of pixels.

    wants: (colour, limited).
    """
    record, box, swapped = shape
    planes, depth, weight = pictures
    R = record.dtype.type
    s = first_of(e)
    tile = lists[0][s // (TILE * TILE)]
    frame, top, left = tile_corner(tile, view)
    row, column = top + s % (TILE * TILE) // TILE, left + s % TILE
    here = e + (column - s)
    x, y = view[2][here], view[3][row]
    last = column + width_of(e) - 1
    one, zero = R(1.0), R(0.0)
    least = found[1][frame, row, here]
    start = reference_depth(least, fade, record)
    heavy, pinned = background_weight(least, fade, record)
    r, g, b = heavy * background[0], heavy * background[1], heavy * background[2]
    far, mass = heavy * fade[2], heavy
    for k in range(lists[1][tile], lists[1][tile + 1]):
        t = lists[2][k]
        if misses(t, row, column, last, box) or not anyl((start - record[t, NEAREST]) * fade[0] > fade[1]):
            continue
        p, q, z, seen = fragment(t, frame, row, here, x, y, wants[1], mesh, record, soft, limit)
        behind = (start - z) * fade[0]
        seen = seen & (behind > fade[1])
        if anyl(seen):
            w = where(seen, p * expv(behind), zero)
            mass = mass + w
            far = far + w * z
            if wants[0]:
                own, by_u, by_v, value = own_colour(q, value_rows(t, shape, look), look)
                c = lit_colour(own, q, point_rows(t, shape, mesh), frame, light)
                r, g, b = r + w * c[0], g + w * c[1], b + w * c[2]
    share = one / mass
    planes[frame, 0, row, here], planes[frame, 1, row, here] = r * share, g * share
    planes[frame, 2, row, here], planes[frame, 3, row, here] = b * share, one - found[0][frame, row, here]
    depth[frame, row, here], weight[frame, row, here] = far * share, mass


@device
def fragment(t, frame, row, here, x, y, limited, mesh, record, soft, limit):
    """Probability, weights, depth of triangle t at a run of pixels, and where it counts."""
    R = record.dtype.type
    a, b, c = edges(record, t, x, y)
    d, second, third = nearest_edge(a, b, c)
    inside = is_inside(a, b, c, record)
    near = inside | (d < soft[1])
    q, scale, z = weights(record, t, a, b, c)
    if limited:
        near = near & within(z, R(t - mesh[3][frame]), limit[0][frame, row, here], limit[1][frame, row, here])
    return R(1.0) / (R(1.0) + expv(where(inside, -d, d) * soft[0])), q, z, near
