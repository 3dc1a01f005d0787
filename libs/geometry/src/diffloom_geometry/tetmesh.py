"""Tetrahedral meshes, which readers, builders and models exchange, and their surfaces.

``check_tetmesh`` finds and names the flaws of a mesh, and repairs them where that is possible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from diffloom.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TextureMap:
    """Texture coordinates of a solid's surface.

    Args:
        uv: Coordinates (points, 2), u to the right, v up.
        faces: Vertices (faces, 3) of surface triangles in any order; None when ``uv`` has one row per vertex of the
            mesh.
        corners: Rows (faces, 3) of ``uv`` for the corners of ``faces``; None when ``faces`` is None.
    """

    uv: Floats
    faces: Ints | None = None
    corners: Ints | None = None


@dataclass(frozen=True)
class TetMesh:
    """Solid of tetrahedra, with named groups of vertices and of tetrahedra.

    Only shapes are checked here: see ``check_tetmesh``.

    Args:
        vertices: Vertices (vertices, 3) [m], float64.
        tets: Corners (tets, 4), int64. Seen from corner 3, corners 0, 1 and 2 run counter-clockwise, so that volumes
            are positive.
        vertex_groups: Vertex indices by name.
        tet_groups: Indices of tetrahedra by name.
        texture: Texture coordinates of the surface, or None.
        name: Name in messages.
    """

    vertices: Floats
    tets: Ints
    vertex_groups: Mapping[str, Ints] = field(default_factory=dict)
    tet_groups: Mapping[str, Ints] = field(default_factory=dict)
    texture: TextureMap | None = None
    name: str = "mesh"

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", np.ascontiguousarray(self.vertices, dtype=np.float64))
        tets = np.asarray(self.tets)
        if tets.size and not np.issubdtype(tets.dtype, np.integer):
            raise InputError(f"{self.name}: tets have dtype {tets.dtype}; expected whole numbers")
        object.__setattr__(self, "tets", np.ascontiguousarray(tets, dtype=np.int64))
        if self.vertices.ndim != 2 or self.vertices.shape[1] != 3:
            raise InputError(f"{self.name}: vertices have shape {self.vertices.shape}; expected (vertices, 3)")
        if self.tets.ndim != 2 or self.tets.shape[1] != 4:
            raise InputError(f"{self.name}: tets have shape {self.tets.shape}; expected (tets, 4)")

    def scale_lengths(self, factor: float) -> TetMesh:
        """Return a copy whose lengths are ``factor`` times as large.

        Args:
            factor: Positive number.

        Returns:
            The scaled solid, with the same groups and texture.

        Raises:
            InputError: ``factor`` is not positive.
        """
        if not (np.isfinite(factor) and factor > 0.0):
            raise InputError(f"{self.name}: got scale {factor}; expected a positive number")
        return replace(self, vertices=self.vertices * factor)

    @property
    def volumes(self) -> Floats:
        """Signed volumes (tets,) [m^3]."""
        return compute_tet_volumes(self.vertices, self.tets)


def compute_tet_volumes(vertices: Floats, tets: Ints) -> Floats:
    """Return signed volumes (tets,) [m^3]: (x1 - x0) x (x2 - x0) . (x3 - x0) / 6."""
    x = vertices[tets]
    a, b, c = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0], x[:, 3] - x[:, 0]
    volumes: Floats = np.einsum("ij,ij->i", np.cross(a, b), c) / 6.0
    return volumes


def orient_tets(vertices: Floats, tets: Ints) -> Ints:
    """Return the tetrahedra with the last two corners exchanged where the volume would be negative."""
    flip = compute_tet_volumes(vertices, tets) < 0.0
    out = tets.copy()
    out[flip, 2], out[flip, 3] = tets[flip, 3], tets[flip, 2]
    return out


def tet_quality(vertices: Floats, tets: Ints) -> Floats:
    """Return the mean-ratio quality (tets,): 1 for a regular tetrahedron, 0 for a flat one, below 0 for an inverted
    one.

    12 (3 V)^(2/3) / (sum of squared edge lengths), with the sign of V.
    """
    x = vertices[tets]
    pairs = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
    edges = sum(np.sum((x[:, j] - x[:, i]) ** 2, axis=1) for i, j in pairs)
    volume = compute_tet_volumes(vertices, tets)
    quality: Floats = np.sign(volume) * 12.0 * (3.0 * np.abs(volume)) ** (2.0 / 3.0) / edges
    return quality


# The four triangles of a tetrahedron of positive volume, counter-clockwise seen from outside.
_SIDES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


@dataclass(frozen=True)
class SolidSurface:
    """Surface of a solid, as renderers show it.

    Args:
        vertices: Indices (points,) of the solid's vertices that lie on the surface, increasing.
        faces: Rows (faces, 3) of ``vertices``, counter-clockwise seen from outside.
        uv: Texture coordinates (points, 2), or None.
        uv_faces: Rows (faces, 3) of ``uv``; None when ``uv`` has one row per point.
    """

    vertices: Ints
    faces: Ints
    uv: Floats | None = None
    uv_faces: Ints | None = None


def find_boundary_faces(tets: Ints) -> Ints:
    """Return the triangles (faces, 3) that belong to exactly one tetrahedron, facing outwards, as vertex indices."""
    sides: Ints = tets[:, _SIDES].reshape(-1, 3)
    _, first, counts = np.unique(np.sort(sides, axis=1), axis=0, return_index=True, return_counts=True)
    crowded = np.flatnonzero(counts > 2)
    if crowded.size:
        triangle = sides[first[crowded[0]]].tolist()
        raise InputError(
            f"{crowded.size} triangles belong to more than two tetrahedra, first {triangle}: the mesh overlaps itself; "
            "remove the extra tetrahedra"
        )
    outer: Ints = sides[np.sort(first[counts == 1])]
    return outer


def extract_surface(mesh: TetMesh) -> SolidSurface:
    """Return the surface of a solid, with its texture coordinates where it has some.

    Args:
        mesh: The solid.

    Returns:
        The surface.

    Raises:
        InputError: A triangle belongs to more than two tetrahedra, or some surface triangles have no texture
            coordinates.
    """
    outer = find_boundary_faces(mesh.tets)
    vertices = np.unique(outer)
    faces = np.searchsorted(vertices, outer)
    if mesh.texture is None:
        return SolidSurface(vertices, faces)
    if mesh.texture.faces is None or mesh.texture.corners is None:
        return SolidSurface(vertices, faces, mesh.texture.uv[vertices])
    corners = _match_corners(outer, mesh.texture.faces, mesh.texture.corners)
    return SolidSurface(vertices, faces, mesh.texture.uv, corners)


def _match_corners(outer: Ints, faces: Ints, corners: Ints) -> Ints:
    """Return the texture corners of each outer face, found among ``faces`` by its three vertices in any order."""
    pairs = zip(faces.tolist(), corners.tolist(), strict=True)
    known = {tuple(sorted(face)): dict(zip(face, points, strict=True)) for face, points in pairs}
    missing = [face for face in outer.tolist() if tuple(sorted(face)) not in known]
    if missing:
        raise InputError(
            f"{len(missing)} of {len(outer)} surface triangles have no texture coordinates, first {missing[0]}; "
            "give an 'f' line for each or none at all"
        )
    return np.array([[known[tuple(sorted(face))][v] for v in face] for face in outer.tolist()])


def compute_vertex_normals(vertices: Floats, faces: Ints) -> Floats:
    """Return unit normals (points, 3), each the mean of its faces' normals weighted by area; 0 where no face is."""
    x = vertices[faces]
    area = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    total = np.zeros_like(vertices)
    for corner in range(3):
        np.add.at(total, faces[:, corner], area)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    normals: Floats = total / np.where(length > 0.0, length, 1.0)
    return normals


