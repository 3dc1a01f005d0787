"""Coverage: the triangle that a pixel shows, the weights of its corners there, and values mixed with them.

A pixel shows the nearest triangle that holds its centre. A tile draws the triangles seen from their front first.
Triangles behind the depths shown by then are skipped: of a closed surface, the whole back.

A triangle has corners (x_i, y_i) on the image [px] and depths z_i > 0 [m]. With E_i = (v_j - p) x (v_k - p), twice the
area of the triangle that p makes with the edge opposite corner i, the weights are

    t_i = E_i / z_i,    q_i = t_i / (t_0 + t_1 + t_2),    depth = sum q_i z_i.

No area is divided by, so slivers give large numbers only where the surface really turns away.
"""

from __future__ import annotations

from diffloom_kernels import any_lane, constant, device, launch, launch_runs, maximum, minimum, where

from .binning_kernels import TILE, count_tiles, fill_tiles, locate_stripe, locate_tile
from .lane_kernels import alll, first_index, run_width
from .triangle_kernels import corner_rows, load_corner, load_depth, set_up_triangle


@device
def cover(e, grid, lists, inner, edges, nearest, which):
    """Write the nearest entry of the tile to which[frame, row, column], or -1, and 1 / depth to ``nearest``, or 0.

    e is a stripe of columns of a tile. A tile without entries leaves ``nearest`` unchanged.
    """
    R = edges.dtype.type
    tile = first_index(e) // TILE
    frame, top, here = locate_stripe(e, tile, grid)
    none = grid.columns[here] * R(0.0)
    for row in range(top, top + TILE):
        which[frame, row, here] = none - R(1.0)
    if lists.start[tile] == lists.start[tile + 1]:
        return
    for row in range(top, top + TILE):
        nearest[frame, row, here] = none
    cover_side(here, R(1.0), none, tile, grid, lists, inner, edges, nearest, which)
    horizon = nearest[frame, top, here]
    for row in range(top + 1, top + TILE):
        horizon = minimum(horizon, nearest[frame, row, here])
    cover_side(here, R(0.0), horizon, tile, grid, lists, inner, edges, nearest, which)


@device
def cover_side(here, front, horizon, tile, grid, lists, inner, edges, nearest, which):
    """Draw the triangles with their front, or their back, to the camera; horizon: the least of nearest by column."""
    R = edges.dtype.type
    frame, top, left = locate_tile(tile, grid)
    first, last = first_index(here), first_index(here) + run_width(here) - 1
    x = grid.columns[here]
    zero, none, begin = R(0.0), x * R(0.0), lists.start[tile]
    for k in range(begin, lists.start[tile + 1]):
        n = lists.triangle[k]
        if edges[n, 16] != front or last < inner[n, 0] or first > inner[n, 2]:
            continue
        # rounding must not bring a sliver before its nearest corner
        most = none + edges[n, 15]
        if alll(horizon >= most):
            continue
        # read once, because the compiler cannot know that the stores below leave these values alone
        y0, y1, y2, dx0, dx1, dx2 = edges[n, 1], edges[n, 5], edges[n, 9], edges[n, 2], edges[n, 6], edges[n, 10]
        w0, w1, w2, number = edges[n, 12], edges[n, 13], edges[n, 14], none + R(k - begin)
        u0, u1, u2 = edges[n, 3] * (x - edges[n, 0]), edges[n, 7] * (x - edges[n, 4]), edges[n, 11] * (x - edges[n, 8])
        for row in range(maximum(top, inner[n, 1]), minimum(top + TILE, inner[n, 3] + 1)):
            y = grid.rows[row]
            e0, e1, e2 = dx0 * (y - y0) - u0, dx1 * (y - y1) - u1, dx2 * (y - y2) - u2
            inside = (e0 >= zero) & (e1 >= zero) & (e2 >= zero)
            if any_lane(inside):
                d = minimum(e0 * w0 + e1 * w1 + e2 * w2, most)
                best = nearest[frame, row, here]
                inside = inside & (d > best)
                nearest[frame, row, here] = where(inside, d, best)
                which[frame, row, here] = where(inside, number, which[frame, row, here])


@device
def write_face_index(tile, grid, lists, which, coverage):
    """Write the coverage of a tile. ``visible`` begins as False and becomes True for each triangle shown."""
    frame, top, left = locate_tile(tile, grid)
    open_pixels = False
    for i in range(top, minimum(top + TILE, grid.height)):
        for j in range(left, minimum(left + TILE, grid.width)):
            k = int(which[frame, i, j])
            n = -1
            if k >= 0:
                n = lists.triangle[lists.start[tile] + k]
                coverage.visible[n] = True
            coverage.face_index[frame, i, j] = n
            open_pixels = open_pixels or n < 0
    coverage.open[tile] = open_pixels and lists.start[tile + 1] > lists.start[tile]


