"""Readers of solids: files of tetrahedra, and closed surfaces, which are filled.

The known files of tetrahedra are ``.msh`` of gmsh (ASCII, versions 2 and 4), pairs of text files ``.node`` (points) and
``.ele`` (tetrahedra), counted from 0 or 1, and ``.tet``, a plain text with one entry per line:

    v x y z         a vertex [m]
    t a b c d       a tetrahedron of vertices counted from 0
    vt u v          a texture point, optional
    f a/p b/q c/r   a surface triangle: vertices and their texture points, optional
    g name          the tetrahedra that follow belong to this group, optional; g alone ends it
    # ...           a remark

Without ``f`` lines, ``vt`` lines go with the vertices one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from diffloom.errors import InputError
from diffloom_geometry.mesh_files import is_surface_mesh, read_lines
from diffloom_geometry.tetmesh import Floats, Ints, TetMesh, TextureMap


@dataclass
class _Lines:
    """Content of the lines of a ``.tet`` file read so far."""

    vertices: list[list[float]] = field(default_factory=list)
    tets: list[list[int]] = field(default_factory=list)
    uv: list[list[float]] = field(default_factory=list)
    faces: list[list[int]] = field(default_factory=list)
    corners: list[list[int]] = field(default_factory=list)
    groups: dict[str, list[int]] = field(default_factory=dict)
    group: str | None = None

    def take(self, word: str, rest: list[str]) -> None:
        """Read one line; raise ValueError when it has not the form that its first word demands."""
        if word == "v":
            self.vertices.append(_numbers(rest, 3))
        elif word == "t":
            if self.group is not None:
                self.groups[self.group].append(len(self.tets))
            self.tets.append([int(n) for n in _exactly(rest, 4)])
        elif word == "vt":
            self.uv.append(_numbers(rest, 2))
        elif word == "f":
            pairs = [pair.split("/") for pair in _exactly(rest, 3)]
            self.faces.append([int(pair[0]) for pair in pairs])
            self.corners.append([int(_exactly(pair, 2)[1]) for pair in pairs])
        elif word == "g":
            self.group = rest[0] if rest else None
            if self.group is not None:
                self.groups.setdefault(self.group, [])
        else:
            raise ValueError(f"unknown word {word!r}; expected v, t, vt, f, g or #")


def read_tet(path: Path) -> TetMesh:
    """Read the solid in a ``.tet`` file."""
    lines = _Lines()
    for number, line in enumerate(read_lines(path), start=1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        try:
            lines.take(words[0], words[1:])
        except (ValueError, IndexError) as cause:
            raise InputError(f"{path.name}, line {number}: {line.strip()!r} cannot be read: {cause}") from cause
    return TetMesh(
        np.array(lines.vertices).reshape(-1, 3),
        np.array(lines.tets, dtype=np.int64).reshape(-1, 4),
        tet_groups={name: np.array(members, dtype=np.int64) for name, members in lines.groups.items()},
        texture=_texture(path, lines),
        name=path.name,
    )


def write_tet(mesh: TetMesh, path: Path) -> None:
    """Write vertices, tetrahedra, their groups and texture to a ``.tet`` file, from which they are read bit for bit.

    Groups of vertices have no place in the format, and a tetrahedron can be in one group only.

    Args:
        mesh: The solid.
        path: File to write.

    Raises:
        InputError: A tetrahedron is in two groups.
    """
    owner = ["" for _ in mesh.tets]
    for name, members in mesh.tet_groups.items():
        for i in members.tolist():
            if owner[i]:
                raise InputError(f"{path.name}: tet {i} is in the groups {owner[i]!r} and {name!r}; .tet allows one")
            owner[i] = name
    rows = [f"v {x!r} {y!r} {z!r}" for x, y, z in mesh.vertices.tolist()]
    current = ""
    for tet, name in zip(mesh.tets.tolist(), owner, strict=True):
        if name != current:
            rows.append(f"g {name}" if name else "g")
            current = name
        rows.append("t " + " ".join(str(v) for v in tet))
    if mesh.texture is not None:
        rows += [f"vt {u!r} {v!r}" for u, v in mesh.texture.uv.tolist()]
        if mesh.texture.faces is not None and mesh.texture.corners is not None:
            pairs = np.stack([mesh.texture.faces, mesh.texture.corners], axis=-1).tolist()
            rows += ["f " + " ".join(f"{v}/{c}" for v, c in face) for face in pairs]
    path.write_text("\n".join(rows) + "\n")


def _texture(path: Path, lines: _Lines) -> TextureMap | None:
    """Return the texture that vt and f lines describe, or None."""
    if not lines.uv:
        return None
    if lines.faces:
        if not 0 <= np.min(lines.corners) <= np.max(lines.corners) < len(lines.uv):
            raise InputError(f"{path.name}: an f line refers to a texture point outside 0 to {len(lines.uv) - 1}")
        return TextureMap(np.array(lines.uv), np.array(lines.faces), np.array(lines.corners))
    if len(lines.uv) != len(lines.vertices):
        raise InputError(
            f"{path.name}: {len(lines.uv)} vt lines for {len(lines.vertices)} vertices; expected one each, or f lines "
            "that say which belongs where"
        )
    return TextureMap(np.array(lines.uv))


def _exactly(words: list[str], count: int) -> list[str]:
    """Return the words; raise ValueError unless there are ``count``."""
    if len(words) != count:
        raise ValueError(f"got {len(words)} entries; expected {count}")
    return words


def _numbers(words: list[str], count: int) -> list[float]:
    """Return ``count`` words as numbers."""
    return [float(word) for word in _exactly(words, count)]


def read_node_ele(path: Path) -> TetMesh:
    """Read the solid in a pair of ``.node`` and ``.ele`` files, of which ``path`` is one; both have one stem.

    Boundary markers of points become the vertex groups "marker_<n>" (0 marks none), the first attribute of tetrahedra
    the groups "region_<n>".
    """
    points = _table(path.with_suffix(".node"), 4)
    header, rows = points
    dimension, attributes, markers = int(header[1]), int(header[2]), int(header[3])
    if dimension != 3:
        raise InputError(f"{path.stem}.node: points have {dimension} coordinates; expected 3")
    _check_width(path.with_suffix(".node"), rows, 4 + attributes + markers)
    first = int(rows[0, 0]) if len(rows) else 0
    if first not in (0, 1) or not np.array_equal(rows[:, 0], np.arange(first, first + len(rows))):
        raise InputError(f"{path.stem}.node: points must be numbered one by one from 0 or 1")
    header, cells = _table(path.with_suffix(".ele"), 3)
    corners, attributes_of_tets = int(header[1]), int(header[2])
    if corners != 4:
        raise InputError(f"{path.stem}.ele: tetrahedra have {corners} points; expected 4 (first order)")
    _check_width(path.with_suffix(".ele"), cells, 5 + attributes_of_tets)
    return TetMesh(
        rows[:, 1:4],
        cells[:, 1:5].astype(np.int64) - first,
        vertex_groups=_groups("marker", rows[:, -1], skip_zero=True) if markers else {},
        tet_groups=_groups("region", cells[:, 5], skip_zero=False) if attributes_of_tets else {},
        name=path.stem,
    )


def _table(path: Path, header_length: int) -> tuple[Floats, Floats]:
    """Return the numbers of the first line and the table below it."""
    if not path.exists():
        raise InputError(f"{path.name} is missing: a .node and an .ele file of one stem belong together")
    lines = [line.split("#", 1)[0].split() for line in read_lines(path)]
    lines = [words for words in lines if words]
    try:
        header = np.array([float(word) for word in lines[0]])
        count = int(header[0])
        rows = np.array([[float(word) for word in words] for words in lines[1 : count + 1]])
    except (ValueError, IndexError) as cause:
        raise InputError(f"{path.name} cannot be read as a table of numbers: {cause}") from cause
    if len(rows) != count:
        raise InputError(f"{path.name}: the first line promises {count} rows, the file has {len(rows)}")
    return np.pad(header, (0, max(0, header_length - len(header)))), rows.reshape(count, -1)


def _check_width(path: Path, rows: Floats, width: int) -> None:
    """Raise InputError unless rows have as many entries as the first line promises."""
    if len(rows) and rows.shape[1] != width:
        raise InputError(f"{path.name}: rows have {rows.shape[1]} entries; the first line promises {width}")


def _groups(word: str, labels: Floats, *, skip_zero: bool) -> dict[str, Ints]:
    """Return the rows with each label, as groups called "<word>_<label>"."""
    kinds = [label for label in np.unique(labels) if label or not skip_zero]
    return {f"{word}_{label:g}": np.flatnonzero(labels == label) for label in kinds}


_TRIANGLE, _TET, _TET10 = 2, 4, 11
Section = list[list[str]]


@dataclass
class _Content:
    """Nodes and elements as the file numbers them; physical groups by (dimension, tag)."""

    node: dict[int, int] = field(default_factory=dict)
    vertices: list[list[float]] = field(default_factory=list)
    tets: list[list[int]] = field(default_factory=list)
    tet_physical: dict[int, list[int]] = field(default_factory=dict)
    face_physical: dict[int, list[int]] = field(default_factory=dict)

    def add_node(self, tag: str, xyz: list[str]) -> None:
        """Add a node with its tag and place."""
        self.node[int(tag)] = len(self.vertices)
        self.vertices.append([float(c) for c in xyz[:3]])

    def add_element(self, kind: int, physical: list[int], nodes: list[str]) -> None:
        """Add a triangle or a tetrahedron; elements of other types are ignored."""
        if kind == _TET10:
            raise ValueError("tetrahedra of second order (10 nodes); export first order (4 nodes)")
        corners = [self.node[int(n)] for n in nodes]
        if kind == _TET:
            for tag in physical:
                self.tet_physical.setdefault(tag, []).append(len(self.tets))
            self.tets.append(corners)
        elif kind == _TRIANGLE:
            for tag in physical:
                self.face_physical.setdefault(tag, []).extend(corners)


def read_msh(path: Path) -> TetMesh:
    """Read the solid in a gmsh file; physical volumes become tet groups, physical surfaces vertex groups."""
    try:
        sections = _sections(path)
        version = sections["MeshFormat"][0]
        if version[1] != "0":
            raise ValueError("the file is binary; export it as ASCII")
        names = _physical_names(sections.get("PhysicalNames", []))
        content = _Content()
        if version[0].startswith("2"):
            _read_v2(sections, content)
        elif version[0].startswith("4"):
            _read_v4(sections, content, swapped=version[0] == "4")
        else:
            raise ValueError(f"version {version[0]} is not known; export as version 2 or 4")
    except KeyError as cause:
        raise InputError(f"{path.name} cannot be read: {cause} is missing or not defined") from cause
    except (ValueError, IndexError) as cause:
        raise InputError(f"{path.name} cannot be read: {cause}") from cause
    return TetMesh(
        np.array(content.vertices).reshape(-1, 3),
        np.array(content.tets, dtype=np.int64).reshape(-1, 4),
        vertex_groups=_name_groups(content.face_physical, names, 2),
        tet_groups=_name_groups(content.tet_physical, names, 3),
        name=path.name,
    )


def _sections(path: Path) -> dict[str, Section]:
    """Return the lines of each section, as words."""
    try:
        lines = read_lines(path)
    except InputError as cause:
        if isinstance(cause.__cause__, UnicodeDecodeError):
            raise ValueError("the file is binary; export it as ASCII") from cause
        raise
    sections: dict[str, Section] = {}
    current: Section | None = None
    for line in lines:
        if line.startswith("$End"):
            current = None
        elif line.startswith("$"):
            current = sections.setdefault(line[1:].strip(), [])
        elif current is not None and line.strip():
            current.append(line.split())
    return sections


def _physical_names(rows: Section) -> dict[tuple[int, int], str]:
    """Return the names of physical groups by (dimension, tag)."""
    return {(int(row[0]), int(row[1])): " ".join(row[2:]).strip('"') for row in rows[1:]}


def _name_groups(groups: dict[int, list[int]], names: dict[tuple[int, int], str], dimension: int) -> dict[str, Ints]:
    """Return groups by name; a group without a name is called by its tag."""
    return {
        names.get((dimension, tag), f"physical_{tag}"): np.unique(np.array(members, dtype=np.int64))
        for tag, members in sorted(groups.items())
        if tag != 0
    }


def _read_v2(sections: dict[str, Section], content: _Content) -> None:
    """Read version 2."""
    for row in sections["Nodes"][1:]:
        content.add_node(row[0], row[1:])
    for row in sections["Elements"][1:]:
        tags = int(row[2])
        content.add_element(int(row[1]), [int(row[3])] if tags else [], row[3 + tags :])


def _read_v4(sections: dict[str, Section], content: _Content, *, swapped: bool) -> None:
    """Read version 4.1; 4.0 (``swapped``) puts an entity's tag before its dimension and each node's tag on its line."""
    physical = _entity_groups(sections.get("Entities", []))
    rows = iter(sections["Nodes"][1:])
    for head in rows:
        block = [next(rows) for _ in range(int(head[3]) * (1 if swapped else 2))]
        half = 0 if swapped else len(block) // 2
        for i in range(int(head[3])):
            content.add_node(block[i][0], block[i][1:] if swapped else block[half + i])
    rows = iter(sections["Elements"][1:])
    for head in rows:
        dimension, entity = (int(head[1]), int(head[0])) if swapped else (int(head[0]), int(head[1]))
        for _ in range(int(head[3])):
            content.add_element(int(head[2]), physical.get((dimension, entity), []), next(rows)[1:])


def _entity_groups(rows: Section) -> dict[tuple[int, int], list[int]]:
    """Return the physical tags of surfaces and volumes by (dimension, entity tag)."""
    if not rows:
        return {}
    counts = [int(n) for n in rows[0][:4]]
    groups: dict[tuple[int, int], list[int]] = {}
    for dimension in (2, 3):
        start = 1 + sum(counts[:dimension])
        for row in rows[start : start + counts[dimension]]:
            # tag, six numbers of the bounding box, number of physical tags, these tags
            groups[dimension, int(row[0])] = [int(tag) for tag in row[8 : 8 + int(row[7])]]
    return groups


_TET_READERS: dict[str, Callable[[Path], TetMesh]] = {
    ".tet": read_tet,
    ".msh": read_msh,
    ".node": read_node_ele,
    ".ele": read_node_ele,
}


def read_solid(path: str | Path | Any, *, edge_length: float | None = None) -> TetMesh:
    """Read a solid from a file of tetrahedra, or fill the closed surface in any file that trimesh reads.

    ``fill_surface`` says how surfaces are filled. The mesh is not checked: see ``check_tetmesh``.

    Args:
        path: ``.tet``, ``.msh`` (ASCII 2 and 4), ``.node`` or ``.ele`` file, or a surface (OBJ, PLY, STL, OFF, GLB,
            glTF), or a closed surface as a ``trimesh.Trimesh``.
        edge_length: Target edge of the tetrahedra that fill a surface, as a fraction of the diagonal of its bounding
            box; None for 0.1, or less where that does not fit.

    Returns:
        The solid.

    Raises:
        InputError: The file is missing or damaged, or cannot be filled.
    """
    if is_surface_mesh(path):
        from diffloom_geometry.tet_fill import fill_surface

        return fill_surface(path, edge_length=edge_length)
    try:
        place = Path(path).expanduser()
    except RuntimeError:  # "~name" of an unknown user is an ordinary name
        place = Path(path)
    if not place.exists():
        raise InputError(f"mesh file {str(path)!r} does not exist; expected {', '.join(_TET_READERS)} or a surface")
    reader = _TET_READERS.get(place.suffix.lower())
    if reader is not None:
        try:
            return reader(place)
        except InputError:
            raise
        except Exception as cause:
            raise InputError(f"{place.name} cannot be read: {str(cause)[:200] or type(cause).__name__}") from cause
    from diffloom_geometry.tet_fill import fill_surface

    return fill_surface(place, edge_length=edge_length)
