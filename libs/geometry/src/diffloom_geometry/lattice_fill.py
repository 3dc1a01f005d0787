"""Closed surfaces filled with tetrahedra cut from a lattice (isosurface stuffing, Labelle and Shewchuk 2007).

The lattice is body-centred cubic: corners of cubes, and their centres. Its tetrahedra are all alike and nearly regular:
two neighbouring centres and an edge of the square between them. Lattice points near the surface are moved onto it, and
tetrahedra that still cross it are cut. The result is the same on every machine, and no tetrahedron is flat.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from diffloom_geometry.closed_meshes import compute_winding_numbers
from diffloom_geometry.tetmesh import (
    Floats,
    Ints,
    compute_enclosed_volume,
    compute_tet_volumes,
    compute_vertex_normals,
    find_boundary_faces,
    orient_tets,
    tet_quality,
)

Signs = NDArray[np.int8]

#: Mean edge of a lattice tetrahedron: two edges of 1 and four of sqrt(3) / 2 of a cube's side.
MEAN_EDGE = (2.0 + 4.0 * np.sqrt(0.75)) / 6.0
#: A lattice point is moved onto the surface if that crosses one of its edges within this share of the edge's length:
#: for edges along a cube's side and for the shorter ones. Labelle and Shewchuk show that all angles stay above 10
#: degrees.
NEAR_LONG, NEAR_SHORT = 0.24999, 0.41189


@dataclass(frozen=True)
class _Crossings:
    """Places where lattice edges cross the surface.

    Args:
        edges: Ends (crossings, 2) of the edges, the smaller number first, sorted.
        points: Places (crossings, 3).
        share: How far along its edge each place lies, 0 to 1.
    """

    edges: Ints
    points: Floats
    share: Floats


def fill_with_lattice(vertices: Floats, faces: Ints, edge: float) -> tuple[Floats, Ints]:
    """Fill a closed surface with tetrahedra.

    Flat facets cut off what bulges, and sharp edges of the surface are bevelled, by less than an edge of a tetrahedron.
    The boundary is then moved outwards by the distance that restores the volume, and so the mass. Parts of the surface
    that are thinner than an edge are lost.

    Args:
        vertices: Vertices (vertices, 3) of the surface [m].
        faces: Triangles (faces, 3), facing outwards.
        edge: Mean edge of the tetrahedra [m].

    Returns:
        Vertices (points, 3) [m] and tetrahedra (tets, 4) of positive volume; none where no
        tetrahedron fits inside.
    """
    points, tets = _make_lattice(vertices.min(axis=0), vertices.max(axis=0), edge / MEAN_EDGE)
    inside = _find_inside(points, _list_edges(tets), vertices, faces)
    if not inside.any():
        return np.zeros((0, 3)), np.zeros((0, 4), np.int64)
    signs = np.where(inside, 1, -1).astype(np.int8)
    touched = tets[inside[tets].any(axis=1)]
    crossings = _find_crossings(vertices[faces], points, signs, _list_edges(touched))
    points, signs = _move_onto_surface(points, signs, crossings)
    keep = (signs[crossings.edges].astype(int).prod(axis=1)) < 0
    cut = _Crossings(crossings.edges[keep], crossings.points[keep], crossings.share[keep])
    points = np.concatenate([points, cut.points])
    parts = _cut_tets(touched, signs, cut.edges, len(points) - len(cut.points))
    if not len(parts):
        return np.zeros((0, 3)), np.zeros((0, 4), np.int64)
    used, numbered = np.unique(parts, return_inverse=True)
    kept = points[used]
    filled = orient_tets(kept, numbered.reshape(-1, 4).astype(np.int64))
    return _restore_volume(kept, filled, compute_enclosed_volume(vertices, faces), 0.25 * edge), filled


def _find_inside(points: Floats, edges: Ints, vertices: Floats, faces: Ints) -> NDArray[np.bool_]:
    """Return True (points,) inside the surface.

    Winding numbers take long, so they are evaluated near the surface, and once for each group of other points that
    edges connect.
    """
    triangles = vertices[faces]
    middles = triangles.mean(axis=1)
    reach = np.linalg.norm(triangles - middles[:, None], axis=-1).max()
    longest = np.linalg.norm(points[edges[:, 1]] - points[edges[:, 0]], axis=1).max()
    near = cKDTree(middles).query(points)[0] <= reach + longest
    free = edges[~near[edges].any(axis=1)]
    graph = coo_array((np.ones(len(free)), (free[:, 0], free[:, 1])), shape=(len(points), len(points)))
    group = connected_components(graph, directed=False)[1]
    _, first, member = np.unique(group, return_index=True, return_inverse=True)
    inside = compute_winding_numbers(points[first], vertices, faces) > 0.5
    return np.asarray(inside[member])


def _restore_volume(points: Floats, tets: Ints, volume: float, most: float) -> Floats:
    """Return the points with those on the boundary moved along its normals, by ``most`` at most, to reach ``volume``.

    A move that would spoil the shape of a tetrahedron is left out.
    """
    boundary = find_boundary_faces(tets)
    normals = compute_vertex_normals(points, boundary)
    x = points[boundary]
    area = 0.5 * np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1).sum()
    worst = tet_quality(points, tets).min()
    offset, moved = 0.0, points
    for _ in range(4):  # Newton's method: the derivative of the volume is the area
        offset = float(np.clip(offset + (volume - compute_tet_volumes(moved, tets).sum()) / area, -most, most))
        moved = points + offset * normals
    return moved if tet_quality(moved, tets).min() > 0.7 * worst else points


def _make_lattice(low: Floats, high: Floats, side: float) -> tuple[Floats, Ints]:
    """Return points and tetrahedra of a lattice around a box, with a margin of one cube."""
    counts = np.ceil((high - low) / side).astype(int) + 2
    origin = 0.5 * (low + high) - 0.5 * side * counts
    corners = np.stack(np.meshgrid(*(np.arange(n + 1) for n in counts), indexing="ij"), axis=-1).reshape(-1, 3)
    centres = np.stack(np.meshgrid(*(np.arange(n) for n in counts), indexing="ij"), axis=-1).reshape(-1, 3)
    points = np.concatenate([origin + side * corners, origin + side * (centres + 0.5)])

    def corner(index: Ints) -> Ints:
        return np.asarray(np.ravel_multi_index(tuple(index.T), tuple(counts + 1)))

    def centre(index: Ints) -> Ints:
        return np.asarray(len(corners) + np.ravel_multi_index(tuple(index.T), tuple(counts)))

    tets = []
    for axis in range(3):
        first = centres[centres[:, axis] < counts[axis] - 1]
        step = np.eye(3, dtype=int)[axis]
        across = [np.eye(3, dtype=int)[other] for other in range(3) if other != axis]
        square = [first + step + p * across[0] + q * across[1] for p, q in ((0, 0), (1, 0), (1, 1), (0, 1))]
        for k in range(4):
            ends = corner(square[k]), corner(square[(k + 1) % 4])
            tets.append(np.stack([centre(first), centre(first + step), *ends], axis=1))
    return points, np.concatenate(tets)


def _list_edges(tets: Ints) -> Ints:
    """Return the edges (edges, 2) of tetrahedra, the smaller number first, sorted."""
    pairs = tets[:, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]].reshape(-1, 2)
    return np.unique(np.sort(pairs, axis=1), axis=0)


def _find_crossings(triangles: Floats, points: Floats, signs: Signs, edges: Ints) -> _Crossings:
    """Return where edges with one end inside meet the surface; of several places, the one nearest to that end."""
    edges = edges[signs[edges[:, 0]] != signs[edges[:, 1]]]
    start, way = points[edges[:, 0]], points[edges[:, 1]] - points[edges[:, 0]]
    middles = triangles.mean(axis=1)
    reach = np.linalg.norm(triangles - middles[:, None], axis=-1).max() + 0.5 * np.linalg.norm(way, axis=1).max()
    near = cKDTree(middles).query_ball_point(start + 0.5 * way, reach, return_sorted=True)
    rows = np.repeat(np.arange(len(edges)), [len(each) for each in near])
    columns = np.concatenate([*map(np.asarray, near), np.zeros(0, int)]).astype(int)
    share = _intersect(start[rows], way[rows], triangles[columns])
    # Counted from the end inside; rounding at an edge between triangles may miss both, which leaves the middle.
    inside_first = signs[edges[:, 0]] > 0
    found = np.full(len(edges), np.inf)
    hit = np.isfinite(share)
    np.minimum.at(found, rows[hit], np.where(inside_first[rows], share, 1.0 - share)[hit])
    found = np.where(np.isfinite(found), np.clip(found, 0.0, 1.0), 0.5)
    share = np.where(inside_first, found, 1.0 - found)
    return _Crossings(edges, start + share[:, None] * way, share)


def _intersect(start: Floats, way: Floats, triangles: Floats) -> Floats:
    """Return the share of each segment at which it meets its triangle, or infinity (Moeller and Trumbore 1997)."""
    a, b = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    normal = np.cross(way, b)
    det = np.einsum("ij,ij->i", a, normal)
    with np.errstate(divide="ignore", invalid="ignore"):
        offset = start - triangles[:, 0]
        u = np.einsum("ij,ij->i", offset, normal) / det
        turned = np.cross(offset, a)
        v = np.einsum("ij,ij->i", way, turned) / det
        share = np.einsum("ij,ij->i", b, turned) / det
        slack = 1e-9
        hit = (u >= -slack) & (v >= -slack) & (u + v <= 1.0 + slack) & (share >= -slack) & (share <= 1.0 + slack)
    return np.where(hit, share, np.inf)


def _move_onto_surface(points: Floats, signs: Signs, crossings: _Crossings) -> tuple[Floats, Signs]:
    """Move lattice points onto the nearest crossing of their edges where it is near; their sign becomes 0."""
    edges = crossings.edges
    ends = points[edges]
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    is_long = lengths > 0.93 * lengths.max(initial=0.0)
    limit = np.where(is_long, NEAR_LONG, NEAR_SHORT)
    point = np.concatenate([edges[:, 0], edges[:, 1]])
    share = np.concatenate([crossings.share, 1.0 - crossings.share])
    close = share < np.concatenate([limit, limit])
    distance = share * np.concatenate([lengths, lengths])
    row = np.tile(np.arange(len(edges)), 2)
    order = np.flatnonzero(close)
    order = order[np.lexsort((row[order], distance[order], point[order]))]
    moved, first = np.unique(point[order], return_index=True)
    points, signs = points.copy(), signs.copy()
    points[moved] = crossings.points[row[order[first]]]
    signs[moved] = 0
    return points, signs


def _cut_tets(tets: Ints, signs: Signs, cut_edges: Ints, first_cut: int) -> Ints:
    """Return the parts of tetrahedra inside the surface.

    Neighbours divide the quadrilateral of a common face alike: its diagonal starts at the inner corner with the
    smaller number.

    Args:
        tets: Tetrahedra of the lattice.
        signs: 1 inside, 0 on the surface, -1 outside, for each lattice point.
        cut_edges: Edges that cross the surface, as ``_Crossings.edges``.
        first_cut: Number of the point on the first of these edges; the remaining ones follow.
    """
    # Inner corners first, then those on the surface, then outer ones; the smaller number first among equals.
    order = np.lexsort((tets, -signs[tets].astype(int)), axis=1)
    tets = np.take_along_axis(tets, order, axis=1)
    sign = signs[tets]
    inner, outer = (sign > 0).sum(axis=1), (sign < 0).sum(axis=1)
    keys = cut_edges[:, 0] * (cut_edges.max(initial=0) + 1) + cut_edges[:, 1]

    def on_edge(a: Ints, b: Ints) -> Ints:
        low, high = np.minimum(a, b), np.maximum(a, b)
        return np.asarray(first_cut + np.searchsorted(keys, low * (cut_edges.max(initial=0) + 1) + high))

    def replace_outer(rows: Ints, corner: int) -> list[Ints]:
        """Return the three other corners of each tetrahedron as seen from an inner one: outer ones become cuts."""
        return [
            np.where(signs[rows[:, k]] < 0, on_edge(rows[:, corner], rows[:, k]), rows[:, k])
            for k in range(4) if k != corner
        ]  # fmt: skip

    parts = [tets[(inner > 0) & (outer == 0)]]
    rows = tets[(inner == 1) & (outer > 0)]
    parts.append(np.stack([rows[:, 0], *replace_outer(rows, 0)], axis=1))
    rows = tets[(inner == 2) & (outer == 1)]  # a, b inside, z on the surface, d outside
    a, b, z, d = rows.T
    parts += [np.stack([a, b, z, on_edge(b, d)], axis=1), np.stack([a, z, on_edge(a, d), on_edge(b, d)], axis=1)]
    rows = tets[(inner == 2) & (outer == 2)]
    a, b, c, d = rows.T
    ac, ad, bc, bd = on_edge(a, c), on_edge(a, d), on_edge(b, c), on_edge(b, d)
    parts += [np.stack(part, axis=1) for part in ((a, b, bc, bd), (a, ac, ad, bd), (a, ac, bd, bc))]
    rows = tets[(inner == 3) & (outer == 1)]
    a, b, c, d = rows.T
    ad, bd, cd = on_edge(a, d), on_edge(b, d), on_edge(c, d)
    parts += [np.stack(part, axis=1) for part in ((a, b, c, cd), (a, b, bd, cd), (a, ad, bd, cd))]
    return np.concatenate(parts)
