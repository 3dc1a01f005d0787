"""Texture sampling at a run of points, and its adjoint. texels: see records.Texels."""

from __future__ import annotations

from diffloom_kernels import (
    add3,
    clamp,
    device,
    dot3,
    floor,
    launch,
    launch_lanes,
    ld3,
    maximum,
    minimum,
    mul3,
    st3,
    sub3,
    where,
)

from .lane_kernels import to_index


@device
def texel_place(place, size, corners, image):
    """Return the position along an axis in texels, 0 at the centre of the first, and its derivative (0 at the border).
    """
    R = image.dtype.type
    last = R(size - 1)
    slope = last if corners else R(size)
    free = place * slope - (R(0.0) if corners else R(0.5))
    held = clamp(free, R(0.0), last)
    return held, where(held == free, slope, R(0.0))


@device
def lower_texel(place, size, bilinear, image):
    """Return the texel at or before a position as a float, leaving room for a next one."""
    R = image.dtype.type
    if bilinear:
        return minimum(floor(place), R(maximum(size - 2, 0)))
    return floor(place + R(0.5))


@device
def texel(i, j, image):
    """Return image[i, j]."""
    return (image[i, j, 0], image[i, j, 1], image[i, j, 2])


@device
def sample(u, v, first, texels):
    """Return colours at (u, v) of the image whose rows begin at ``first``, and their derivatives by u and v."""
    image, corners, bilinear = texels.image, texels.corners, texels.bilinear
    R = image.dtype.type
    height, width = texels.height, image.shape[1]
    x, slope_x = texel_place(u, width, corners, image)
    y, slope_y = texel_place(R(1.0) - v, height, corners, image)
    left, top = lower_texel(x, width, bilinear, image), lower_texel(y, height, bilinear, image)
    j, i = to_index(left), to_index(top) + first
    c00 = texel(i, j, image)
    if not bilinear:
        none = mul3(c00, R(0.0))
        return c00, none, none
    right, below = 1 if width > 1 else 0, 1 if height > 1 else 0
    c01, c10, c11 = texel(i, j + right, image), texel(i + below, j, image), texel(i + below, j + right, image)
    fx, fy = x - left, y - top
    upper_step, lower_step = sub3(c01, c00), sub3(c11, c10)
    upper, lower = add3(c00, mul3(upper_step, fx)), add3(c10, mul3(lower_step, fx))
    down = sub3(lower, upper)
    along = add3(upper_step, mul3(sub3(lower_step, upper_step), fy))
    return add3(upper, mul3(down, fy)), mul3(along, slope_x), mul3(down, -slope_y)


@device
def scatter_texel(i, j, weight, adj, copy, adj_image):
    """Add weight adj to adj_image[copy, i, j], for one pixel."""
    adj_image[copy, i, j, 0] += weight * adj[0]
    adj_image[copy, i, j, 1] += weight * adj[1]
    adj_image[copy, i, j, 2] += weight * adj[2]


@device
def sample_texels_adjoint(u, v, first, texels, adj, copy, adj_image):
    """Add the cotangent of the image from one point with the cotangent ``adj`` of its colour; all numbers are scalars.
    """
    R = adj_image.dtype.type
    corners, bilinear = texels.corners, texels.bilinear
    height, width = texels.height, adj_image.shape[2]
    x, slope_x = texel_place(u, width, corners, adj_image)
    y, slope_y = texel_place(R(1.0) - v, height, corners, adj_image)
    left, top = lower_texel(x, width, bilinear, adj_image), lower_texel(y, height, bilinear, adj_image)
    i, j = int(top) + first, int(left)
    if not bilinear:
        scatter_texel(i, j, R(1.0), adj, copy, adj_image)
        return
    fx, fy = x - left, y - top
    right, below = 1 if width > 1 else 0, 1 if height > 1 else 0
    gx, gy = R(1.0) - fx, R(1.0) - fy
    scatter_texel(i, j, gx * gy, adj, copy, adj_image)
    scatter_texel(i, j + right, fx * gy, adj, copy, adj_image)
    scatter_texel(i + below, j, gx * fy, adj, copy, adj_image)
    scatter_texel(i + below, j + right, fx * fy, adj, copy, adj_image)


@device
def scatter_points(copy, texels, u, v, frame, adj_colour, adj_image):
    """Add the cotangent of the copy-th part of the points to adj_image[copy].

    u, v: (points,); adj_colour: (3, points). frame: (points,) frame whose image a point reads, empty where one image
    serves all.
    """
    copies, points = adj_image.shape[0], adj_colour.shape[1]
    for i in range(adj_image.shape[1]):
        for j in range(adj_image.shape[2]):
            for c in range(3):
                adj_image[copy, i, j, c] = adj_image.dtype.type(0)
    for k in range(points * copy // copies, points * (copy + 1) // copies):
        adj = (adj_colour[0, k], adj_colour[1, k], adj_colour[2, k])
        first = frame[k] * texels.stride if frame.shape[0] > 0 else 0
        sample_texels_adjoint(u[k], v[k], first, texels, adj, copy, adj_image)


@device
def sum_copies(i, adj_image):
    """Sum row i over all copies into the first copy."""
    for copy in range(1, adj_image.shape[0]):
        for j in range(adj_image.shape[2]):
            for c in range(3):
                adj_image[0, i, j, c] += adj_image[copy, i, j, c]


@device
def sample_of_frame(e, texels, uv, frame):
    """Return sample for point e; frame: see scatter_points."""
    if frame.shape[0] > 0:
        return sample(uv[e, 0], uv[e, 1], frame[e] * texels.stride, texels)
    return sample(uv[e, 0], uv[e, 1], 0, texels)


@device
def sample_point(e, texels, uv, frame, colour):
    """Write the colour at uv[e] to colour[e]."""
    c, by_u, by_v = sample_of_frame(e, texels, uv, frame)
    st3(colour, e, c)


@device
def sample_point_adjoint(e, texels, uv, frame, adj_colour, adj_uv):
    """Compute adj_uv[e] = (d colour / d uv)^T adj_colour[e]."""
    c, by_u, by_v = sample_of_frame(e, texels, uv, frame)
    adj = ld3(adj_colour, e)
    adj_uv[e, 0] = dot3(by_u, adj)
    adj_uv[e, 1] = dot3(by_v, adj)


def sample_points(texels, uv, frame, colour):
    """Pipeline: sample colours (points, 3) at uv (points, 2)."""
    launch_lanes(uv.shape[0], sample_point, texels, uv, frame, colour)


def sample_points_adjoint(texels, uv, frame, adj_colour, adj_uv):
    """Pipeline: compute the cotangent of uv."""
    launch_lanes(uv.shape[0], sample_point_adjoint, texels, uv, frame, adj_colour, adj_uv)


def sample_image_adjoint(texels, u, v, frame, adj_colour, adj_image):
    """Pipeline: sum the cotangent of the image (copies, rows, width, 3) into the first of the copies."""
    launch(adj_image.shape[0], scatter_points, texels, u, v, frame, adj_colour, adj_image)
    launch(adj_image.shape[1], sum_copies, adj_image)
