"""A gear wheel cut into tetrahedra."""

from __future__ import annotations

import numpy as np

from diffloom.errors import InputError
from diffloom_geometry.tetmesh import Floats, Ints, TetMesh, oriented

RINGS, TOOTH_ROWS = 3, 2
# Six tetrahedra around the diagonal 0-7 of a cell, the same in all cells of a layer: the faces of neighbours then
# agree, also where the last sector meets the first. Corners are numbered sector + 2 ring + 4 layer.
_SIX = np.array([[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]])


def gear(radius: float = 1.0, width: float = 0.5, teeth: int = 12, layers: int = 2) -> TetMesh:
    """A gear about the z axis, with a hole for its axle: 48 ``teeth`` ``layers`` tetrahedra, 1152 by default.

    radius: of the tips of its teeth [m]; the teeth begin at 0.8 of it and the hole ends at 0.4. width: along z [m].
    layers: of cells across the width. Every other sector carries a tooth, tapered to its tip. Vertex groups: "tips",
    "hole", "back" and "front" (-z, +z); tet groups: "wheel" and "teeth".
    """
    for name, length in (("radius", radius), ("width", width)):
        if not (np.isfinite(length) and length > 0.0):
            raise InputError(f"gear: got {name} {length}; expected a positive length in metres")
    for name, count, least in (("teeth", teeth, 3), ("layers", layers, 1)):
        if int(count) != count or count < least:
            raise InputError(f"gear: got {name} {count}; expected a whole number of {least} or more")
    cells = _cells(int(teeth), int(layers))
    corners = _corners(cells, 2 * int(teeth))
    used, index = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    vertices = _places(used, float(radius), float(width), int(teeth), int(layers))
    # Layers behind the middle are cut as in a mirror, which leaves the faces between layers as they are: a gear whose
    # two sides differ steers to one of them as it rolls.
    behind = 2 * cells[:, 2] + 1 < layers
    corner = np.where(behind[:, None], np.arange(8) ^ 4, np.arange(8))
    tets = oriented(vertices, np.take_along_axis(index.reshape(-1, 8), corner, axis=1)[:, _SIX].reshape(-1, 4))
    toothed = np.repeat(cells[:, 1] >= RINGS, len(_SIX))
    ring, layer = used[:, 1], used[:, 2]
    groups = {
        "tips": np.flatnonzero(ring == RINGS + TOOTH_ROWS), "hole": np.flatnonzero(ring == 0),
        "back": np.flatnonzero(layer == 0), "front": np.flatnonzero(layer == layers),
    }  # fmt: skip
    own = {"wheel": np.flatnonzero(~toothed), "teeth": np.flatnonzero(toothed)}
    return TetMesh(vertices, tets, vertex_groups=groups, tet_groups=own, name="gear")


def _cells(teeth: int, layers: int) -> Ints:
    """(cells, 3): sector, ring and layer of each; only every other sector goes on into a tooth."""
    wheel = [(s, r) for s in range(2 * teeth) for r in range(RINGS)]
    tips = [(s, r) for s in range(0, 2 * teeth, 2) for r in range(RINGS, RINGS + TOOTH_ROWS)]
    return np.array([(s, r, k) for s, r in sorted(wheel + tips) for k in range(layers)], dtype=np.int64)


def _corners(cells: Ints, sectors: int) -> Ints:
    """(cells, 8, 3): sector, ring and layer of the corners."""
    steps = np.array([(k & 1, k >> 1 & 1, k >> 2) for k in range(8)])
    corners = cells[:, None] + steps
    corners[..., 0] %= sectors
    return np.asarray(corners, dtype=np.int64)


def _places(corners: Ints, radius: float, width: float, teeth: int, layers: int) -> Floats:
    """(vertices, 3) [m] of corners (sector, ring, layer)."""
    sector, ring, layer = corners.T.astype(np.float64)
    within = np.where(ring <= RINGS, 0.4 + 0.4 * ring / RINGS, 0.8 + 0.2 * (ring - RINGS) / TOOTH_ROWS)
    # A tooth's side is the line of its sector, leant towards the tooth's middle by up to a fifth of the sector.
    lean = 0.2 * np.maximum(0.0, ring - RINGS) / TOOTH_ROWS * np.where(corners[:, 0] % 2 == 0, 1.0, -1.0)
    angle = (sector + lean) * np.pi / teeth
    return np.stack(
        [radius * within * np.cos(angle), radius * within * np.sin(angle), width * (layer / layers - 0.5)], axis=1
    )
