"""Exact coverage by another way, slow and in plain Python: a pixel's square is divided along every line there is.

All edges of all triangles that reach a pixel cut the square, as whole lines. Inside of the cells that this leaves,
triangles either cover everything or nothing, so a look at one inner point says which is nearest: no order, no
ownership of pieces, no adjoint.
"""

import numpy as np


def divide(cells, a, b):
    """Cut all cells along the line through a and b."""
    out = []
    d = b - a
    for cell in cells:
        side = d[0] * (cell[:, 1] - a[1]) - d[1] * (cell[:, 0] - a[0])
        if side.min() >= -1e-13 or side.max() <= 1e-13:
            out.append(cell)
            continue
        parts = ([], [])
        for i, (p, s) in enumerate(zip(cell, side, strict=True)):
            q, r = cell[(i + 1) % len(cell)], side[(i + 1) % len(cell)]
            for part, sign in zip(parts, (1.0, -1.0), strict=True):
                if sign * s >= 0.0:
                    part.append(p)
            if s * r < 0.0:
                for part in parts:
                    part.append(p + (q - p) * (s / (s - r)))
        out += [np.array(part) for part in parts if len(part) > 2]
    return out


def moments(cell):
    """Area and centroid of a convex polygon."""
    x, y = (cell - cell[0]).T
    u, v = np.roll(x, -1), np.roll(y, -1)
    cross = x * v - u * y
    area = 0.5 * cross.sum()
    if area < 1e-14:
        return 0.0, cell.mean(axis=0)
    return area, cell[0] + np.array([(cross * (x + u)).sum(), (cross * (y + v)).sum()]) / (6.0 * area)


def weights(point, corner, depth):
    """Weights in space of a triangle's corners (3, 2) at a point, of depths (3,)."""
    flat = np.linalg.solve(np.vstack([corner.T, np.ones(3)]), np.append(point, 1.0))
    over = flat / depth
    return over / over.sum()


def draw_pixel(left, top, corners, depths, colours):
    """rgb and alpha of the pixel at (left, top), over black.

    corners (faces, 3, 2) [px] and depths (faces, 3), colours (faces, 3, 3) at the corners.
    """
    low, high = corners.min(axis=1), corners.max(axis=1)
    here = np.flatnonzero((low < [left + 1, top + 1]).all(axis=1) & (high > [left, top]).all(axis=1))
    cells = [np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) + [float(left), float(top)]]
    for f in here:
        for k in range(3):
            cells = divide(cells, corners[f, k], corners[f, (k + 1) % 3])
    found = {}
    for cell in cells:
        area, middle = moments(cell)
        best, nearest = -1, np.inf
        for f in here:
            if area > 0.0:
                flat = np.linalg.solve(np.vstack([corners[f].T, np.ones(3)]), np.append(middle, 1.0))
                if flat.min() > 0.0 and weights(middle, corners[f], depths[f]) @ depths[f] < nearest:
                    best, nearest = f, weights(middle, corners[f], depths[f]) @ depths[f]
        if best >= 0:
            total, moment = found.get(best, (0.0, np.zeros(2)))
            found[best] = total + area, moment + area * middle
    rgba = np.zeros(4)
    for f, (area, moment) in found.items():
        rgba[:3] += area * (weights(moment / area, corners[f], depths[f]) @ colours[f])
        rgba[3] += area
    return rgba


def draw(screen, faces, colours, size):
    """(height, width, 4). screen: (points, 3) x, y [px] from the top left corner and depth; colours: (points, 3)."""
    corners, depths = screen[faces][..., :2], screen[faces][..., 2]
    image = np.zeros((*size, 4))
    for i in range(size[0]):
        for j in range(size[1]):
            image[i, j] = draw_pixel(j, i, corners, depths, colours[faces])
    return image
