"""Which triangles may touch which tile of the picture: a counting sort without atomics.

A tile is TILE x TILE pixels; tiles of all frames are numbered frame by frame, row by row. Bands of tile rows are
sorted independently, each in the order of the triangles, so the lists do not depend on the number of threads.
"""

from __future__ import annotations

from diffloom.kernels import device, launch

#: Pixels along the side of a tile: one run of float32 lanes.
TILE = 8


@device
def tile_apart(t, tx, ty, planes, middle_x, middle_y):
    """Whether tile (tx, ty) lies wholly outside one of the three half planes a x + b y + c >= 0 around triangle t."""
    R = planes.dtype.type
    half = R(0.5 * TILE)
    x = R(TILE * tx) + half - middle_x
    y = R(TILE * ty) + half - middle_y
    reach = half - R(0.5)
    for k in range(3):
        a, b = planes[t, 3 * k], planes[t, 3 * k + 1]
        if a * x + b * y + planes[t, 3 * k + 2] + (abs(a) + abs(b)) * reach < R(0.0):
            return True
    return False


@device
def count_band(i, bands, box, planes, frame_start, grid, middle, count):
    """Count the triangles of each tile in band i of all frames' bands."""
    frame, band = i // bands, i % bands
    tiles_x, tiles_y = grid
    low, high = band * tiles_y // bands, (band + 1) * tiles_y // bands
    base = frame * tiles_x * tiles_y
    for tile in range(base + low * tiles_x, base + high * tiles_x):
        count[tile] = 0
    for t in range(frame_start[frame], frame_start[frame + 1]):
        first, last = box[t, 1] // TILE, box[t, 3] // TILE
        if box[t, 2] < box[t, 0] or last < low or first >= high:
            continue
        left, right = box[t, 0] // TILE, box[t, 2] // TILE
        single = left == right and first == last
        for ty in range(max(first, low), min(last + 1, high)):
            for tx in range(left, right + 1):
                if single or not tile_apart(t, tx, ty, planes, middle[0], middle[1]):
                    count[base + ty * tiles_x + tx] += 1


@device
def cells_of(t, box):
    """How many tiles the box of triangle t touches."""
    if box[t, 2] < box[t, 0]:
        return 0
    return (box[t, 3] // TILE - box[t, 1] // TILE + 1) * (box[t, 2] // TILE - box[t, 0] // TILE + 1)


@device
def sum_frame(frame, tiles, count, box, frame_start, frame_total):
    """Entries, non-empty tiles and cells (pairs of a triangle and a tile its box touches) of a frame."""
    entries, active, cells = 0, 0, 0
    for tile in range(frame * tiles, (frame + 1) * tiles):
        entries += count[tile]
        if count[tile] > 0:
            active += 1
    for t in range(frame_start[frame], frame_start[frame + 1]):
        cells += cells_of(t, box)
    frame_total[frame, 0] = entries
    frame_total[frame, 1] = active
    frame_total[frame, 2] = cells


@device
def scan_frames(i, frames, frame_total):
    """Turn totals into starts; the last row holds the totals of all frames."""
    entries, active, cells = 0, 0, 0
    for frame in range(frames + 1):
        n, m, l = frame_total[frame, 0], frame_total[frame, 1], frame_total[frame, 2]
        frame_total[frame, 0] = entries
        frame_total[frame, 1] = active
        frame_total[frame, 2] = cells
        entries += n
        active += m
        cells += l


@device
def scan_tiles(frame, grid, count, box, frame_start, frame_total, start, active, first_cell):
    """First entry of each tile, the list of tiles that have any, and the first cell of each triangle.

    The list takes every fourth row of tiles at a time: threads that share it evenly then share the work evenly too,
    wherever in the picture it lies.
    """
    entry, slot, cell = frame_total[frame, 0], frame_total[frame, 1], frame_total[frame, 2]
    base = frame * grid[0] * grid[1]
    for tile in range(base, base + grid[0] * grid[1]):
        start[tile] = entry
        entry += count[tile]
    start[base + grid[0] * grid[1]] = entry
    for phase in range(4):
        for row in range((phase * 2 + phase // 2) % 4, grid[1], 4):
            for tile in range(base + row * grid[0], base + (row + 1) * grid[0]):
                if count[tile] > 0:
                    active[slot] = tile
                    slot += 1
    for t in range(frame_start[frame], frame_start[frame + 1]):
        first_cell[t] = cell
        cell += cells_of(t, box)


@device
def fill_band(i, bands, box, planes, frame_start, grid, middle, start, count, entry_triangle, entry_tile):
    """Write the lists of the tiles in band i; ``count`` is used up as a cursor."""
    frame, band = i // bands, i % bands
    tiles_x, tiles_y = grid
    low, high = band * tiles_y // bands, (band + 1) * tiles_y // bands
    base = frame * tiles_x * tiles_y
    for tile in range(base + low * tiles_x, base + high * tiles_x):
        count[tile] = start[tile]
    for t in range(frame_start[frame], frame_start[frame + 1]):
        first, last = box[t, 1] // TILE, box[t, 3] // TILE
        if box[t, 2] < box[t, 0] or last < low or first >= high:
            continue
        left, right = box[t, 0] // TILE, box[t, 2] // TILE
        single = left == right and first == last
        for ty in range(max(first, low), min(last + 1, high)):
            for tx in range(left, right + 1):
                if single or not tile_apart(t, tx, ty, planes, middle[0], middle[1]):
                    tile = base + ty * tiles_x + tx
                    entry_triangle[count[tile]] = t
                    entry_tile[count[tile]] = tile
                    count[tile] += 1


@device
def dealt(i, n):
    """The i-th of n things when they are taken from four heaps in turn; i runs to ``dealings(n)``, n or more is none.

    Neighbours in i lie far apart, so that threads which share i evenly share the work evenly too.
    """
    return i % 4 * ((n + 3) // 4) + i // 4


@device
def dealings(n):
    """How many times to deal out n things."""
    return (n + 3) // 4 * 4


@device
def note_entry(e, entry_triangle, entry_tile, box, grid, first_cell, cell_entry):
    """Tell the cell of entry e its entry, counted from 1; cells of tiles that the triangle does not reach stay 0."""
    t = entry_triangle[e]
    cell = entry_tile[e] % (grid[0] * grid[1])
    left, top = box[t, 0] // TILE, box[t, 1] // TILE
    across = box[t, 2] // TILE - left + 1
    cell_entry[first_cell[t] + (cell // grid[0] - top) * across + cell % grid[0] - left] = e + 1


def count_tiles(frames, bands, box, planes, frame_start, grid, middle, count, frame_total, start, active, first_cell):
    """Schedule: how many entries each tile will have, and where they will start. frame_total begins as zeros."""
    launch(frames * bands, count_band, bands, box, planes, frame_start, grid, middle, count)
    launch(frames, sum_frame, grid[0] * grid[1], count, box, frame_start, frame_total)
    launch(1, scan_frames, frames, frame_total)
    launch(frames, scan_tiles, grid, count, box, frame_start, frame_total, start, active, first_cell)


def fill_tiles(frames, bands, box, planes, frame_start, grid, middle, start, count, entry_triangle, entry_tile):
    """Schedule: write the entries."""
    launch(frames * bands, fill_band, bands, box, planes, frame_start, grid, middle, start, count, entry_triangle,
           entry_tile)
