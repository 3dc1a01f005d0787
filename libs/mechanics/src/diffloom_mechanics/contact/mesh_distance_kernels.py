"""Signed distance of grid nodes from a closed triangle mesh: nearest triangle, sign from its normal there."""

import numpy as np

from diffloom_kernels import Program, constant, cross3, device, dot3, launch, ld3, mul3, sqrt, sub3

FEATURES = ("face", "corner 0", "corner 1", "corner 2", "edge 01", "edge 12", "edge 20")


@device
def nearest_on_triangle(p, a, b, c):
    """Return the vector from the nearest point of triangle a b c to p, and the number of the FEATURE that holds this
    point.
    """
    zero = constant(p[0], 0)
    one = constant(p[0], 1)
    ab, bc, ca = sub3(b, a), sub3(c, b), sub3(a, c)
    pa, pb, pc = sub3(p, a), sub3(p, b), sub3(p, c)
    n = cross3(ab, sub3(c, a))
    # Inside the prism over the triangle the nearest point is on the face.
    if dot3(cross3(n, ab), pa) >= zero and dot3(cross3(n, bc), pb) >= zero and dot3(cross3(n, ca), pc) >= zero:
        return mul3(n, dot3(pa, n) / dot3(n, n)), 0
    best = pa
    feature = 1
    if dot3(pb, pb) < dot3(best, best):
        best = pb
        feature = 2
    if dot3(pc, pc) < dot3(best, best):
        best = pc
        feature = 3
    for k in range(3):
        start = pa if k == 0 else (pb if k == 1 else pc)
        edge = ab if k == 0 else (bc if k == 1 else ca)
        s = dot3(start, edge) / dot3(edge, edge)
        if s > zero and s < one:
            d = sub3(start, mul3(edge, s))
            if dot3(d, d) < dot3(best, best):
                best = d
                feature = 4 + k
    return best, feature


@device
def node_distance(i, size, origin, cell, corners, normals, centre, radius, values):
    """Store the signed distance of node i. Triangles whose ball is farther than the best so far are left out."""
    x = i // (size[1] * size[2])
    y = (i // size[2]) % size[1]
    z = i % size[2]
    R = values.dtype.type
    p = (origin[0] + R(x) * cell[0], origin[1] + R(y) * cell[0], origin[2] + R(z) * cell[0])
    best = R(1e300)
    sign = R(1)
    for f in range(corners.shape[0]):
        away = sub3(p, ld3(centre, f))
        limit = best + radius[f]
        if dot3(away, away) < limit * limit:
            a = (corners[f, 0], corners[f, 1], corners[f, 2])
            b = (corners[f, 3], corners[f, 4], corners[f, 5])
            c = (corners[f, 6], corners[f, 7], corners[f, 8])
            d, feature = nearest_on_triangle(p, a, b, c)
            distance = sqrt(dot3(d, d))
            if distance < best:
                best = distance
                n = (normals[f, feature, 0], normals[f, feature, 1], normals[f, feature, 2])
                sign = R(1) if dot3(d, n) >= R(0) else R(-1)
    values[i] = sign * best


def fill(size, origin, cell, corners, normals, centre, radius, values):
    """Pipeline: the signed distance of every node."""
    launch(values.shape[0], node_distance, size, origin, cell, corners, normals, centre, radius, values)


def samples(dtype):
    """Return example arguments by pipeline."""
    real = np.zeros((1, 9), dtype)
    return {
        "fill": (np.ones(3, np.int32), real[0, :3], real[0, :1], real, np.zeros((1, 7, 3), dtype), real[:, :3],
                 real[0, :1], np.zeros(1, dtype)),
    }


PROGRAM = Program("mesh-distance", pipelines=(fill,), samples=samples)
