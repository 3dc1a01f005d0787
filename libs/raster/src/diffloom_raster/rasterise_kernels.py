"""Rasterising: which triangle a pixel shows, the nearest that holds its centre.

A tile draws the triangles seen from their front first. What is behind all it shows by then need not be looked at: of a
closed surface, the whole back.
"""

from __future__ import annotations

from diffloom_kernels import anyl, device, launch, launch_runs, maximum, minimum, where

from .bin_kernels import TILE, count_tiles, fill_tiles, tile_corner
from .interpolate_kernels import perspective_weights, perspective_weights_adjoint
from .lane_kernels import alll, first_of, width_of
from .triangle_kernels import load_corner, load_depth, set_up


@device
def cover(e, grid, lists, inner, edges, nearest, which):
    """which[frame, row, column]: the nearest entry of the tile, or -1; nearest: 1 / depth there, or 0.

    e is a stripe of columns of a tile. A tile without entries leaves nearest as it is.
    """
    R = edges.dtype.type
    s = first_of(e)
    tile = s // TILE
    frame, top, left = tile_corner(tile, grid)
    column = left + s % TILE
    here = e + (column - s)
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
    frame, top, left = tile_corner(tile, grid)
    first, last = first_of(here), first_of(here) + width_of(here) - 1
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
        # read once: what is stored below might be these, as far as the compiler knows
        y0, y1, y2, dx0, dx1, dx2 = edges[n, 1], edges[n, 5], edges[n, 9], edges[n, 2], edges[n, 6], edges[n, 10]
        w0, w1, w2, number = edges[n, 12], edges[n, 13], edges[n, 14], none + R(k - begin)
        u0, u1, u2 = edges[n, 3] * (x - edges[n, 0]), edges[n, 7] * (x - edges[n, 4]), edges[n, 11] * (x - edges[n, 8])
        for row in range(maximum(top, inner[n, 1]), minimum(top + TILE, inner[n, 3] + 1)):
            y = grid.rows[row]
            e0, e1, e2 = dx0 * (y - y0) - u0, dx1 * (y - y1) - u1, dx2 * (y - y2) - u2
            inside = (e0 >= zero) & (e1 >= zero) & (e2 >= zero)
            if anyl(inside):
                d = minimum(e0 * w0 + e1 * w1 + e2 * w2, most)
                best = nearest[frame, row, here]
                inside = inside & (d > best)
                nearest[frame, row, here] = where(inside, d, best)
                which[frame, row, here] = where(inside, number, which[frame, row, here])


@device
def name_faces(tile, grid, lists, which, coverage):
    """The coverage of a tile. ``visible`` begins as False, and whoever shows a triangle says so."""
    frame, top, left = tile_corner(tile, grid)
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
    """Weights of the corners and depth [m] of the pixels of row r of all frames; zeros where nothing is shown."""
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
    """adj_corners[n, corner]: cotangents of x, y and depth of triangle n from all its pixels."""
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
    """adj_points[i]: the sum over the corners that meet in point i."""
    R = adj_corners.dtype.type
    x, y, z = R(0.0), R(0.0), R(0.0)
    count, shift = mesh.points, i // mesh.points * mesh.faces.shape[0]
    for k in range(corners.start[i % count], corners.start[i % count + 1]):
        t, c = shift + corners.corner[k] // 3, corners.corner[k] % 3
        x, y, z = x + adj_corners[t, c, 0], y + adj_corners[t, c, 1], z + adj_corners[t, c, 2]
    adj_points[i, 0], adj_points[i, 1], adj_points[i, 2] = x, y, z


def bin_triangles(frames, cull, reach, screen, valid, triangles, bins):
    """Pipeline: set triangles up and count what the tiles will list."""
    launch(triangles.box.shape[0], set_up, frames.grid, frames.mesh, screen, valid, cull, reach, triangles)
    count_tiles(frames, triangles.box, triangles.planes, bins)


def cover_pixels(frames, triangles, lists, nearest, which, coverage):
    """Pipeline: which triangle each pixel shows, once the lists are filled."""
    tiles = coverage.open.shape[0]
    launch_runs(tiles * TILE, cover, frames.grid, lists, triangles.inner, triangles.edges, nearest, which)
    launch(tiles, name_faces, frames.grid, lists, which, coverage)


def rasterise_forward(frames, screen, triangles, count, lists, nearest, which, coverage, weights, depth):
    """Pipeline: coverage, weights of the corners and depths."""
    fill_tiles(frames, triangles.box, triangles.planes, count, lists)
    cover_pixels(frames, triangles, lists, nearest, which, coverage)
    rows = weights.shape[0] * weights.shape[1]
    launch(rows, pixel_weights, frames.grid, frames.mesh, screen, coverage.face_index, weights, depth)


def rasterise_backward(
    frames, corners, screen, pixels, weights, adj_weights, adj_depth, adj_corners, adj_screen,
):
    """Pipeline: the cotangent of the points on the screen. weights, adj_weights: (pixels, 3)."""
    launch(adj_corners.shape[0], pixel_weights_adjoint, frames.grid, frames.mesh, screen, pixels, weights, adj_weights,
           adj_depth, adj_corners)
    launch(adj_screen.shape[0], gather_point, frames.mesh, corners, adj_corners, adj_screen)
