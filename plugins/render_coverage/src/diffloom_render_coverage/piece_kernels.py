"""Visible pieces of a pixel: convex polygons that divide its square among the triangles seen in it.

The pixel, or a square that is a part of it, begins as one piece of the background. A triangle takes from every piece
the part in which it is nearer: three cuts along its edges give that part and at most three convex rests, which their
owner keeps. Where two triangles intersect, the part is cut once more, along the line of equal depth. So the pieces
always divide the square, for any order of the triangles; front to back saves work.

Corners are counted from the pixel's centre. Each side of a piece knows the edge of a triangle that it lies on, or
the two triangles on whose line of equal depth it lies, if any: see side_kernels.py.

A square holds at most PIECES pieces of at most CORNERS corners. Where that is not enough it is crowded: a triangle then
takes a piece as a whole if it covers half of it.
"""

from __future__ import annotations

from diffloom_kernels import absolute, constant, device, maximum, minimum
from diffloom_raster.kernels import is_outside_box

from .triangle_kernels import EDGE, FAR, NEAR

#: Pieces of a pixel at most, and corners of a piece.
PIECES, CORNERS = 64, 16
#: Slots of a worker: pieces, then two for the part a triangle may take and one for parts that are discarded.
SLOTS = PIECES + 3
#: Owner of the pieces that no triangle covers.
BACKGROUND = -1


@device
def measure(p, pieces):
    """Area and first moments of piece p."""
    x, y, n = pieces.x, pieces.y, pieces.count[p]
    zero = constant(x[p, 0], 0)
    area, mx, my = zero, zero, zero
    for i in range(n):
        j = i + 1 if i + 1 < n else 0
        cross = x[p, i] * y[p, j] - x[p, j] * y[p, i]
        area += cross
        mx += cross * (x[p, i] + x[p, j])
        my += cross * (y[p, i] + y[p, j])
    return area * constant(zero, 0.5), mx * constant(zero, 1 / 6), my * constant(zero, 1 / 6)


@device
def set_distances(p, t, k, left, top, touch, outline, pieces):
    """Distances of the corners of piece p from edge k of triangle t, positive inside; the least and the largest.

    left, top: the pixel's centre.
    """
    at = EDGE * k
    ax, ay = outline[t, at] - left, outline[t, at + 1] - top
    nx, ny = outline[t, at + 2], outline[t, at + 3]
    zero = constant(ax, 0)
    low, high = zero, zero
    for i in range(pieces.count[p]):
        d = nx * (pieces.x[p, i] - ax) + ny * (pieces.y[p, i] - ay)
        if absolute(d) <= touch:
            d = zero
        pieces.value[p, i] = d
        low, high = minimum(low, d), maximum(high, d)
    return low, high


@device
def add_corner(p, x, y, tag, partner, pieces):
    """Append a corner to piece p."""
    n = pieces.count[p]
    pieces.x[p, n], pieces.y[p, n], pieces.tag[p, n], pieces.partner[p, n] = x, y, tag, partner
    pieces.count[p] = n + 1


@device(inline=False)
def cut(p, inner, outer, mark, with_, pieces):
    """Cut piece p where its values are zero: the positive part becomes ``inner``, the rest ``outer``, both with sides
    along the cut that are tagged ``mark``, with the partner ``with_``."""
    n = pieces.count[p]
    pieces.count[inner] = 0
    pieces.count[outer] = 0
    zero = constant(pieces.x[p, 0], 0)
    for i in range(n):
        j = i + 1 if i + 1 < n else 0
        s, r = pieces.value[p, i], pieces.value[p, j]
        x, y, tag, partner = pieces.x[p, i], pieces.y[p, i], pieces.tag[p, i], pieces.partner[p, i]
        if s >= zero:
            new = s == zero and r < zero
            add_corner(inner, x, y, mark if new else tag, with_ if new else partner, pieces)
        if s <= zero:
            new = s == zero and r > zero
            add_corner(outer, x, y, mark if new else tag, with_ if new else partner, pieces)
        if (s > zero and r < zero) or (s < zero and r > zero):
            part = s / (s - r)
            cx, cy = x + part * (pieces.x[p, j] - x), y + part * (pieces.y[p, j] - y)
            add_corner(inner, cx, cy, mark if s > zero else tag, with_ if s > zero else partner, pieces)
            add_corner(outer, cx, cy, tag if s > zero else mark, partner if s > zero else with_, pieces)


