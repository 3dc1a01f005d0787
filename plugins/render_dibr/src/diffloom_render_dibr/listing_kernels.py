"""The covered pixels as a list, triangle by triangle.

So a triangle finds its pixels side by side, forward and backward, and nothing is searched or shared. Each triangle's
part is filled up to whole runs, the last pixel being repeated: a run of lanes never mixes triangles. The part of a
large triangle is cut into *chunks*, the work items of interpolation.

counts, pixels, planes: see records.py; of the planes the channels of a pixel lie side by side.
"""

from __future__ import annotations

from diffloom_kernels import constant, device, maximum, minimum

#: Pixels to which parts are filled up.
RUN = 8
#: Columns of a box from which on it pays to find a row's ends instead of looking through the row.
WIDE = 16


@device
def name_frames(t, frame_start, frame):
    """frame[n] = t for the triangles of frame t."""
    for n in range(frame_start[t], frame_start[t + 1]):
        frame[n] = t


@device
def row_ends(n, i, inner, edges, grid):
    """First and last column that row i of triangle n may cover; edges is empty by Kaolin's rules."""
    columns, rows = grid.columns, grid.rows
    first, last = inner[n, 0], inner[n, 2]
    if edges.shape[0] == 0 or last - first < WIDE:
        return first, last
    left, right = columns[first], columns[last]
    low, high = left, right
    for k in range(3):
        dx, dy = edges[n, 4 * k + 2], edges[n, 4 * k + 3]
        if dy != constant(dy, 0):
            x = edges[n, 4 * k] + dx * (rows[i] - edges[n, 4 * k + 1]) / dy
            if dy > constant(dy, 0):
                high = minimum(high, x)
            else:
                low = maximum(low, x)
    # one more on each side for rounding: pixels are asked whom they show
    low, high = minimum(low, right), maximum(high, left)
    return maximum(first, first + int(low - left) - 1), minimum(last, first + int(high - left) + 2)


@device
def count_pixels(n, length, grid, inner, edges, coverage, counts):
    """count[n]: pixels that show triangle n; first[n + 1]: filled up to runs; chunk[n + 1]: chunks of ``length``."""
    found, t = 0, counts.frame[n]
    if coverage.visible[n]:
        for i in range(inner[n, 1], inner[n, 3] + 1):
            begin, last = row_ends(n, i, inner, edges, grid)
            for j in range(begin, last + 1):
                found += 1 if coverage.face_index[t, i, j] == n else 0
    filled = (found + RUN - 1) // RUN * RUN
    counts.shown[n] = found
    counts.first[n + 1] = filled
    counts.chunk[n + 1] = (filled + length - 1) // length


@device
def running_sum(k, count):
    """count[n] += count[n - 1], from 0 on."""
    count[0] = 0
    for n in range(1, count.shape[0]):
        count[n] += count[n - 1]


@device
def list_pixels(n, grid, inner, edges, face_index, pixels):
    """The pixels of triangle n: their place in its frame (filled up to tiles), their centres, their chunks' owner."""
    first, chunk, spot, xs, ys = pixels.counts.first, pixels.counts.chunk, pixels.spot, pixels.x, pixels.y
    if pixels.counts.shown[n] == 0:
        return
    k, t = first[n], pixels.counts.frame[n]
    for i in range(inner[n, 1], inner[n, 3] + 1):
        begin, last = row_ends(n, i, inner, edges, grid)
        for j in range(begin, last + 1):
            if face_index[t, i, j] == n:
                spot[k] = i * face_index.shape[2] + j
                xs[k], ys[k] = grid.columns[j], grid.rows[i]
                k += 1
    for m in range(k, first[n + 1]):
        spot[m], xs[m], ys[m] = spot[k - 1], xs[k - 1], ys[k - 1]
    for c in range(chunk[n], chunk[n + 1]):
        pixels.owner[c] = n


@device
def chunk_pixels(c, length, pixels):
    """Triangle, begin and end of chunk c in the list."""
    first, chunk = pixels.counts.first, pixels.counts.chunk
    n = pixels.owner[c]
    begin = first[n] + (c - chunk[n]) * length
    return n, begin, minimum(begin + length, first[n + 1])


# Three channels are told apart from any number: they are what images have, and need no loop.


@device
def put(c, channels, stride, length, pixels, value, planes):
    """planes[frame, spot stride + d] = value[d, pixel] for the pixels of chunk c."""
    n, begin, end = chunk_pixels(c, length, pixels)
    counts, spot = pixels.counts, pixels.spot
    t, end = counts.frame[n], minimum(end, counts.first[n] + counts.shown[n])
    if channels == 3:
        for k in range(begin, end):
            at = spot[k] * stride
            planes[t, at], planes[t, at + 1], planes[t, at + 2] = value[0, k], value[1, k], value[2, k]
        return
    for k in range(begin, end):
        for d in range(channels):
            planes[t, spot[k] * stride + d] = value[d, k]


@device
def take(c, channels, stride, length, pixels, adj_planes, adj_value):
    """adj_value[d, pixel] = adj_planes[frame, spot stride + d]: the adjoint of put; what fills up runs gets 0."""
    n, begin, end = chunk_pixels(c, length, pixels)
    counts, spot = pixels.counts, pixels.spot
    t, real = counts.frame[n], minimum(end, counts.first[n] + counts.shown[n])
    if channels == 3:
        for k in range(begin, real):
            at = spot[k] * stride
            adj_value[0, k], adj_value[1, k] = adj_planes[t, at], adj_planes[t, at + 1]
            adj_value[2, k] = adj_planes[t, at + 2]
    else:
        for k in range(begin, real):
            for d in range(channels):
                adj_value[d, k] = adj_planes[t, spot[k] * stride + d]
    for k in range(real, end):
        for d in range(channels):
            adj_value[d, k] = adj_value.dtype.type(0)


@device
def lay_ground(r, face_index, miss, made):
    """Row r of all frames where nothing is shown: the ground's channels, and far, its last; and the mask everywhere."""
    height, width = face_index.shape[1], face_index.shape[2]
    frame, i = r // height, r % height
    channels, ground, planes = made.channels, made.ground, made.colour
    stride, one = channels + made.soft, planes.dtype.type(1)
    if channels == 3:
        red, green, blue = ground[0], ground[1], ground[2]
        for j in range(width):
            if face_index[frame, i, j] < 0:
                at = (i * width + j) * stride
                planes[frame, at], planes[frame, at + 1], planes[frame, at + 2] = red, green, blue
    else:
        for j in range(width):
            if face_index[frame, i, j] < 0:
                for d in range(channels):
                    planes[frame, (i * width + j) * stride + d] = ground[d]
    if made.deep:
        far = ground[channels]
        for j in range(width):
            if face_index[frame, i, j] < 0:
                made.depth[frame, i * width + j] = far
    if made.soft:
        for j in range(width):
            planes[frame, (i * width + j) * stride + channels] = one - miss[frame, i, j]
