"""Named parts of a solid, which can be held in place, activated, or given parameters of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom.validation import check_choice, suggest_name
from diffloom_geometry import TetMesh

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class SolidRegion:
    """Part of a solid.

    Args:
        vertices: True (vertices,) for vertices that belong to it.
        tets: True (tets,) for tetrahedra that belong to it.
    """

    vertices: Mask
    tets: Mask


def find_regions(mesh: TetMesh, given: Mapping[str, Mapping[str, Any]]) -> dict[str, SolidRegion]:
    """Return all regions by name: the groups of the mesh, and the ``given`` ones.

    A region is given by one of: vertices = [indices], tets = [indices], box = [[x, y, z], [x, y, z]] (two corners), or
    centre = [x, y, z] with radius = r. A box or sphere holds the vertices in it, and the tetrahedra whose centre is in
    it.
    """
    regions = {name: _of_vertices(mesh, members) for name, members in mesh.vertex_groups.items()}
    regions |= {name: _of_tets(mesh, members) for name, members in mesh.tet_groups.items()}
    for name, described in given.items():
        if not name.isidentifier():
            raise InputError(f"region {name!r}: expected a name of letters, digits and _, such as 'left_arm'")
        regions[name] = _read_region(mesh, name, described)
        if not (regions[name].vertices.any() or regions[name].tets.any()):
            raise InputError(
                f"region {name!r} = {dict(described)!r} holds no vertex and no tet of {mesh.name}; give places in "
                "metres, in the frame of the mesh"
            )
    return regions


def get_region(regions: Mapping[str, SolidRegion], name: str, what: str) -> SolidRegion:
    """Return a region by name; InputError lists the regions that exist."""
    if name not in regions:
        known = ", ".join(sorted(regions)) or "none"
        raise InputError(
            f"{what}: there is no region {name!r}{suggest_name(name, regions)} Regions of this mesh: {known}"
        )
    return regions[name]


def find_fixed_vertices(mesh: TetMesh, regions: Mapping[str, SolidRegion], fixed: Sequence[str | int]) -> Mask:
    """Return True (vertices,) for vertices that are held in place, by region name or vertex index."""
    held = np.zeros(len(mesh.vertices), dtype=bool)
    for entry in [fixed] if isinstance(fixed, str) else fixed:
        if isinstance(entry, str):
            held |= get_region(regions, entry, "fixed").vertices
        else:
            held |= _mask([entry], len(mesh.vertices), "fixed", "vertices")
    return held


def _read_region(mesh: TetMesh, name: str, described: Mapping[str, Any]) -> SolidRegion:
    """Return the region of a table."""
    what = f"region {name!r}"
    keys = set(described)
    middles = mesh.vertices[mesh.tets].mean(axis=1)
    if keys == {"vertices"}:
        return _of_vertices(mesh, _indices(described["vertices"], what))
    if keys == {"tets"}:
        return _of_tets(mesh, _indices(described["tets"], what), what)
    if keys == {"box"}:
        corners = _numbers(described["box"], (2, 3), f"{what}, box")
        low, high = corners.min(axis=0), corners.max(axis=0)
        inside = [((x >= low) & (x <= high)).all(axis=1) for x in (mesh.vertices, middles)]
        return SolidRegion(*inside)
    if keys == {"centre", "radius"}:
        centre = _numbers(described["centre"], (3,), f"{what}, centre")
        radius = float(described["radius"])
        return SolidRegion(*(np.linalg.norm(x - centre, axis=1) <= radius for x in (mesh.vertices, middles)))
    for key in keys:
        check_choice(what, key, ("vertices", "tets", "box", "centre", "radius"))
    raise InputError(f"{what}: got {sorted(keys)}; expected vertices, or tets, or box, or centre and radius")


def _of_vertices(mesh: TetMesh, members: NDArray[np.int64], what: str = "region") -> SolidRegion:
    """Return the region of some vertices and of the tetrahedra between them."""
    vertices = _mask(members, len(mesh.vertices), what, "vertices")
    return SolidRegion(vertices, np.asarray(vertices[mesh.tets].all(axis=1)))


def _of_tets(mesh: TetMesh, members: NDArray[np.int64], what: str = "region") -> SolidRegion:
    """Return the region of some tetrahedra and of their vertices."""
    tets = _mask(members, len(mesh.tets), what, "tets")
    vertices = np.zeros(len(mesh.vertices), dtype=bool)
    vertices[mesh.tets[tets]] = True
    return SolidRegion(vertices, tets)


def _mask(members: Any, count: int, what: str, kind: str) -> Mask:
    """Return flags of some indices; raise InputError for indices out of range."""
    index = _indices(members, what)
    if index.size and not 0 <= index.min() <= index.max() < count:
        bad = index[(index < 0) | (index >= count)][0]
        raise InputError(f"{what}: got index {bad}; the mesh has {kind} 0 to {count - 1}")
    mask = np.zeros(count, dtype=bool)
    mask[index] = True
    return mask


def _indices(members: Any, what: str) -> NDArray[np.int64]:
    """Return a list of integers as an array, or raise InputError."""
    index = np.asarray(members).ravel()
    if index.size and not np.issubdtype(index.dtype, np.integer):
        raise InputError(f"{what}: got {members!r}; expected a list of whole numbers")
    return index.astype(np.int64)


def _numbers(value: Any, shape: tuple[int, ...], what: str) -> NDArray[np.float64]:
    """Return numbers of a shape as an array, or raise InputError."""
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if numbers.shape != shape:
        raise InputError(f"{what}: got {value!r}; expected numbers of shape {shape}")
    return numbers
