"""A ball cut into well-shaped tetrahedra, at any resolution."""

from __future__ import annotations

import itertools

import numpy as np

from diffloom.errors import InputError
from diffloom_geometry.tetmesh import Floats, Ints, TetMesh, oriented

Address = tuple[int, int, int, int]
MOST_LAYERS = 100  # 20 million tetrahedra


def ball(radius: float = 0.5, layers: int = 3) -> TetMesh:
    """A ball about the origin of 20 layers^3 tetrahedra.

    An icosahedron is cut into 20 tetrahedra at its centre, each of these into layers^3 smaller ones, and every layer
    is then pushed out onto a sphere. radius: [m]. layers: from the centre to the surface, 1 or more. Vertex groups:
    "surface" and "centre".
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
    return TetMesh(x, oriented(x, np.array(tets)), {"surface": outer, "centre": centre}, name="ball")


def _icosahedron() -> tuple[Floats, Ints]:
    """Vertices on the unit sphere (12, 3), and faces (20, 3)."""
    golden = 0.5 * (1.0 + np.sqrt(5.0))
    base = [(0.0, s, t * golden) for s in (-1, 1) for t in (-1, 1)]
    points = np.array([np.roll(p, shift) for shift in range(3) for p in base]) / np.sqrt(1.0 + golden**2)
    edge = 2.0 / np.sqrt(1.0 + golden**2)
    near = np.abs(np.linalg.norm(points[:, None] - points[None], axis=-1) - edge) < 1e-9
    triples = itertools.combinations(range(12), 3)
    return points, np.array([(a, b, c) for a, b, c in triples if near[a, b] and near[b, c] and near[a, c]])


def _addresses(n: int) -> list[Address]:
    """Lattice points of a tetrahedron cut n times: whole weights of (centre, a, b, c) that sum to n."""
    return [
        (n - i - j - k, i, j, k) for i in range(n + 1) for j in range(n + 1 - i) for k in range(n + 1 - i - j)
    ]  # fmt: skip


def _on_sphere(corners: Floats, address: Address, n: int) -> Floats:
    """The lattice point of that address, its distance from the centre made layer / n."""
    layer = n - address[0]
    if layer == 0:
        return np.zeros(3)
    flat = np.array(address[1:]) @ corners
    place: Floats = flat / np.linalg.norm(flat) * (layer / n)
    return place


def _subdivide(n: int, places: dict[Address, Floats]) -> list[tuple[Address, ...]]:
    """The n^3 small tetrahedra of one large one, by lattice address.

    Each lattice step holds an upright tetrahedron, an octahedron and an upside-down tetrahedron. An octahedron is
    cut in four around the shortest of its three diagonals; its faces stay whole, so neighbours always agree.
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
    diagonals = (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2)))
    lengths = [np.linalg.norm(places[corner[p]] - places[corner[q]]) for p, q in diagonals]
    # Ties are broken by rounding the lengths: the choice must not hang on the last bit.
    best = min(range(3), key=lambda d: (round(float(lengths[d]), 9), d))
    (p, q), (r, s), (u, v) = diagonals[best], diagonals[best - 2], diagonals[best - 1]
    ring = (r, u, s, v)
    return [(corner[p], corner[q], corner[ring[i]], corner[ring[(i + 1) % 4]]) for i in range(4)]
