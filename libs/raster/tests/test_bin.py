"""Triangles sorted to tiles, against a plain search."""

import numpy as np
import pytest

from diffloom_kernels import Program, launch
from diffloom_raster.kernels import (
    TILE,
    count_cells,
    count_tiles,
    fill_tiles,
    interleave,
    interleave_count,
    record_entry,
)
from diffloom_raster.records import Bins, EntryCells, FrameSetup, TileGrid, TileLists, TriangleMesh, Viewport


def noting(lists, box, grid, cells):
    launch(lists.triangle.shape[0], record_entry, lists, box, grid, cells)


program = Program("test_bin", (count_tiles, fill_tiles, noting))
HEIGHT, WIDTH = 30, 44
GRID = -(-WIDTH // TILE), -(-HEIGHT // TILE)
MIDDLE = 0.5 * WIDTH, 0.5 * HEIGHT


def soup(counts=(40, 0, 25)):
    rng = np.random.default_rng(4)
    n = sum(counts)
    low = rng.integers(0, [WIDTH, HEIGHT], (n, 2))
    high = np.minimum(low + rng.integers(0, 20, (n, 2)), [WIDTH - 1, HEIGHT - 1])
    box = np.concatenate([low, high], axis=1).astype(np.int32)
    box[3] = (0, 0, -1, -1)
    planes = np.tile(np.array([0.0, 0.0, 1.0]), (n, 3))
    planes[10:30, :3] = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 1)) * 8], axis=1)
    return box, planes, np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def count_frames(frame_start, bands):
    none = np.zeros((0, 3), np.int32)
    grid = TileGrid(*GRID, HEIGHT, WIDTH, np.zeros(1), np.zeros(1))
    return FrameSetup(Viewport(0, 0.1, HEIGHT, WIDTH), grid, TriangleMesh(1, none, frame_start, none), bands)


def sort(box, planes, frame_start, bands, target):
    frames, tiles = len(frame_start) - 1, GRID[0] * GRID[1]
    bins = Bins(
        np.empty(frames * tiles, np.int32), np.zeros((frames + 1, 3), np.int32), np.empty(frames * tiles + 1, np.int32),
        np.empty(frames * tiles, np.int32), np.empty(len(box), np.int32),
    )  # fmt: skip
    program.run("count_tiles", count_frames(frame_start, bands), box, planes, bins, target=target)
    entries, busy, cells = bins.totals[-1]
    lists = TileLists(bins.start, np.empty(entries, np.int32), np.empty(entries, np.int32), bins.active)
    program.run("fill_tiles", count_frames(frame_start, bands), box, planes, bins.counts, lists, target=target)
    return lists, np.sort(bins.active[:busy]), bins.first_cell, cells


def reaches(box, planes, tx, ty):
    """True if some pixel of the tile, in the box, may lie on the right side of all planes."""
    if box[2] < tx * TILE or box[0] >= (tx + 1) * TILE or box[3] < ty * TILE or box[1] >= (ty + 1) * TILE:
        return False
    if box[0] // TILE == box[2] // TILE and box[1] // TILE == box[3] // TILE:
        return True
    x = np.arange(tx * TILE, (tx + 1) * TILE) + 0.5 - MIDDLE[0]
    y = np.arange(ty * TILE, (ty + 1) * TILE)[:, None] + 0.5 - MIDDLE[1]
    return all((a * x + b * y + c >= 0).any() for a, b, c in planes.reshape(3, 3))


@pytest.mark.parametrize("bands", [1, 3, 4])
@pytest.mark.parametrize("target", ["serial", "parallel"])
def test_tiles_list_the_triangles_that_reach_them(bands, target):
    box, planes, frame_start = soup()
    lists, active, first_cell, cells = sort(box, planes, frame_start, bands, target)
    start, triangle, tile, tiles = lists.start, lists.triangle, lists.tile, GRID[0] * GRID[1]
    for number in range(3 * tiles):
        frame, ty, tx = number // tiles, number % tiles // GRID[0], number % GRID[0]
        want = [t for t in range(frame_start[frame], frame_start[frame + 1]) if reaches(box[t], planes[t], tx, ty)]
        part = slice(start[number], start[number + 1])
        assert triangle[part].tolist() == want
        assert (tile[part] == number).all()
        assert (number in active) == bool(want)
    cell_entry = np.zeros(cells, np.int32)
    program.run("noting", lists, box, count_frames(frame_start, bands).grid, EntryCells(first_cell, cell_entry))
    for t in range(len(box)):
        noted = cell_entry[first_cell[t] : first_cell[t] + count_cells(t, box)]
        assert sorted(noted[noted > 0] - 1) == np.flatnonzero(triangle == t).tolist()
    assert cells > len(triangle)


@pytest.mark.parametrize("n", [0, 1, 5, 8, 13])
def test_interleaving_takes_everything_once(n):
    assert sorted(i for i in (interleave(k, n) for k in range(interleave_count(n))) if i < n) == list(range(n))