@device
def pixel_weights(r, grid, mesh, screen, face_index, weights, depth):
    """Write weights of the corners and depth [m] of the pixels of row r of all frames; zeros where nothing is shown."""
    frame, i = r // grid.height, r % grid.height
    zero = weights.dtype.type(0)
    for j in range(grid.width):
        n = face_index[frame, i, j]
        q, d = (zero, zero, zero), zero
        if n >= 0:
            z = load_depth(screen, mesh, n)
            q = perspective_weights(grid.columns[j], grid.rows[i], load_corner(screen, mesh, n), z)
            d = q[0] * z[0] + q[1] * z[1] + q[2] * z[2]
        weights[frame, i, j, 0], weights[frame, i, j, 1], weights[frame, i, j, 2] = q[0], q[1], q[2]
        depth[frame, i, j] = d


@device
def pixel_weights_adjoint(n, grid, mesh, screen, pixels, weights, adj_weights, adj_depth, adj_corners):
    """Write cotangents of x, y and depth of triangle n to adj_corners[n, corner], summed over all its pixels."""
    R = screen.dtype.type
    v, z = load_corner(screen, mesh, n), load_depth(screen, mesh, n)
    for c in range(3):
        for d in range(3):
            adj_corners[n, c, d] = R(0)
    for k in range(pixels.start[n], pixels.start[n + 1]):
        p = pixels.pixel[k]
        i, j, h = p // grid.width % grid.height, p % grid.width, adj_depth[p]
        adj_q = (adj_weights[p, 0] + h * z[0], adj_weights[p, 1] + h * z[1], adj_weights[p, 2] + h * z[2])
        g, gz = perspective_weights_adjoint(grid.columns[j], grid.rows[i], v, z, adj_q)
        for c in range(3):
            adj_corners[n, c, 0] += g[2 * c]
            adj_corners[n, c, 1] += g[2 * c + 1]
            adj_corners[n, c, 2] += gz[c] + h * weights[p, c]


@device
def gather_point(i, mesh, corners, adj_corners, adj_points):
    """Sum the cotangents of the corners that meet in point i: adj_points[i] = sum adj_corners[t, c]."""
    R = adj_corners.dtype.type
    x, y, z = R(0.0), R(0.0), R(0.0)
    count, shift = mesh.points, i // mesh.points * mesh.faces.shape[0]
    for k in range(corners.start[i % count], corners.start[i % count + 1]):
        t, c = shift + corners.corner[k] // 3, corners.corner[k] % 3
        x, y, z = x + adj_corners[t, c, 0], y + adj_corners[t, c, 1], z + adj_corners[t, c, 2]
    adj_points[i, 0], adj_points[i, 1], adj_points[i, 2] = x, y, z


def bin_triangles(frames, cull, reach, screen, valid, triangles, bins):
    """Pipeline: set triangles up and count the entries of the tiles' lists."""
    launch(triangles.box.shape[0], set_up_triangle, frames.grid, frames.mesh, screen, valid, cull, reach, triangles)
    count_tiles(frames, triangles.box, triangles.planes, bins)


def cover_pixels(frames, triangles, lists, nearest, which, coverage):
    """Pipeline: find the triangle that each pixel shows, once the lists are filled."""
    tiles = coverage.open.shape[0]
    launch_runs(tiles * TILE, cover, frames.grid, lists, triangles.inner, triangles.edges, nearest, which)
    launch(tiles, write_face_index, frames.grid, lists, which, coverage)


def rasterise_pixels(frames, screen, triangles, count, lists, nearest, which, coverage, weights, depth):
    """Pipeline: find coverage, weights of the corners and depths."""
    fill_tiles(frames, triangles.box, triangles.planes, count, lists)
    cover_pixels(frames, triangles, lists, nearest, which, coverage)
    rows = weights.shape[0] * weights.shape[1]
    launch(rows, pixel_weights, frames.grid, frames.mesh, screen, coverage.face_index, weights, depth)


def rasterise_pixels_adjoint(
    frames, corners, screen, pixels, weights, adj_weights, adj_depth, adj_corners, adj_screen,
):
    """Pipeline: compute the cotangent of the points on the screen. weights, adj_weights: (pixels, 3)."""
    launch(adj_corners.shape[0], pixel_weights_adjoint, frames.grid, frames.mesh, screen, pixels, weights, adj_weights,
           adj_depth, adj_corners)
    launch(adj_screen.shape[0], gather_point, frames.mesh, corners, adj_corners, adj_screen)


@device
def perspective_weights(px, py, corner, depth):
    """Return q (3) of pixel (px, py). corner: (x0, y0, x1, y1, x2, y2); depth: (z0, z1, z2)."""
    one = constant(px, 1)
    ax, ay = corner[0] - px, corner[1] - py
    bx, by = corner[2] - px, corner[3] - py
    cx, cy = corner[4] - px, corner[5] - py
    t0 = (bx * cy - by * cx) * (depth[1] * depth[2])
    t1 = (cx * ay - cy * ax) * (depth[2] * depth[0])
    t2 = (ax * by - ay * bx) * (depth[0] * depth[1])
    s = one / (t0 + t1 + t2)
    return (t0 * s, t1 * s, t2 * s)


