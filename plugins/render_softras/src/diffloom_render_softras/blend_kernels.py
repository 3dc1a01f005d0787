"""Colour and depth: a mean over the faces in reach, weighted by depth, and its adjoint (Liu et al. 2019, SoftRas).

With p the probability of a face, z its depth and z_0 the least depth of all, the weight is w = p exp((z_0 - z) sharp),
sharp = 1 / (gamma (far - near)); the background weighs delta = max(exp(-m / gamma), 1e-10), m = (far - z_0) / (far -
near). Faces so far behind that rounding loses their weight are skipped (cut).

With g the cotangent of the colour C (and of the depth) and S the sum of all weights, a fragment's weight has the
cotangent g.(c - C) / S and its colour g w / S. The least depth acts on C only where the background's weight is held at
its floor delta: its cotangent is then -sharp delta g.(background - C) / S, and goes to the nearest face. Pixels scatter
the cotangent of a texture into copies of it, each copy filled in a fixed order.
"""

from __future__ import annotations

from diffloom_kernels import add3, any_lane, device, had3, maximum, minimum, mul3, where
from diffloom_raster.kernels import (
    TILE,
    expv,
    extract_lane,
    first_index,
    interleave,
    is_outside_box,
    lit_factor,
    locate_pixels,
    locate_stripe,
    mix_two_columns,
    own_colour,
    own_colour_adjoint,
    run_width,
    sample_texels_adjoint,
    shade_fragment,
    shade_fragment_adjoint,
    shade_table_adjoint,
    total,
)

from .coverage_kernels import is_within
from .fragment_kernels import (
    NEAREST,
    distance_adjoint,
    edges_in_reach,
    outline_points,
    outline_values,
    weights,
    weights_adjoint,
)

#: Least weight of the background.
FLOOR = 1e-10


@device
def background_weight(least, fade, outline):
    """Return delta, and True where it is held at its floor while the least depth is not beyond far."""
    R = outline.dtype.type
    m = maximum((fade.far - least) / fade.span, R(FLOOR))
    free = expv((R(FLOOR) - m) / fade.gamma)
    return maximum(free, R(FLOOR)), (free < R(FLOOR)) & (m > R(FLOOR))


@device
def reference_depth(least, fade, outline):
    """Return z_0: the least depth, but no more than where m reaches its floor."""
    return minimum(least, fade.far - outline.dtype.type(FLOOR) * fade.span)


@device
def blend(e, wants, grid, mesh, fragments, blur, fade, surfacing, lighting, background, coverage, images):
    """Write colour and alpha to planes[frame, 0:4], depth, and weight (the sum of all weights) for a run of pixels."""
    triangles, lists, planes = fragments.triangles, fragments.lists, images.planes
    outline, box = triangles.outline, triangles.box
    R = outline.dtype.type
    tile, frame, row, here = locate_pixels(e, lists, grid)
    x, y = grid.columns[here], grid.rows[row]
    column, last = first_index(here), first_index(here) + run_width(e) - 1
    one, zero = R(1.0), R(0.0)
    least = coverage.nearest[frame, row, here]
    start = reference_depth(least, fade, outline)
    heavy, pinned = background_weight(least, fade, outline)
    r, g, b = heavy * background[0], heavy * background[1], heavy * background[2]
    far, mass = heavy * fade.far, heavy
    for k in range(lists.start[tile], lists.start[tile + 1]):
        t = lists.triangle[k]
        if is_outside_box(t, row, column, last, box) or not any_lane(
            (start - outline[t, NEAREST]) * fade.sharp > fade.cut
        ):
            continue
        p, q, z, seen = fragment(t, frame, row, here, x, y, wants.limited, mesh, outline, blur, fragments.limit)
        behind = (start - z) * fade.sharp
        seen = seen & (behind > fade.cut)
        if any_lane(seen):
            w = where(seen, p * expv(behind), zero)
            mass = mass + w
            far = far + w * z
            if wants.colour:
                rows = outline_values(t, frame, triangles.swapped, surfacing)
                own, by_u, by_v = own_colour(q, rows, frame, surfacing)
                c = shade_fragment(t, own, q, outline_points(t, triangles.swapped, mesh), frame, lighting)
                r, g, b = r + w * c[0], g + w * c[1], b + w * c[2]
    share = one / mass
    planes[frame, 0, row, here], planes[frame, 1, row, here] = r * share, g * share
    planes[frame, 2, row, here], planes[frame, 3, row, here] = b * share, one - coverage.clear[frame, row, here]
    images.depth[frame, row, here], images.weight[frame, row, here] = far * share, mass


@device
def fragment(t, frame, row, here, x, y, limited, mesh, outline, blur, limit):
    """Return probability, weights and depth of triangle t at a run of pixels, and True where it counts."""
    R = outline.dtype.type
    a, b, c, d, second, third, inside, near = edges_in_reach(outline, t, x, y, blur)
    q, scale, z = weights(outline, t, a, b, c)
    if limited:
        near = near & is_within(z, limit.depth[frame, row, here])
    return R(1.0) / (R(1.0) + expv(where(inside, -d, d) * blur.sharpness)), q, z, near


