"""Normals of vertices and their adjoint.

The normal of vertex i is the sum over its faces of (b - a) x (c - a), scaled to length one; nothing where the sum is
shorter than SHORTEST. Frames of ``count`` vertices repeat the faces; corners: see records.Corners.
"""

from __future__ import annotations

from diffloom_kernels import add3, cross3, device, dot3, launch, ld3, length3, mul3, st3, sub3

#: A sum of face normals shorter than this [m^2] has no direction.
SHORTEST = 1e-18


@device
def face_normal(f, shift, faces, vertices):
    """(b - a) x (c - a) of face f in the frame that starts at row ``shift``."""
    a = ld3(vertices, faces[f, 0] + shift)
    return cross3(sub3(ld3(vertices, faces[f, 1] + shift), a), sub3(ld3(vertices, faces[f, 2] + shift), a))


@device
def normal_sum(i, count, corners, vertices):
    """The sum of face normals around vertex i."""
    R = vertices.dtype.type
    total = (R(0.0), R(0.0), R(0.0))
    for k in range(corners.start[i % count], corners.start[i % count + 1]):
        total = add3(total, face_normal(corners.corner[k] // 3, i // count * count, corners.faces, vertices))
    return total


@device
def vertex_normal(i, count, corners, vertices, normals):
    """normals[i]."""
    R = vertices.dtype.type
    total = normal_sum(i, count, corners, vertices)
    length = length3(total)
    scale = R(1.0) / length if length > R(SHORTEST) else R(0.0)
    st3(normals, i, mul3(total, scale))


@device
def normal_sum_adjoint(i, count, corners, vertices, adj_normals, adj_sums):
    """adj_sums[i]: the cotangent of the sum, (adj - n (n . adj)) / length."""
    R = vertices.dtype.type
    total = normal_sum(i, count, corners, vertices)
    length = length3(total)
    scale = R(1.0) / length if length > R(SHORTEST) else R(0.0)
    n, adj = mul3(total, scale), ld3(adj_normals, i)
    st3(adj_sums, i, mul3(sub3(adj, mul3(n, dot3(n, adj))), scale))


@device
def vertex_normal_adjoint(i, count, corners, vertices, adj_sums, adj_vertices):
    """adj_vertices[i]: for a face abc with the cotangent s of its normal, corner a gets s x (c - b), and so round."""
    R = vertices.dtype.type
    shift = i // count * count
    total = (R(0.0), R(0.0), R(0.0))
    for k in range(corners.start[i % count], corners.start[i % count + 1]):
        f, c, faces = corners.corner[k] // 3, corners.corner[k] % 3, corners.faces
        p, q, r = faces[f, 0] + shift, faces[f, 1] + shift, faces[f, 2] + shift
        s = add3(ld3(adj_sums, p), add3(ld3(adj_sums, q), ld3(adj_sums, r)))
        if c == 0:
            p, q = q, r
        elif c == 1:
            p, q = r, p
        # Now p and q are the next two corners after corner c.
        total = add3(total, cross3(s, sub3(ld3(vertices, q), ld3(vertices, p))))
    st3(adj_vertices, i, total)


def normals_forward(count, corners, vertices, normals):
    """Pipeline: the normals of vertices."""
    launch(vertices.shape[0], vertex_normal, count, corners, vertices, normals)


def normals_backward(count, corners, vertices, adj_normals, adj_sums, adj_vertices):
    """Pipeline: the cotangent of the vertices."""
    launch(vertices.shape[0], normal_sum_adjoint, count, corners, vertices, adj_normals, adj_sums)
    launch(vertices.shape[0], vertex_normal_adjoint, count, corners, vertices, adj_sums, adj_vertices)