def compute_enclosed_volume(vertices: Floats, faces: Ints) -> float:
    """Return the volume [m^3] inside a closed surface whose faces look outwards (divergence theorem)."""
    x = vertices[faces]
    return float(np.einsum("ij,ij->", np.cross(x[:, 0], x[:, 1]), x[:, 2]) / 6.0)


# A tetrahedron counts as flat when its volume is below this fraction of the cube of its longest edge.
FLAT = 1e-9


@dataclass(frozen=True)
class Flaw:
    """One kind of flaw of a mesh.

    Args:
        what: Sentence with the first indices.
        mendable: True if ``repair`` can remove it.
    """

    what: str
    mendable: bool


def check_tetmesh(mesh: TetMesh, *, repair: bool = False) -> tuple[TetMesh, tuple[str, ...]]:
    """Check a solid for simulation and, if asked, repair it.

    Args:
        mesh: The solid.
        repair: Turn inverted tetrahedra round; drop flat and repeated ones, and vertices that no tetrahedron uses.

    Returns:
        The solid, and one sentence for each repair.

    Raises:
        InputError: Flaws remain; the message names all of them.
    """
    done: tuple[str, ...] = ()
    if repair and not any(not flaw.mendable for flaw in find_flaws(mesh)):
        mesh, done = mend(mesh)
    flaws = find_flaws(mesh)
    if flaws:
        hint = "; repair=True mends this" if all(f.mendable for f in flaws) and not repair else ""
        raise InputError(f"{mesh.name} cannot be simulated: {'; '.join(f.what for f in flaws)}{hint}")
    find_boundary_faces(mesh.tets)
    return mesh, done


