"""Where pixels lie, and the corners of triangles.

view: (tiles across, tiles down, columns, rows), the last two the x and y of pixel centres, filled up to whole tiles.
Images that kernels work on are filled up likewise: (frames, rows, columns). A box holds pixels (first column, first
row, last column, last row), both ends included; it is empty when the last column comes before the first.
"""

from __future__ import annotations

from diffloom.kernels import device
from diffloom.shading.kernels.tiles import TILE


@device
def tile_corner(tile, view):
    """Frame, first row and first column of a tile; tiles are numbered through all frames."""
    cells = view[0] * view[1]
    cell = tile % cells
    return tile // cells, cell // view[0] * TILE, cell % view[0] * TILE


@device
def apart(n, row, first, last, box):
    """Whether the pixels from column first to last of a row all lie outside of the box of triangle n."""
    return row < box[n, 1] or row > box[n, 3] or last < box[n, 0] or first > box[n, 2]


@device
def set_box(n, box, left, top, right, bottom):
    """box[n], made empty when it holds nothing."""
    empty = right < left or bottom < top
    box[n, 0], box[n, 1] = 0 if empty else left, 0 if empty else top
    box[n, 2], box[n, 3] = -1 if empty else right, -1 if empty else bottom


@device
def corner_rows(n, mesh):
    """Rows of the points that triangle n joins. mesh: (points, faces) of a frame, faces being rows of points."""
    count, faces = mesh
    f, shift = n % faces.shape[0], n // faces.shape[0] * count
    return faces[f, 0] + shift, faces[f, 1] + shift, faces[f, 2] + shift


@device
def load_corner(point, mesh, n):
    """(x0, y0, x1, y1, x2, y2) of triangle n. point: rows (x, y, depth)."""
    a, b, c = corner_rows(n, mesh)
    return (point[a, 0], point[a, 1], point[b, 0], point[b, 1], point[c, 0], point[c, 1])


@device
def load_depth(point, mesh, n):
    """(z0, z1, z2) of triangle n."""
    a, b, c = corner_rows(n, mesh)
    return (point[a, 2], point[b, 2], point[c, 2])