@device
def copy_piece(p, q, pieces):
    """Piece q becomes piece p; its owner stays."""
    n = pieces.count[p]
    pieces.count[q] = n
    for i in range(n):
        pieces.x[q, i], pieces.y[q, i] = pieces.x[p, i], pieces.y[p, i]
        pieces.tag[q, i], pieces.partner[q, i] = pieces.tag[p, i], pieces.partner[p, i]


@device
def inverse_depth(t, x, y, left, top, outline):
    """1 / depth of triangle t at a place from the pixel's centre, held between those of its corners."""
    total = constant(x, 0)
    for k in range(3):
        at = EDGE * k
        d = outline[t, at + 2] * (x - (outline[t, at] - left)) + outline[t, at + 3] * (y - (outline[t, at + 1] - top))
        total += d * outline[t, at + 5]
    one = constant(x, 1)
    return minimum(maximum(total, one / outline[t, FAR]), one / outline[t, NEAR])


@device(inline=False)
def compare_depths(p, t, u, left, top, equal, outline, pieces):
    """Write by how much triangle t is nearer than u at the corners of piece p; return the least and the largest."""
    zero = constant(left, 0)
    low, high = zero, zero
    for i in range(pieces.count[p]):
        a = inverse_depth(t, pieces.x[p, i], pieces.y[p, i], left, top, outline)
        b = inverse_depth(u, pieces.x[p, i], pieces.y[p, i], left, top, outline)
        d = a - b
        if absolute(d) <= equal * b:
            d = zero
        pieces.value[p, i] = d
        low, high = minimum(low, d), maximum(high, d)
    return low, high


@device(inline=False)
def insert(entry, base, count, left, top, rules, triangles, lists, pieces):
    """Give the triangle of an entry the parts that it covers; return the number of pieces, and if the square is crowded
    and holds intersecting triangles."""
    outline = triangles.outline
    t = lists.triangle[entry]
    zero, half = constant(left, 0), constant(left, 0.5)
    spare = base + PIECES
    before, crowded, crossing = count, 0, 0
    for i in range(before):
        p = base + i
        owner = pieces.owner[p]
        u = t
        if owner >= 0:
            u = lists.triangle[owner]
            if outline[t, NEAR] >= outline[u, FAR]:
                continue
        # Rests go behind the other pieces, and count only if the triangle takes the part.
        full = count + 4 > PIECES or pieces.count[p] + 4 > CORNERS
        part, after, apart = p, count, False
        for k in range(3):
            low, high = set_distances(part, t, k, left, top, rules.touch, outline, pieces)
            if high <= zero:
                apart = True
                break
            if low >= zero:
                continue
            inner = spare + (1 if part == spare else 0)
            rest = spare + 2 if full else base + after
            cut(part, inner, rest, 3 * entry + k, -1, pieces)
            part = inner
            if not full and measure(rest, pieces)[0] > rules.least:
                pieces.owner[rest] = owner
                after += 1
        if apart:
            continue
        area = measure(part, pieces)[0]
        if area <= rules.least:
            continue
        if full:
            crowded = 1
        if owner >= 0:
            low, high = compare_depths(part, t, u, left, top, rules.equal, outline, pieces)
            if high <= zero and (low < zero or u < t):
                continue
            if low < zero:
                crossing = 1
                inner = spare + (1 if part == spare else 0)
                rest = spare + 2 if full else base + after
                cut(part, inner, rest, -2 - entry, owner, pieces)
                part = inner
                area = measure(part, pieces)[0]
                if area <= rules.least:
                    continue
                if not full and measure(rest, pieces)[0] > rules.least:
                    pieces.owner[rest] = owner
                    after += 1
        if full:
            if area >= half * measure(p, pieces)[0]:
                pieces.owner[p] = entry
            continue
        if part != p:
            copy_piece(part, p, pieces)
        pieces.owner[p] = entry
        count = after
    return count, crowded, crossing


