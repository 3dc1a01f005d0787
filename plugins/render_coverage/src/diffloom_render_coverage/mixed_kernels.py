"""Pixels that are divided into pieces, one at a time: colour, coverage and depth, and the adjoint.

All pieces of a triangle in a pixel count together: their area times the triangle's colour at their common centroid,
with corners weighed in space. With c that colour, linear about the centroid, b the background and g the cotangent of
the pixel, a boundary of the pieces that moves outward by a small area dA changes the loss by g . (c - b) dA: see
piece_kernels.py. The colour itself changes with the centroid held.

A pixel that is too crowded is divided into 2 x 2 squares, or 4 x 4, and so on, each of which is computed alone.

Work items are shared by ``workers``, each with scratch memory of its own. What an item stores belongs to its tile, so
sums do not depend on the number of workers.
"""

from __future__ import annotations

from diffloom_kernels import add3, constant, device, dot3, maximum, minimum, mul3, sub3
from diffloom_raster.kernels import (
    TILE,
    corner_rows,
    lit_factor,
    load_corner,
    load_depth,
    locate_tile,
    mix_two_columns,
    own_colour,
    own_colour_adjoint,
    perspective_weights,
    perspective_weights_adjoint,
    sample_texels_adjoint,
    shade_fragment,
    shade_fragment_adjoint,
    shade_table_adjoint,
    value_rows,
)

from .piece_kernels import SLOTS, find_pieces, measure_owner, next_owner
from .side_kernels import owner_adjoint

#: Largest number of times that the square of a pixel is halved: 32 x 32 parts.
DEEPEST = 5


@device
def is_mixed(frame, row, column, limit):
    """Return true if a pixel is divided into pieces."""
    return limit.depth[frame, row, column] < constant(limit.depth[frame, row, column], 0)


@device
def level_of(frame, row, column, limit):
    """Return the number of times that the square of a mixed pixel was halved."""
    return int(-limit.depth[frame, row, column]) - 1


@device(inline=False)
def draw_part(base, count, frame, row, column, wants, setup, scene, shading, pieces):
    """Changes of rgb, alpha and depth that the pieces of a square bring."""
    grid, mesh, lists, screen = setup.frames.grid, setup.frames.mesh, scene.lists, scene.source.screen
    left, top, zero = grid.columns[column], grid.rows[row], constant(grid.rows[row], 0)
    background = shading.background
    r, g, b, total, depth = zero, zero, zero, zero, zero
    owner = next_owner(base, count, -1, pieces)
    while owner >= 0:
        area, mx, my = measure_owner(base, count, owner, pieces)
        total += area
        if wants.colour or wants.deep:
            t = lists.triangle[owner]
            z = load_depth(screen, mesh, t)
            q = perspective_weights(left + mx, top + my, load_corner(screen, mesh, t), z)
            depth += area * (q[0] * z[0] + q[1] * z[1] + q[2] * z[2] - setup.far)
            if wants.colour:
                own, by_u, by_v = own_colour(q, value_rows(t, frame, shading.surfacing), frame, shading.surfacing)
                c = shade_fragment(t, own, q, corner_rows(t, mesh.points, mesh.faces), frame, shading.lighting)
                r += area * (c[0] - background[0])
                g += area * (c[1] - background[1])
                b += area * (c[2] - background[2])
        owner = next_owner(base, count, owner, pieces)
    return r, g, b, total, depth


