"""What can be wrong with a tetrahedral mesh: found, named, and mended where that is possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from diffloom.errors import InputError
from diffloom_geometry.tetmesh import Ints, TetMesh, TextureMap, boundary_faces, oriented, tet_volumes

# A tetrahedron counts as flat when its volume is below this fraction of the cube of its longest edge.
FLAT = 1e-9


@dataclass(frozen=True)
class Flaw:
    """One kind of trouble. what: in words, with the first indices; mendable: whether ``repair`` can help."""

    what: str
    mendable: bool


def check_tetmesh(mesh: TetMesh, *, repair: bool = False) -> tuple[TetMesh, tuple[str, ...]]:
    """``mesh`` and what was done to it; InputError naming every flaw that remains.

    repair: turn inverted tetrahedra round, drop flat and repeated ones and vertices that no tetrahedron uses.
    """
    done: tuple[str, ...] = ()
    if repair and not any(not flaw.mendable for flaw in find_flaws(mesh)):
        mesh, done = mend(mesh)
    flaws = find_flaws(mesh)
    if flaws:
        hint = "; repair=True mends this" if all(f.mendable for f in flaws) and not repair else ""
        raise InputError(f"{mesh.name} cannot be simulated: {'; '.join(f.what for f in flaws)}{hint}")
    boundary_faces(mesh.tets)
    return mesh, done


def find_flaws(mesh: TetMesh) -> tuple[Flaw, ...]:
    """Every flaw, those that hide others (bad indices, non-finite vertices) first and alone."""
    if not len(mesh.tets):
        return (Flaw("it has no tetrahedra", False),)
    count = len(mesh.vertices)
    outside: NDArray[np.bool_] = np.any((mesh.tets < 0) | (mesh.tets >= count), axis=1)
    if outside.any():
        return (Flaw(f"{_named('tet', outside)} refer to vertices outside 0 to {count - 1}", False),)
    used = np.zeros(count, dtype=bool)
    used[mesh.tets] = True
    bad = np.any(~np.isfinite(mesh.vertices), axis=1)
    if (bad & used).any():
        return (Flaw(f"{_named('vertex', bad & used)} have a coordinate that is not finite", False),)
    flat = _flat(mesh)
    inverted = (tet_volumes(mesh.vertices, mesh.tets) < 0.0) & ~flat
    found = (
        (flat, "tet", "have no volume"),
        (inverted, "tet", "are inverted (negative volume)"),
        (_repeated(mesh.tets) & ~flat, "tet", "repeat an earlier one"),
        (~used, "vertex", "belong to no tetrahedron"),
    )
    return tuple(Flaw(f"{_named(kind, mask)} {words}", True) for mask, kind, words in found if mask.any())


def mend(mesh: TetMesh) -> tuple[TetMesh, tuple[str, ...]]:
    """A copy without mendable flaws, and one sentence for each thing done."""
    done: list[str] = []
    keep = ~(_flat(mesh) | _repeated(mesh.tets))
    if not keep.all():
        done.append(f"removed {_named('tet', ~keep)} (flat or repeated)")
    turned = tet_volumes(mesh.vertices, mesh.tets) < 0.0
    if (turned & keep).any():
        done.append(f"turned {_named('tet', turned & keep)} round (inverted)")
    tets = oriented(mesh.vertices, mesh.tets)[keep]
    used = np.unique(tets)
    unused = np.ones(len(mesh.vertices), dtype=bool)
    unused[used] = False
    if unused.any():
        done.append(f"removed {_named('vertex', unused)} (in no tetrahedron)")
    mended = replace(
        mesh,
        vertices=mesh.vertices[used],
        tets=np.searchsorted(used, tets),
        vertex_groups=_renumbered(mesh.vertex_groups, used),
        tet_groups=_renumbered(mesh.tet_groups, np.flatnonzero(keep)),
        texture=_kept_texture(mesh.texture, used),
    )
    return mended, tuple(done)


def _flat(mesh: TetMesh) -> NDArray[np.bool_]:
    x = mesh.vertices[mesh.tets]
    longest = np.max(np.linalg.norm(x[:, :, None] - x[:, None], axis=-1), axis=(1, 2))
    flat: NDArray[np.bool_] = np.abs(tet_volumes(mesh.vertices, mesh.tets)) <= FLAT * longest**3
    return flat


def _repeated(tets: Ints) -> NDArray[np.bool_]:
    """True for every tet with the same four vertices as an earlier one."""
    _, first = np.unique(np.sort(tets, axis=1), axis=0, return_index=True)
    repeated = np.ones(len(tets), dtype=bool)
    repeated[first] = False
    return repeated


def _renumbered(groups: Mapping[str, Ints], kept: Ints) -> dict[str, Ints]:
    return {name: np.flatnonzero(np.isin(kept, members)) for name, members in groups.items()}


def _kept_texture(texture: TextureMap | None, used: Ints) -> TextureMap | None:
    if texture is None:
        return None
    if texture.faces is None:
        return TextureMap(texture.uv[used])
    whole = np.isin(texture.faces, used).all(axis=1)
    corners = None if texture.corners is None else texture.corners[whole]
    return TextureMap(texture.uv, np.searchsorted(used, texture.faces[whole]), corners)


def _named(kind: str, mask: NDArray[np.bool_]) -> str:
    """Such as "tets 3, 8 and 12 more"."""
    index = np.flatnonzero(mask)
    plural = "vertices" if kind == "vertex" else f"{kind}s"
    first = ", ".join(str(i) for i in index[:5])
    more = f" and {index.size - 5} more" if index.size > 5 else ""
    return f"{plural if index.size > 1 else kind} {first}{more}"