@device
def perspective_weights_adjoint(px, py, corner, depth, adj_q):
    """Return adj_corner (6) and adj_depth (3) from adj_q (3); the pixel does not move.

    With d q_i = (d t_i - q_i sum_k d t_k) / S:  adj_t_i = (adj_q_i - sum_k adj_q_k q_k) / S, adj_E_i = adj_t_i / z_i,
    adj_z_i = -adj_t_i E_i / z_i^2,  and each E_i passes to its two corners.
    """
    one = constant(px, 1)
    ax, ay = corner[0] - px, corner[1] - py
    bx, by = corner[2] - px, corner[3] - py
    cx, cy = corner[4] - px, corner[5] - py
    r0, r1, r2 = one / depth[0], one / depth[1], one / depth[2]
    t0 = (bx * cy - by * cx) * r0
    t1 = (cx * ay - cy * ax) * r1
    t2 = (ax * by - ay * bx) * r2
    s = one / (t0 + t1 + t2)
    mean = (adj_q[0] * t0 + adj_q[1] * t1 + adj_q[2] * t2) * s
    adj_t0 = (adj_q[0] - mean) * s
    adj_t1 = (adj_q[1] - mean) * s
    adj_t2 = (adj_q[2] - mean) * s
    adj_depth = (-adj_t0 * t0 * r0, -adj_t1 * t1 * r1, -adj_t2 * t2 * r2)
    g0, g1, g2 = adj_t0 * r0, adj_t1 * r1, adj_t2 * r2
    adj_corner = (
        g2 * by - g1 * cy, g1 * cx - g2 * bx,
        g0 * cy - g2 * ay, g2 * ax - g0 * cx,
        g1 * ay - g0 * by, g0 * bx - g1 * ax,
    )
    return adj_corner, adj_depth


@device
def mix_values(p, mesh, face_index, weights, values, mixed):
    """Mix values of the corners at pixel p: mixed[p] = sum_i q_i values[corner i], 0 where nothing is shown."""
    n = face_index[p]
    if n < 0:
        for d in range(values.shape[1]):
            mixed[p, d] = mixed.dtype.type(0)
        return
    a, b, c = corner_rows(n, mesh.points, mesh.faces)
    for d in range(values.shape[1]):
        mixed[p, d] = weights[p, 0] * values[a, d] + weights[p, 1] * values[b, d] + weights[p, 2] * values[c, d]


@device
def mix_weights_adjoint(p, mesh, face_index, values, adj_mixed, adj_weights):
    """Compute adj_weights[p, i] = values[corner i] . adj_mixed[p]."""
    n = face_index[p]
    zero = adj_weights.dtype.type(0)
    g0, g1, g2 = zero, zero, zero
    if n >= 0:
        a, b, c = corner_rows(n, mesh.points, mesh.faces)
        for d in range(values.shape[1]):
            h = adj_mixed[p, d]
            g0, g1, g2 = g0 + h * values[a, d], g1 + h * values[b, d], g2 + h * values[c, d]
    adj_weights[p, 0], adj_weights[p, 1], adj_weights[p, 2] = g0, g1, g2


@device
def mix_values_adjoint(r, mesh, corners, pixels, weights, adj_mixed, adj_values):
    """Compute adj_values[r]: sums of q_i adj_mixed over the pixels of all triangles around row r, in a fixed order."""
    for d in range(adj_values.shape[1]):
        adj_values[r, d] = adj_values.dtype.type(0)
    shift, v = r // mesh.points * mesh.faces.shape[0], r % mesh.points
    for k in range(corners.start[v], corners.start[v + 1]):
        n, c = shift + corners.corner[k] // 3, corners.corner[k] % 3
        for at in range(pixels.start[n], pixels.start[n + 1]):
            p = pixels.pixel[at]
            for d in range(adj_values.shape[1]):
                adj_values[r, d] += weights[p, c] * adj_mixed[p, d]


def interpolate_pixels(mesh, face_index, weights, values, mixed):
    """Pipeline: mix values at pixels. face_index: (pixels,); weights: (pixels, 3); values: (points, n)."""
    launch(face_index.shape[0], mix_values, mesh, face_index, weights, values, mixed)


def interpolate_pixels_adjoint(mesh, corners, face_index, pixels, weights, values, adj_mixed, adj_weights, adj_values):
    """Pipeline: compute cotangents of weights and values."""
    launch(face_index.shape[0], mix_weights_adjoint, mesh, face_index, values, adj_mixed, adj_weights)
    launch(adj_values.shape[0], mix_values_adjoint, mesh, corners, pixels, weights, adj_mixed, adj_values)
