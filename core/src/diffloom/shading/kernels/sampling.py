"""Reading a texture at a run of points, and the adjoint: the kernels' twin of diffloom.shading.texture.

mode: (corners, bilinear) as 0 or 1. image: (height, width, 3).
"""

from __future__ import annotations

from diffloom.kernels import add3, clamp, device, floor, minimum, mul3, sub3, where
from diffloom.shading.kernels.runs import index_of


@device
def texel_place(place, size, corners, image):
    """Position along an axis in texels, 0 at the centre of the first, and d position / d place (0 at the border)."""
    R = image.dtype.type
    last = R(size - 1)
    slope = last if corners else R(size)
    free = place * slope - (R(0.0) if corners else R(0.5))
    held = clamp(free, R(0.0), last)
    return held, where(held == free, slope, R(0.0))


@device
def lower_texel(place, size, bilinear, image):
    """The texel at or before a position, leaving room for a next one, as a float."""
    R = image.dtype.type
    if bilinear:
        return minimum(floor(place), R(max(size - 2, 0)))
    return floor(place + R(0.5))


@device
def texel(i, j, image):
    """image[i, j]."""
    return (image[i, j, 0], image[i, j, 1], image[i, j, 2])


@device
def sample(u, v, mode, image):
    """Colours at texture coordinates (u, v), and their derivatives by u and v."""
    R = image.dtype.type
    corners, bilinear = mode
    height, width = image.shape[0], image.shape[1]
    x, slope_x = texel_place(u, width, corners, image)
    y, slope_y = texel_place(R(1.0) - v, height, corners, image)
    left, top = lower_texel(x, width, bilinear, image), lower_texel(y, height, bilinear, image)
    j, i = index_of(left), index_of(top)
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
    """adj_image[copy, i, j] += weight adj, one pixel."""
    adj_image[copy, i, j, 0] += weight * adj[0]
    adj_image[copy, i, j, 1] += weight * adj[1]
    adj_image[copy, i, j, 2] += weight * adj[2]


@device
def sample_scatter(u, v, mode, adj, copy, adj_image):
    """Cotangent of the image for one point with the cotangent ``adj`` of its colour; all numbers are scalars."""
    R = adj_image.dtype.type
    corners, bilinear = mode
    height, width = adj_image.shape[1], adj_image.shape[2]
    x, slope_x = texel_place(u, width, corners, adj_image)
    y, slope_y = texel_place(R(1.0) - v, height, corners, adj_image)
    left, top = lower_texel(x, width, bilinear, adj_image), lower_texel(y, height, bilinear, adj_image)
    i, j = int(top), int(left)
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