@device
def load_saved(frame, row, here, images):
    """Return colour, depth and 1 / S of a run of pixels."""
    planes = images.planes
    colour = planes[frame, 0, row, here], planes[frame, 1, row, here], planes[frame, 2, row, here]
    return colour, images.depth[frame, row, here], planes.dtype.type(1.0) / images.weight[frame, row, here]


@device
def load_cotangents(frame, row, here, adj_planes, adj_depth):
    """Return the cotangents of colour, alpha and depth of a run of pixels."""
    g = adj_planes[frame, 0, row, here], adj_planes[frame, 1, row, here], adj_planes[frame, 2, row, here]
    return g, adj_planes[frame, 3, row, here], adj_depth[frame, row, here]


@device
def add_weighted(sums, q, adj):
    """Return nine sums plus the cotangents of three rows mixed with q."""
    return (
        sums[0] + q[0] * adj[0], sums[1] + q[0] * adj[1], sums[2] + q[0] * adj[2],
        sums[3] + q[1] * adj[0], sums[4] + q[1] * adj[1], sums[5] + q[1] * adj[2],
        sums[6] + q[2] * adj[0], sums[7] + q[2] * adj[1], sums[8] + q[2] * adj[2],
    )  # fmt: skip


@device
def add9(a, b):
    """Return a + b."""
    return (
        a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5],
        a[6] + b[6], a[7] + b[7], a[8] + b[8],
    )  # fmt: skip


@device
def store9(slots, i, part, sums):
    """Write sums over the lanes to slots[i, part]."""
    slots[i, part, 0], slots[i, part, 1], slots[i, part, 2] = total(sums[0]), total(sums[1]), total(sums[2])
    slots[i, part, 3], slots[i, part, 4], slots[i, part, 5] = total(sums[3]), total(sums[4]), total(sums[5])
    slots[i, part, 6], slots[i, part, 7], slots[i, part, 8] = total(sums[6]), total(sums[7]), total(sums[8])


@device
def weight_adjoint(
    t, frame, row, here, p, fall, z, weighs, colour, mesh, fade, background, coverage, images, g, gd
):
    """Return the cotangents of a fragment's p and z from those of a run of pixels; its weight is p fall."""
    outline = images.depth
    R = outline.dtype.type
    zero = R(0.0)
    mean, depth, share = load_saved(frame, row, here, images)
    gap = g[0] * (colour[0] - mean[0]) + g[1] * (colour[1] - mean[1]) + g[2] * (colour[2] - mean[2])
    gap = (gap + gd * (z - depth)) * share
    adj_z = gd * p * fall * share - gap * p * fall * fade.sharp
    delta, pinned = background_weight(coverage.nearest[frame, row, here], fade, outline)
    rest = g[0] * (background[0] - mean[0]) + g[1] * (background[1] - mean[1]) + g[2] * (background[2] - mean[2])
    rest = -(rest + gd * (fade.far - depth)) * share * delta * fade.sharp
    is_front = weighs & pinned & (coverage.front[frame, row, here] == R(t - mesh.frame_start[frame]))
    return gap * fall, adj_z + where(is_front, rest, zero)