def find_flaws(mesh: TetMesh) -> tuple[Flaw, ...]:
    """Return every flaw. Bad indices and non-finite vertices come alone, because they hide the rest."""
    if not len(mesh.tets):
        return (Flaw("it has no tetrahedra", False),)
    count = len(mesh.vertices)
    outside: NDArray[np.bool_] = np.any((mesh.tets < 0) | (mesh.tets >= count), axis=1)
    if outside.any():
        return (Flaw(f"{_list_indices('tet', outside)} refer to vertices outside 0 to {count - 1}", False),)
    used = np.zeros(count, dtype=bool)
    used[mesh.tets] = True
    bad = np.any(~np.isfinite(mesh.vertices), axis=1)
    if (bad & used).any():
        return (Flaw(f"{_list_indices('vertex', bad & used)} have a coordinate that is not finite", False),)
    flat = _flat(mesh)
    inverted = (compute_tet_volumes(mesh.vertices, mesh.tets) < 0.0) & ~flat
    found = (
        (flat, "tet", "have no volume"),
        (inverted, "tet", "are inverted (negative volume)"),
        (_find_repeated(mesh.tets) & ~flat, "tet", "repeat an earlier one"),
        (~used, "vertex", "belong to no tetrahedron"),
    )
    return tuple(Flaw(f"{_list_indices(kind, mask)} {words}", True) for mask, kind, words in found if mask.any())


def mend(mesh: TetMesh) -> tuple[TetMesh, tuple[str, ...]]:
    """Return a copy without mendable flaws, and one sentence for each repair."""
    done: list[str] = []
    keep = ~(_flat(mesh) | _find_repeated(mesh.tets))
    if not keep.all():
        done.append(f"removed {_list_indices('tet', ~keep)} (flat or repeated)")
    turned = compute_tet_volumes(mesh.vertices, mesh.tets) < 0.0
    if (turned & keep).any():
        done.append(f"turned {_list_indices('tet', turned & keep)} round (inverted)")
    tets = orient_tets(mesh.vertices, mesh.tets)[keep]
    used = np.unique(tets)
    unused = np.ones(len(mesh.vertices), dtype=bool)
    unused[used] = False
    if unused.any():
        done.append(f"removed {_list_indices('vertex', unused)} (in no tetrahedron)")
    mended = replace(
        mesh,
        vertices=mesh.vertices[used],
        tets=np.searchsorted(used, tets),
        vertex_groups=_renumber(mesh.vertex_groups, used),
        tet_groups=_renumber(mesh.tet_groups, np.flatnonzero(keep)),
        texture=_keep_texture(mesh.texture, used),
    )
    return mended, tuple(done)


def _flat(mesh: TetMesh) -> NDArray[np.bool_]:
    """Return True (tets,) for each flat tetrahedron."""
    x = mesh.vertices[mesh.tets]
    longest = np.max(np.linalg.norm(x[:, :, None] - x[:, None], axis=-1), axis=(1, 2))
    flat: NDArray[np.bool_] = np.abs(compute_tet_volumes(mesh.vertices, mesh.tets)) <= FLAT * longest**3
    return flat


def _find_repeated(tets: Ints) -> NDArray[np.bool_]:
    """Return True (tets,) for every tetrahedron with the four vertices of an earlier one."""
    _, first = np.unique(np.sort(tets, axis=1), axis=0, return_index=True)
    repeated = np.ones(len(tets), dtype=bool)
    repeated[first] = False
    return repeated


def _renumber(groups: Mapping[str, Ints], kept: Ints) -> dict[str, Ints]:
    """Return groups after all rows but ``kept`` are removed."""
    return {name: np.flatnonzero(np.isin(kept, members)) for name, members in groups.items()}


def _keep_texture(texture: TextureMap | None, used: Ints) -> TextureMap | None:
    """Return a texture after all vertices but the ``used`` ones are removed."""
    if texture is None:
        return None
    if texture.faces is None:
        return TextureMap(texture.uv[used])
    whole = np.isin(texture.faces, used).all(axis=1)
    corners = None if texture.corners is None else texture.corners[whole]
    return TextureMap(texture.uv, np.searchsorted(used, texture.faces[whole]), corners)


def _list_indices(kind: str, mask: NDArray[np.bool_]) -> str:
    """Return a list in words, such as "tets 3, 8 and 12 more"."""
    index = np.flatnonzero(mask)
    plural = "vertices" if kind == "vertex" else f"{kind}s"
    first = ", ".join(str(i) for i in index[:5])
    more = f" and {index.size - 5} more" if index.size > 5 else ""
    return f"{plural if index.size > 1 else kind} {first}{more}"
