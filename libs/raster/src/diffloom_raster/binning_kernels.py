"""Binning: lists of the triangles that may touch each tile of an image, by a counting sort without atomics.

A tile is TILE x TILE pixels; tiles of all frames are numbered frame by frame, row by row. Bands of tile rows are sorted
independently, each in the order of the triangles, so the lists do not depend on the number of threads.
"""

from __future__ import annotations

from diffloom_kernels import device, launch, maximum, minimum

from .lane_kernels import first_index

#: Number of pixels along the side of a tile: one run of float32 lanes.
TILE = 8


@device
def locate_tile(tile, grid):
    """Return frame, first row and first column of a tile."""
    cells = grid.across * grid.down
    cell = tile % cells
    return tile // cells, cell // grid.across * TILE, cell % grid.across * TILE


@device
def locate_stripe(e, tile, grid):
    """Return frame and first row of a tile, and the columns that e stands for; e counts TILE columns for each tile."""
    s = first_index(e)
    frame, top, left = locate_tile(tile, grid)
    return frame, top, e + (left + s % TILE - s)


@device
def locate_pixels(e, lists, grid):
    """Return tile, frame, row and columns of a run e of the pixels of the active tiles."""
    s = first_index(e)
    tile = lists.active[s // (TILE * TILE)]
    frame, top, left = locate_tile(tile, grid)
    return tile, frame, top + s % (TILE * TILE) // TILE, e + (left + s % TILE - s)


@device
def is_outside_box(t, row, first, last, box):
    """Return True if the pixels from column first to last of a row all lie outside the box of triangle t."""
    return row < box[t, 1] or row > box[t, 3] or last < box[t, 0] or first > box[t, 2]


@device
def tile_apart(t, tx, ty, planes, grid):
    """Return True if tile (tx, ty) lies wholly outside one of the half planes a x + b y + c >= 0 around triangle t."""
    R = planes.dtype.type
    half = R(0.5 * TILE)
    x = R(TILE * tx) + half - R(0.5) * R(grid.width)
    y = R(TILE * ty) + half - R(0.5) * R(grid.height)
    reach = half - R(0.5)
    for k in range(3):
        a, b = planes[t, 3 * k], planes[t, 3 * k + 1]
        if a * x + b * y + planes[t, 3 * k + 2] + (abs(a) + abs(b)) * reach < R(0.0):
            return True
    return False


@device
def band_of(i, bands, grid):
    """Return frame of band i of all frames' bands, the frame's first tile, and the band's first and end row of tiles.
    """
    frame, band = i // bands, i % bands
    return frame, frame * grid.across * grid.down, band * grid.down // bands, (band + 1) * grid.down // bands


@device
def tiles_of(t, low, high, box):
    """Return the tiles of rows low to high that the box of triangle t touches, and True if the box lies in one tile.

    The tiles are first column, last column, first row and end of the rows (no rows for none).
    """
    first, last = box[t, 1] // TILE, box[t, 3] // TILE
    if box[t, 2] < box[t, 0] or last < low or first >= high:
        return 0, 0, 0, 0, False
    left, right = box[t, 0] // TILE, box[t, 2] // TILE
    return left, right, maximum(first, low), minimum(last + 1, high), left == right and first == last


@device
def count_band(i, bands, box, planes, frame_start, grid, count):
    """Count the triangles of each tile in band i of all frames' bands."""
    frame, base, low, high = band_of(i, bands, grid)
    for tile in range(base + low * grid.across, base + high * grid.across):
        count[tile] = 0
    for t in range(frame_start[frame], frame_start[frame + 1]):
        left, right, top, bottom, single = tiles_of(t, low, high, box)
        for ty in range(top, bottom):
            for tx in range(left, right + 1):
                if single or not tile_apart(t, tx, ty, planes, grid):
                    count[base + ty * grid.across + tx] += 1


@device
def count_cells(t, box):
    """Return the number of tiles that the box of triangle t touches."""
    if box[t, 2] < box[t, 0]:
        return 0
    return (box[t, 3] // TILE - box[t, 1] // TILE + 1) * (box[t, 2] // TILE - box[t, 0] // TILE + 1)


@device
def sum_frame(frame, box, frame_start, grid, bins):
    """Sum entries, non-empty tiles and cells (pairs of a triangle and a tile its box touches) of a frame."""
    entries, active, cells, tiles = 0, 0, 0, grid.across * grid.down
    for tile in range(frame * tiles, (frame + 1) * tiles):
        entries += bins.counts[tile]
        if bins.counts[tile] > 0:
            active += 1
    for t in range(frame_start[frame], frame_start[frame + 1]):
        cells += count_cells(t, box)
    bins.totals[frame, 0], bins.totals[frame, 1], bins.totals[frame, 2] = entries, active, cells


@device
def scan_frames(i, totals):
    """Turn totals into starts; the last row holds the totals of all frames."""
    entries, active, cells = 0, 0, 0
    for frame in range(totals.shape[0]):
        n, m, l = totals[frame, 0], totals[frame, 1], totals[frame, 2]
        totals[frame, 0], totals[frame, 1], totals[frame, 2] = entries, active, cells
        entries += n
        active += m
        cells += l


@device
def scan_tiles(frame, box, frame_start, grid, bins):
    """Write the first entry of each tile, the list of tiles that have any, and the first cell of each triangle.

    The list takes every fourth row of tiles at a time: threads that share the list evenly then share the work evenly,
    because the triangles of an image lie close together.
    """
    entry, slot, cell = bins.totals[frame, 0], bins.totals[frame, 1], bins.totals[frame, 2]
    across, tiles = grid.across, grid.across * grid.down
    base = frame * tiles
    for tile in range(base, base + tiles):
        bins.start[tile] = entry
        entry += bins.counts[tile]
    bins.start[base + tiles] = entry
    for phase in range(4):
        for row in range((phase * 2 + phase // 2) % 4, grid.down, 4):
            for tile in range(base + row * across, base + (row + 1) * across):
                if bins.counts[tile] > 0:
                    bins.active[slot] = tile
                    slot += 1
    for t in range(frame_start[frame], frame_start[frame + 1]):
        bins.first_cell[t] = cell
        cell += count_cells(t, box)


@device
def fill_band(i, bands, box, planes, frame_start, grid, count, lists):
    """Write the lists of the tiles in band i; ``count`` is used up as a cursor."""
    frame, base, low, high = band_of(i, bands, grid)
    for tile in range(base + low * grid.across, base + high * grid.across):
        count[tile] = lists.start[tile]
    for t in range(frame_start[frame], frame_start[frame + 1]):
        left, right, top, bottom, single = tiles_of(t, low, high, box)
        for ty in range(top, bottom):
            for tx in range(left, right + 1):
                if single or not tile_apart(t, tx, ty, planes, grid):
                    tile = base + ty * grid.across + tx
                    lists.triangle[count[tile]] = t
                    lists.tile[count[tile]] = tile
                    count[tile] += 1


@device
def interleave(i, n):
    """Return the i-th of n items taken from four heaps in turn; i runs to ``interleave_count(n)``, and n or more is
    none.

    Neighbours in i lie far apart, so that threads which share i evenly share the work evenly.
    """
    return i % 4 * ((n + 3) // 4) + i // 4


@device
def interleave_count(n):
    """Return the number of indices i that ``interleave`` takes for n items."""
    return (n + 3) // 4 * 4


@device
def record_entry(e, lists, box, grid, cells):
    """Write entry e, counted from 1, to its cell; cells of tiles that the triangle does not reach stay 0."""
    t = lists.triangle[e]
    cell = lists.tile[e] % (grid.across * grid.down)
    left, top = box[t, 0] // TILE, box[t, 1] // TILE
    across = box[t, 2] // TILE - left + 1
    cells.entry[cells.first[t] + (cell // grid.across - top) * across + cell % grid.across - left] = e + 1


def count_tiles(frames, box, planes, bins):
    """Pipeline: count the entries of each tile and place their lists."""
    n, start = bins.totals.shape[0] - 1, frames.mesh.frame_start
    launch(n * frames.bands, count_band, frames.bands, box, planes, start, frames.grid, bins.counts)
    launch(n, sum_frame, box, start, frames.grid, bins)
    launch(1, scan_frames, bins.totals)
    launch(n, scan_tiles, box, start, frames.grid, bins)


def fill_tiles(frames, box, planes, count, lists):
    """Pipeline: write the entries; ``count`` is used up."""
    start = frames.mesh.frame_start
    n = (start.shape[0] - 1) * frames.bands
    launch(n, fill_band, frames.bands, box, planes, start, frames.grid, count, lists)