@device(inline=False)
def draw_pixel(base, frame, tile, row, column, wants, setup, scene, shading, images, pieces):
    """Draw a mixed pixel, in as many parts as it takes; returns whether the last parts were crowded, and whether
    triangles intersect."""
    grid, lists = setup.frames.grid, scene.lists
    zero, one = constant(grid.rows[row], 0), constant(grid.rows[row], 1)
    r, g, b, total, depth = zero, zero, zero, zero, zero
    level, crowded, crossing = 0, 1, 0
    while crowded and level <= DEEPEST:
        r, g, b, total, depth = zero, zero, zero, zero, zero
        crowded, crossing = 0, 0
        for part in range(1 << (2 * level)):
            count, full, crossed = find_pieces(
                base, tile, row, column, part, level, grid, setup.rules, scene.triangles, lists, pieces
            )
            crowded, crossing = maximum(crowded, full), maximum(crossing, crossed)
            if full and level < DEEPEST:
                break
            s = draw_part(base, count, frame, row, column, wants, setup, scene, shading, pieces)
            r, g, b, total, depth = r + s[0], g + s[1], b + s[2], total + s[3], depth + s[4]
        level += 1
    scene.limit.depth[frame, row, column] = -constant(one, level)
    background, planes = shading.background, images.planes
    planes[frame, 3, row, column] = minimum(total, one)
    if wants.colour:
        planes[frame, 0, row, column] = background[0] + r
        planes[frame, 1, row, column] = background[1] + g
        planes[frame, 2, row, column] = background[2] + b
    if wants.deep:
        images.depth[frame, row, column] = setup.far + depth
    return crowded, crossing


