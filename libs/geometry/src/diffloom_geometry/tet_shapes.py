"""Solids cut into tetrahedra: boxes and beams, balls, gear wheels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from diffloom.errors import InputError
from diffloom_geometry.tetmesh import Floats, Ints, TetMesh, orient_tets

# Corners of a cell are numbered x + 2 y + 4 z. Five tets: a regular one in the middle and one at every other corner;
# cells of odd parity take the mirror image, so that the diagonals on shared faces agree.
_FIVE_EVEN = np.array([[0, 3, 5, 6], [1, 0, 3, 5], [2, 0, 6, 3], [4, 0, 5, 6], [7, 3, 6, 5]])
_FIVE_ODD = np.array([[1, 2, 7, 4], [0, 1, 2, 4], [3, 1, 7, 2], [5, 1, 4, 7], [6, 2, 7, 4]])
# Six tets around the diagonal 0-7, alike in all cells: in a gear, whose corners are numbered sector + 2 ring + 4 layer,
# faces then agree also where the last sector meets the first.
_SIX = np.array([[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]])


MOST_CELLS = 10**7


def box(size: Sequence[float] = (1.0, 1.0, 1.0), cells: Sequence[int] = (2, 2, 2), split: int = 5) -> TetMesh:
    """Return a box about the origin, cut into tetrahedra.

    Vertices and cells are numbered along the axis with the fewest cells first, along that with the most last.
    Vertex groups: "left" and "right" (-x, +x), "bottom" and "top" (-y, +y), "back" and "front" (-z, +z).

    Args:
        size: Three edge lengths [m].
        cells: Number of cells along each axis.
        split: Tetrahedra per cell: 5 (better shaped, neighbouring cells mirrored) or 6 (all cells alike).

    Returns:
        The solid.

    Raises:
        InputError: A length or a number is out of range.

    Example:
        ``box((1.0, 0.2, 0.2), cells=(10, 2, 2))``
    """
    lengths, counts = _check_arguments(size, cells, split)
    axes = [np.linspace(-0.5 * s, 0.5 * s, n + 1) for s, n in zip(lengths, counts, strict=True)]
    order = _slowest_last(counts)
    vertices = np.stack([axes[a][c] for a, c in enumerate(_places([n + 1 for n in counts], order))], axis=1)
    tets = _cell_tets(counts, split, order)
    return TetMesh(vertices, orient_tets(vertices, tets), vertex_groups=_sides(axes, vertices), name="box")


def beam(
    length: float = 1.0, width: float = 0.1, height: float = 0.1, cells: Sequence[int] = (10, 1, 1), split: int = 5
) -> TetMesh:
    """Return a beam along x from 0 to ``length``. Vertex groups are those of ``box``: fix "left" to clamp it.

    Args:
        length: Length along x [m].
        width: Width along z [m].
        height: Height along y [m].
        cells: Number of cells along x, y and z.
        split: Tetrahedra per cell, 5 or 6.

    Returns:
        The solid.
    """
    made = box((length, height, width), cells, split)
    vertices = made.vertices + np.array([0.5 * float(length), 0.0, 0.0])
    return TetMesh(vertices, made.tets, vertex_groups=made.vertex_groups, name="beam")


def _check_arguments(size: Sequence[float], cells: Sequence[int], split: int) -> tuple[list[float], list[int]]:
    """Return size and cells as plain numbers, or raise InputError."""
    lengths, counts = [float(s) for s in size], [int(n) for n in cells]
    if len(lengths) != 3 or not all(np.isfinite(s) and s > 0.0 for s in lengths):
        raise InputError(f"box: got size {list(size)}; expected three positive lengths in metres, such as [1, 1, 1]")
    if len(counts) != 3 or any(n < 1 or n != given for n, given in zip(counts, cells, strict=True)):
        raise InputError(f"box: got cells {list(cells)}; expected three whole numbers of 1 or more, such as [4, 4, 4]")
    if math.prod(counts) > MOST_CELLS:
        raise InputError(f"box: got cells {list(cells)}; expected at most {MOST_CELLS} in all")
    if split not in (5, 6):
        raise InputError(f"box: got split {split}; expected 5 or 6 tetrahedra per cell")
    return lengths, counts


def _slowest_last(counts: list[int]) -> list[int]:
    """Return the axes in the order in which vertices and cells are numbered, that with the most cells changing last.

    Two halves of the numbers are then two halves of the box with few common corners, so two threads share little
    memory.
    """
    return sorted(range(3), key=lambda axis: counts[axis])


def _places(counts: list[int], order: list[int]) -> list[Ints]:
    """Return the places along x, y and z of all entries of a grid of these counts, in the order of their numbers."""
    number = np.arange(np.prod(counts))
    places: list[Ints] = [number, number, number]
    for axis in order:
        places[axis], number = number % counts[axis], number // counts[axis]
    return places


def _cell_tets(counts: list[int], split: int, order: list[int]) -> Ints:
    """Return the corners (tets, 4) of the tetrahedra of all cells of a box."""
    places = _places(counts, order)
    corner = np.arange(8)
    corners: Ints = np.zeros((int(np.prod(counts)), 8), np.int64)
    stride = 1
    for axis in order:
        corners += stride * (places[axis][:, None] + (corner >> axis & 1))
        stride *= counts[axis] + 1
    odd = ((places[0] + places[1] + places[2]) % 2 == 1)[:, None, None]
    tets = corners[:, _SIX] if split == 6 else np.where(odd, corners[:, _FIVE_ODD], corners[:, _FIVE_EVEN])
    return np.asarray(tets, dtype=np.int64).reshape(-1, 4)


def _sides(axes: list[Floats], vertices: Floats) -> dict[str, Ints]:
    """Return the vertices on each side of a box, by the name of the side."""
    names = (("left", "right"), ("bottom", "top"), ("back", "front"))
    groups: dict[str, Ints] = {}
    for axis, (low, high) in enumerate(names):
        groups[low] = np.flatnonzero(vertices[:, axis] == axes[axis][0])
        groups[high] = np.flatnonzero(vertices[:, axis] == axes[axis][-1])
    return groups


Address = tuple[int, int, int, int]
MOST_LAYERS = 100  # 20 million tetrahedra


def ball(radius: float = 0.5, layers: int = 3) -> TetMesh:
    """Return a ball about the origin of 20 layers^3 tetrahedra.

    An icosahedron is cut into 20 tetrahedra at its centre, each of these into layers^3 smaller ones, and every layer is
    then pushed out onto a sphere. Vertex groups: "surface" and "centre".

    Args:
        radius: Radius [m].
        layers: Layers from the centre to the surface, 1 to 100.

    Returns:
        The solid.

    Raises:
        InputError: An argument is out of range.
    """
    if not (np.isfinite(radius) and radius > 0.0):
        raise InputError(f"ball: got radius {radius}; expected a positive length in metres")
    if int(layers) != layers or not 1 <= layers <= MOST_LAYERS:
        raise InputError(f"ball: got layers {layers}; expected a whole number of 1 or more, at most {MOST_LAYERS}")
    points, faces = _icosahedron()
    number: dict[tuple[tuple[int, int], ...], int] = {}
    vertices: list[Floats] = []
    tets: list[tuple[int, ...]] = []
    for face in faces:
        ids, places = {}, {}
        for address in _addresses(int(layers)):
            # A point shared by neighbouring faces is known by its weights at the icosahedron's vertices.
            key = tuple(sorted((int(v), w) for v, w in zip(face, address[1:], strict=True) if w))
            if key not in number:
                number[key] = len(vertices)
                vertices.append(_on_sphere(points[face], address, int(layers)))
            ids[address] = number[key]
            places[address] = vertices[number[key]]
        tets += [tuple(ids[a] for a in tet) for tet in _subdivide(int(layers), places)]
    x = np.array(vertices) * float(radius)
    outer = np.flatnonzero(np.linalg.norm(x, axis=1) > radius * (1.0 - 0.5 / layers))
    centre = np.flatnonzero(np.linalg.norm(x, axis=1) == 0.0)
    return TetMesh(x, orient_tets(x, np.array(tets)), {"surface": outer, "centre": centre}, name="ball")


def _icosahedron() -> tuple[Floats, Ints]:
    """Return vertices (12, 3) on the unit sphere, and faces (20, 3)."""
    golden = 0.5 * (1.0 + np.sqrt(5.0))
    base = [(0.0, s, t * golden) for s in (-1, 1) for t in (-1, 1)]
    points = np.array([np.roll(p, shift) for shift in range(3) for p in base]) / np.sqrt(1.0 + golden**2)
    edge = 2.0 / np.sqrt(1.0 + golden**2)
    near = np.abs(np.linalg.norm(points[:, None] - points[None], axis=-1) - edge) < 1e-9
    triples = itertools.combinations(range(12), 3)
    return points, np.array([(a, b, c) for a, b, c in triples if near[a, b] and near[b, c] and near[a, c]])


def _addresses(n: int) -> list[Address]:
    """Return the lattice points of a tetrahedron cut n times: integer weights of (centre, a, b, c) that sum to n."""
    return [
        (n - i - j - k, i, j, k) for i in range(n + 1) for j in range(n + 1 - i) for k in range(n + 1 - i - j)
    ]  # fmt: skip


def _on_sphere(corners: Floats, address: Address, n: int) -> Floats:
    """Return the lattice point of an address, moved to the distance layer / n from the centre."""
    layer = n - address[0]
    if layer == 0:
        return np.zeros(3)
    flat = np.array(address[1:]) @ corners
    place: Floats = flat / np.linalg.norm(flat) * (layer / n)
    return place


def _subdivide(n: int, places: dict[Address, Floats]) -> list[tuple[Address, ...]]:
    """Return the n^3 small tetrahedra of one large one, by lattice address.

    Each lattice step holds an upright tetrahedron, an octahedron and an upside-down tetrahedron. An octahedron is cut
    in four around the shortest of its three diagonals. Its faces stay whole, so neighbours always agree.
    """
    units = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))

    def at(base: Address, *steps: int) -> Address:
        total = [b + sum(units[s][c] for s in steps) for c, b in enumerate(base)]
        return (total[0], total[1], total[2], total[3])

    tets: list[tuple[Address, ...]] = [tuple(at(a, s) for s in range(4)) for a in _addresses(n - 1)]
    for a in _addresses(n - 2) if n >= 2 else []:
        tets += _octahedron({pair: at(a, *pair) for pair in itertools.combinations(range(4), 2)}, places)
    for a in _addresses(n - 3) if n >= 3 else []:
        tets.append(tuple(at(a, *(s for s in range(4) if s != left)) for left in range(4)))
    return tets


def _octahedron(corner: dict[tuple[int, int], Address], places: dict[Address, Floats]) -> list[tuple[Address, ...]]:
    """Return the four tetrahedra of an octahedron around its shortest diagonal."""
    diagonals = (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2)))
    lengths = [np.linalg.norm(places[corner[p]] - places[corner[q]]) for p, q in diagonals]
    # Lengths are rounded before the comparison, so that the choice does not depend on the last bit.
    best = min(range(3), key=lambda d: (round(float(lengths[d]), 9), d))
    (p, q), (r, s), (u, v) = diagonals[best], diagonals[best - 2], diagonals[best - 1]
    ring = (r, u, s, v)
    return [(corner[p], corner[q], corner[ring[i]], corner[ring[(i + 1) % 4]]) for i in range(4)]


RINGS, TOOTH_ROWS = 3, 2


def gear(radius: float = 1.0, width: float = 0.5, teeth: int = 12, layers: int = 2) -> TetMesh:
    """Return a gear about the z axis with a hole for its axle: 48 ``teeth`` ``layers`` tetrahedra, 1152 by default.

    Every other sector carries a tooth, tapered to its tip. The teeth begin at 0.8 of the radius, and the hole ends at
    0.4. Vertex groups: "tips", "hole", "back" and "front" (-z, +z). Tet groups: "wheel" and "teeth".

    Args:
        radius: Radius of the tips of the teeth [m].
        width: Width along z [m].
        teeth: Number of teeth, 3 or more.
        layers: Number of cells across the width.

    Returns:
        The solid.

    Raises:
        InputError: An argument is out of range.
    """
    for name, length in (("radius", radius), ("width", width)):
        if not (np.isfinite(length) and length > 0.0):
            raise InputError(f"gear: got {name} {length}; expected a positive length in metres")
    for name, count, least in (("teeth", teeth, 3), ("layers", layers, 1)):
        if int(count) != count or count < least:
            raise InputError(f"gear: got {name} {count}; expected a whole number of {least} or more")
    cells = _gear_cells(int(teeth), int(layers))
    corners = _gear_corners(cells, 2 * int(teeth))
    used, index = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    vertices = _gear_places(used, float(radius), float(width), int(teeth), int(layers))
    # Layers behind the middle are mirrored, because a gear whose two sides differ steers to one of them as it rolls.
    # Faces between layers are not changed by this.
    behind = 2 * cells[:, 2] + 1 < layers
    corner = np.where(behind[:, None], np.arange(8) ^ 4, np.arange(8))
    tets = orient_tets(vertices, np.take_along_axis(index.reshape(-1, 8), corner, axis=1)[:, _SIX].reshape(-1, 4))
    toothed = np.repeat(cells[:, 1] >= RINGS, len(_SIX))
    ring, layer = used[:, 1], used[:, 2]
    groups = {
        "tips": np.flatnonzero(ring == RINGS + TOOTH_ROWS), "hole": np.flatnonzero(ring == 0),
        "back": np.flatnonzero(layer == 0), "front": np.flatnonzero(layer == layers),
    }  # fmt: skip
    own = {"wheel": np.flatnonzero(~toothed), "teeth": np.flatnonzero(toothed)}
    return TetMesh(vertices, tets, vertex_groups=groups, tet_groups=own, name="gear")


def _gear_cells(teeth: int, layers: int) -> Ints:
    """Return sector, ring and layer of each cell (cells, 3); only every other sector goes on into a tooth."""
    wheel = [(s, r) for s in range(2 * teeth) for r in range(RINGS)]
    tips = [(s, r) for s in range(0, 2 * teeth, 2) for r in range(RINGS, RINGS + TOOTH_ROWS)]
    return np.array([(s, r, k) for s, r in sorted(wheel + tips) for k in range(layers)], dtype=np.int64)


def _gear_corners(cells: Ints, sectors: int) -> Ints:
    """Return sector, ring and layer of the corners of each cell (cells, 8, 3)."""
    steps = np.array([(k & 1, k >> 1 & 1, k >> 2) for k in range(8)])
    corners = cells[:, None] + steps
    corners[..., 0] %= sectors
    return np.asarray(corners, dtype=np.int64)


def _gear_places(corners: Ints, radius: float, width: float, teeth: int, layers: int) -> Floats:
    """Return the places (vertices, 3) [m] of corners (sector, ring, layer)."""
    sector, ring, layer = corners.T.astype(np.float64)
    within = np.where(ring <= RINGS, 0.4 + 0.4 * ring / RINGS, 0.8 + 0.2 * (ring - RINGS) / TOOTH_ROWS)
    # A tooth's side is the line of its sector, leant towards the tooth's middle by up to a fifth of the sector.
    lean = 0.2 * np.maximum(0.0, ring - RINGS) / TOOTH_ROWS * np.where(corners[:, 0] % 2 == 0, 1.0, -1.0)
    angle = (sector + lean) * np.pi / teeth
    return np.stack(
        [radius * within * np.cos(angle), radius * within * np.sin(angle), width * (layer / layers - 0.5)], axis=1
    )