@device
def blend_adjoint(
    e, wants, grid, mesh, fragments, blur, fade, surfacing, lighting, background, perspective, coverage, images,
    adjoint, slots,
):
    """Write cotangents from a stripe e of columns of one entry's tile.

    slots[entry stripe]: those of the triangle's corners, nine each: x, y, depth; values; normals; positions.
    """
    triangles, lists, limit = fragments.triangles, fragments.lists, fragments.limit
    outline, box = triangles.outline, triangles.box
    R = outline.dtype.type
    s = first_index(e)
    n = interleave(s // TILE, lists.triangle.shape[0])
    if n >= lists.triangle.shape[0]:
        return
    i = (n * TILE + s % TILE) // run_width(e)
    t = lists.triangle[n]
    frame, top, here = locate_stripe(e, lists.tile[n], grid)
    x = grid.columns[here]
    zero, one, two = R(0.0), R(1.0), R(2.0)
    o = x * zero
    places = values = normals = positions = (o, o, o, o, o, o, o, o, o)
    value_at = outline_values(t, frame, triangles.swapped, surfacing)
    point_at = outline_points(t, triangles.swapped, mesh)
    for row in range(maximum(top, box[t, 1]), minimum(top + TILE, box[t, 3] + 1)):
        g, ga, gd = load_cotangents(frame, row, here, adjoint.planes, adjoint.depth)
        if not any_lane((g[0] != zero) | (g[1] != zero) | (g[2] != zero) | (ga != zero) | (gd != zero)):
            continue
        y = grid.rows[row]
        a, b, c, d, second, third, inside, near = edges_in_reach(outline, t, x, y, blur)
        q, scale, z = weights(outline, t, a, b, c)
        if wants.limited:
            near = near & is_within(z, limit.depth[frame, row, here])
        if not any_lane(near):
            continue
        p = one / (one + expv(where(inside, -d, d) * blur.sharpness))
        adj_d = -p * ga * coverage.clear[frame, row, here] * blur.sharpness
        start = reference_depth(coverage.nearest[frame, row, here], fade, outline)
        weighs = near & ((start - z) * fade.sharp > fade.cut)
        if any_lane(weighs):
            colour, by_u, by_v = own_colour(q, value_at, frame, surfacing)
            fall = where(weighs, expv((start - z) * fade.sharp), zero)
            adj_own, adj_q, lit = mul3(g, p * fall / images.weight[frame, row, here]), (o, o, o), colour
            if lighting.shading > 0 and wants.colour:
                adj_lit = adj_own
                lit, adj_own, adj_position, adj_normal, adj_eye, adj_q = shade_fragment_adjoint(
                    t, colour, q, point_at, frame, lighting, adj_lit
                )
                positions = add_weighted(positions, q, adj_position)
                normals = add_weighted(normals, q, adj_normal)
                if wants.table:
                    shade_table_adjoint(
                        t, i, colour, q, point_at, frame, lighting, adj_lit, adj_eye, adjoint.table
                    )
            adj_p, adj_z = weight_adjoint(
                t, frame, row, here, p, fall, z, weighs, lit, mesh, fade, background, coverage, images, g, gd
            )
            adj_d = adj_d - adj_p * p * (one - p) * blur.sharpness
            if wants.colour:
                adj_value, by_value = own_colour_adjoint(adj_own, by_u, by_v, value_at, surfacing)
                values = add_weighted(values, q, adj_value)
                adj_q = add3(adj_q, by_value)
            w = weights_adjoint(outline, t, x, y, a, b, c, q, scale, adj_q, adj_z, R(perspective))
            places = add9(places, (w[0], w[1], w[6], w[2], w[3], w[7], w[4], w[5], w[8]))
        force = where(near, two * adj_d, zero)
        f = distance_adjoint(a, b, c, second, third, where(inside, force, -force))
        places = add9(places, (f[0], f[1], o, f[2], f[3], o, f[4], f[5], o))
    store9(slots, i, 0, places)
    if wants.colour:
        store9(slots, i, 1, values)
    if lighting.shading > 0 and wants.colour:
        store9(slots, i, 2, normals)
        store9(slots, i, 3, positions)


@device
def scatter_run(e, weighs, uv, first, adj, texels, copy, adj_image):
    """Add the cotangents of a run of pixels one by one."""
    for k in range(run_width(e)):
        if extract_lane(weighs, k):
            c = extract_lane(adj[0], k), extract_lane(adj[1], k), extract_lane(adj[2], k)
            sample_texels_adjoint(extract_lane(uv[0], k), extract_lane(uv[1], k), first, texels, c, copy, adj_image)


@device
def texture_adjoint(
    e, chunks, wants, grid, mesh, fragments, blur, fade, surfacing, lighting, coverage, images, adj_planes, adj_image
):
    """Add the cotangent of the texture from a stripe e of columns of the tiles of one chunk of entries to
    adj_image[copy].
    """
    triangles, lists = fragments.triangles, fragments.lists
    outline, box = triangles.outline, triangles.box
    R = outline.dtype.type
    s = first_index(e)
    chunk, copy = s // TILE, s // run_width(e)
    entries = lists.triangle.shape[0]
    for n in range(chunk * entries // chunks, (chunk + 1) * entries // chunks):
        t = lists.triangle[n]
        frame, top, here = locate_stripe(e, lists.tile[n], grid)
        x = grid.columns[here]
        value_at = outline_values(t, frame, triangles.swapped, surfacing)
        point_at = outline_points(t, triangles.swapped, mesh)
        for row in range(maximum(top, box[t, 1]), minimum(top + TILE, box[t, 3] + 1)):
            g = adj_planes[frame, 0, row, here], adj_planes[frame, 1, row, here], adj_planes[frame, 2, row, here]
            p, q, z, weighs = fragment(
                t, frame, row, here, x, grid.rows[row], wants.limited, mesh, outline, blur, fragments.limit
            )
            behind = (reference_depth(coverage.nearest[frame, row, here], fade, outline) - z) * fade.sharp
            weighs = weighs & (behind > fade.cut)
            if any_lane(weighs):
                colour, depth, share = load_saved(frame, row, here, images)
                part = where(weighs, p * expv(behind) * share, R(0.0))
                factor = lit_factor(t, q, point_at, frame, lighting)
                adj = had3(mul3(g, part), factor)
                uv = mix_two_columns(q, value_at, surfacing.values)
                first = frame * surfacing.texels.stride
                scatter_run(e, weighs, uv, first, adj, surfacing.texels, copy, adj_image)