@device
def draw_mixed(worker, workers, items, wants, setup, scene, shading, images, pieces, tally):
    """Draw the mixed pixels of every ``workers``-th item. tally[worker]: crowded pixels, and those where triangles
    intersect."""
    grid, lists, base = setup.frames.grid, scene.lists, worker * SLOTS
    tally[worker, 0] = 0
    tally[worker, 1] = 0
    for item in range(worker, items, workers):
        tile = lists.active[item // setup.stripes]
        frame, top, left = locate_tile(tile, grid)
        for row in range(top, minimum(top + TILE, grid.height)):
            for column in range(left + item % setup.stripes, minimum(left + TILE, grid.width), setup.stripes):
                if is_mixed(frame, row, column, scene.limit):
                    crowded, crossing = draw_pixel(
                        base, frame, tile, row, column, wants, setup, scene, shading, images, pieces
                    )
                    tally[worker, 0] += crowded
                    tally[worker, 1] += crossing


@device
def add_corners(slots, i, part, q, adj):
    """slots[i, part] += the cotangent of a vec3 that corners were mixed to with q."""
    for c in range(3):
        slots[i, part, c] += q[0] * adj[c]
        slots[i, part, 3 + c] += q[1] * adj[c]
        slots[i, part, 6 + c] += q[2] * adj[c]


@device
def add_places(slots, i, corner, depth):
    """slots[i, 0] += cotangents of the places (x0, y0, x1, y1, x2, y2) and depths of corners."""
    slots[i, 0, 0] += corner[0]
    slots[i, 0, 1] += corner[1]
    slots[i, 0, 2] += depth[0]
    slots[i, 0, 3] += corner[2]
    slots[i, 0, 4] += corner[3]
    slots[i, 0, 5] += depth[1]
    slots[i, 0, 6] += corner[4]
    slots[i, 0, 7] += corner[5]
    slots[i, 0, 8] += depth[2]


@device
def pixel_cotangents(frame, row, column, wants, setup, shading, adj_images):
    """Cotangents of colour, coverage and depth of a pixel, and what they count where nothing is shown.

    Asked for again where they are needed: kept meanwhile, they take registers on a GPU.
    """
    planes, background = adj_images.planes, shading.background
    zero = constant(planes[frame, 3, row, column], 0)
    g, gd = (zero, zero, zero), zero
    if wants.colour:
        g = (planes[frame, 0, row, column], planes[frame, 1, row, column], planes[frame, 2, row, column])
    if wants.deep:
        gd = adj_images.depth[frame, row, column]
    ground = g[0] * background[0] + g[1] * background[1] + g[2] * background[2] + gd * setup.far
    return g, planes[frame, 3, row, column], gd, ground


@device(inline=False)
def colour_adjoint(t, i, frame, row, column, x, y, area, wants, setup, scene, shading, adj_images, slots):
    """g . colour of triangle t at a place (x, y), g being the cotangent of a pixel, and the cotangent of its corners'
    weights for an area of that colour; adds those of values, normals and positions to row i of the slots."""
    mesh, screen, surfacing = setup.frames.mesh, scene.source.screen, shading.surfacing
    q = perspective_weights(x, y, load_corner(screen, mesh, t), load_depth(screen, mesh, t))
    value_at, point_at = value_rows(t, frame, surfacing), corner_rows(t, mesh.points, mesh.faces)
    colour, by_u, by_v = own_colour(q, value_at, frame, surfacing)
    g, ga, gd, ground = pixel_cotangents(frame, row, column, wants, setup, shading, adj_images)
    lit, adj_own, adj_q = colour, mul3(g, area), sub3(q, q)
    if shading.lighting.shading > 0:
        adj_lit = adj_own
        lit, adj_own, adj_position, adj_normal, adj_eye, adj_q = shade_fragment_adjoint(
            t, colour, q, point_at, frame, shading.lighting, adj_lit
        )
        add_corners(slots, i, 2, q, adj_normal)
        add_corners(slots, i, 3, q, adj_position)
        if wants.table:
            shade_table_adjoint(
                t, i, colour, q, point_at, frame, shading.lighting, adj_lit, adj_eye, adj_images.table
            )
    # found again: kept meanwhile, they take registers on a GPU
    colour, by_u, by_v = own_colour(q, value_at, frame, surfacing)
    adj_value, by_value = own_colour_adjoint(adj_own, by_u, by_v, value_at, surfacing)
    add_corners(slots, i, 1, q, adj_value)
    g, ga, gd, ground = pixel_cotangents(frame, row, column, wants, setup, shading, adj_images)
    return dot3(g, lit), add3(adj_q, by_value)


@device(inline=False)
def draw_part_adjoint(
    base, count, frame, row, column, group, wants, setup, scene, shading, adj_images, pieces, slots
):
    """Add what a square passes of its pixel's cotangents to the slots of the entries that own pieces, or edges, in
    it."""
    grid, mesh, lists, screen = setup.frames.grid, setup.frames.mesh, scene.lists, scene.source.screen
    left, top, zero = grid.columns[column], grid.rows[row], constant(grid.rows[row], 0)
    g, ga, gd, ground = pixel_cotangents(frame, row, column, wants, setup, shading, adj_images)
    if g[0] == zero and g[1] == zero and g[2] == zero and ga == zero and gd == zero:
        return
    owner = next_owner(base, count, -1, pieces)
    while owner >= 0:
        area, mx, my = measure_owner(base, count, owner, pieces)
        lit, hx, hy, deep, adj_q = zero, zero, zero, zero, (zero, zero, zero)
        if wants.colour:
            lit, adj_q = colour_adjoint(
                lists.triangle[owner], owner * setup.stripes + group, frame, row, column, left + mx, top + my, area,
                wants, setup, scene, shading, adj_images, slots,
            )  # fmt: skip
        g, ga, gd, ground = pixel_cotangents(frame, row, column, wants, setup, shading, adj_images)
        if wants.colour or wants.deep:
            t = lists.triangle[owner]
            v, z, x, y = load_corner(screen, mesh, t), load_depth(screen, mesh, t), left + mx, top + my
            q = perspective_weights(x, y, v, z)
            weight, deep = gd * area, gd * dot3(q, z) - ground
            adj_q = add3(adj_q, (weight * z[0], weight * z[1], weight * z[2]))
            adj_corner, adj_depth = perspective_weights_adjoint(x, y, v, z, adj_q)
            add_places(slots, owner * setup.stripes + group, adj_corner, add3(adj_depth, mul3(q, weight)))
            # a place that moves with all corners changes nothing
            hx = -(adj_corner[0] + adj_corner[2] + adj_corner[4]) / area
            hy = -(adj_corner[1] + adj_corner[3] + adj_corner[5]) / area
        owner_adjoint(
            base, count, owner, left, top, ga + lit + deep, hx, hy, mx, my, setup.stripes, group,
            scene.triangles.outline, lists, pieces, slots,
        )  # fmt: skip
        owner = next_owner(base, count, owner, pieces)


@device
def draw_mixed_adjoint(worker, workers, items, wants, setup, scene, shading, adj_images, pieces, slots):
    """Add the cotangents of the mixed pixels of every ``workers``-th item to the slots."""
    grid, lists, base = setup.frames.grid, scene.lists, worker * SLOTS
    for item in range(worker, items, workers):
        tile, group = lists.active[item // setup.stripes], item % setup.stripes
        frame, top, left = locate_tile(tile, grid)
        for row in range(top, minimum(top + TILE, grid.height)):
            for column in range(left + group, minimum(left + TILE, grid.width), setup.stripes):
                if is_mixed(frame, row, column, scene.limit):
                    level = level_of(frame, row, column, scene.limit)
                    for part in range(1 << (2 * level)):
                        count, crowded, crossing = find_pieces(
                            base, tile, row, column, part, level, grid, setup.rules, scene.triangles, lists, pieces
                        )
                        draw_part_adjoint(
                            base, count, frame, row, column, group, wants, setup, scene, shading, adj_images, pieces,
                            slots,
                        )  # fmt: skip


@device(inline=False)
def texture_part_adjoint(base, count, frame, row, column, copy, setup, scene, shading, adj_planes, pieces, adj_image):
    """Add the cotangent of the texture from one square."""
    grid, mesh, lists, screen = setup.frames.grid, setup.frames.mesh, scene.lists, scene.source.screen
    left, top = grid.columns[column], grid.rows[row]
    texels, values = shading.surfacing.texels, shading.surfacing.values
    owner = next_owner(base, count, -1, pieces)
    while owner >= 0:
        area, mx, my = measure_owner(base, count, owner, pieces)
        t = lists.triangle[owner]
        q = perspective_weights(left + mx, top + my, load_corner(screen, mesh, t), load_depth(screen, mesh, t))
        factor = lit_factor(t, q, corner_rows(t, mesh.points, mesh.faces), frame, shading.lighting)
        adj = (
            area * factor[0] * adj_planes[frame, 0, row, column],
            area * factor[1] * adj_planes[frame, 1, row, column],
            area * factor[2] * adj_planes[frame, 2, row, column],
        )
        uv = mix_two_columns(q, value_rows(t, frame, shading.surfacing), values)
        sample_texels_adjoint(uv[0], uv[1], frame * texels.stride, texels, adj, copy, adj_image)
        owner = next_owner(base, count, owner, pieces)


@device
def texture_adjoint(copy, copies, active, setup, scene, shading, adj_planes, pieces, adj_image):
    """adj_image[copy]: what the pixels of every ``copies``-th active tile pass to the texture, all divided into
    pieces."""
    grid, lists, base = setup.frames.grid, scene.lists, copy * SLOTS
    for item in range(copy, active, copies):
        tile = lists.active[item]
        frame, top, left = locate_tile(tile, grid)
        for row in range(top, minimum(top + TILE, grid.height)):
            for column in range(left, minimum(left + TILE, grid.width)):
                level = 0
                if is_mixed(frame, row, column, scene.limit):
                    level = level_of(frame, row, column, scene.limit)
                for part in range(1 << (2 * level)):
                    count, crowded, crossing = find_pieces(
                        base, tile, row, column, part, level, grid, setup.rules, scene.triangles, lists, pieces
                    )
                    texture_part_adjoint(
                        base, count, frame, row, column, copy, setup, scene, shading, adj_planes, pieces, adj_image
                    )