@device
def start_square(base, part, level, pieces):
    """Square ``part`` of the 2^level x 2^level that divide a pixel, as one piece of the background."""
    across = 1 << level
    half = constant(pieces.x[base, 0], 0.5)
    size = constant(half, 1) / constant(half, across)
    x0, y0 = constant(half, part % across) * size - half, constant(half, part // across) * size - half
    x1, y1 = x0 + size, y0 + size
    pieces.count[base] = 0
    pieces.owner[base] = BACKGROUND
    add_corner(base, x0, y0, -1, -1, pieces)
    add_corner(base, x1, y0, -1, -1, pieces)
    add_corner(base, x1, y1, -1, -1, pieces)
    add_corner(base, x0, y1, -1, -1, pieces)


@device
def is_beside(t, left, top, part, level, outline):
    """Return true if the box around triangle t does not touch a square: see start_square."""
    across = 1 << level
    size = constant(left, 1) / constant(left, across)
    x0 = left - constant(left, 0.5) + constant(left, part % across) * size
    y0 = top - constant(left, 0.5) + constant(left, part // across) * size
    a, b, c = outline[t, 0], outline[t, EDGE], outline[t, 2 * EDGE]
    if maximum(maximum(a, b), c) < x0 or minimum(minimum(a, b), c) > x0 + size:
        return True
    a, b, c = outline[t, 1], outline[t, EDGE + 1], outline[t, 2 * EDGE + 1]
    return maximum(maximum(a, b), c) < y0 or minimum(minimum(a, b), c) > y0 + size


@device
def deepest_owner(base, count, outline, lists, pieces):
    """The largest depth of a triangle that owns a piece, and whether the background owns none."""
    deepest = constant(pieces.x[base, 0], 0)
    for i in range(count):
        owner = pieces.owner[base + i]
        if owner == BACKGROUND:
            return deepest, False
        deepest = maximum(deepest, outline[lists.triangle[owner], FAR])
    return deepest, True


@device(inline=False)
def find_pieces(base, tile, row, column, part, level, grid, rules, triangles, lists, pieces):
    """Divide a square of a pixel; returns the number of pieces, and whether the square is crowded and holds
    intersecting triangles. ``part`` and ``level``: see start_square."""
    left, top = grid.columns[column], grid.rows[row]
    start_square(base, part, level, pieces)
    count, crowded, crossing = 1, 0, 0
    for entry in range(lists.start[tile], lists.start[tile + 1]):
        t = lists.triangle[entry]
        if is_outside_box(t, row, column, column, triangles.box):
            continue
        if level > 0 and is_beside(t, left, top, part, level, triangles.outline):
            continue
        deepest, closed = deepest_owner(base, count, triangles.outline, lists, pieces)
        if closed and triangles.outline[t, NEAR] >= deepest:
            break
        count, full, crossed = insert(entry, base, count, left, top, rules, triangles, lists, pieces)
        crowded, crossing = maximum(crowded, full), maximum(crossing, crossed)
    return count, crowded, crossing


@device
def next_owner(base, count, owner, pieces):
    """The least entry above ``owner`` that owns a piece, or -1."""
    found = -1
    for i in range(count):
        other = pieces.owner[base + i]
        if other > owner and (found < 0 or other < found):
            found = other
    return found


@device
def measure_owner(base, count, owner, pieces):
    """Area and centroid of all pieces of an owner together; the centroid lies in the pixel."""
    zero, half = constant(pieces.x[base, 0], 0), constant(pieces.x[base, 0], 0.5)
    area, mx, my = zero, zero, zero
    for i in range(count):
        if pieces.owner[base + i] == owner:
            a, u, v = measure(base + i, pieces)
            area, mx, my = area + a, mx + u, my + v
    mx, my = mx / area, my / area
    return area, minimum(maximum(mx, -half), half), minimum(maximum(my, -half), half)
