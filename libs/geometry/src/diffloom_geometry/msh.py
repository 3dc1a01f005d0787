"""Solids in ``.msh`` files of gmsh, ASCII, versions 2 and 4."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from diffloom.errors import InputError
from diffloom_geometry.tetmesh import Ints, TetMesh

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
        self.node[int(tag)] = len(self.vertices)
        self.vertices.append([float(c) for c in xyz[:3]])

    def add_element(self, kind: int, physical: list[int], nodes: list[str]) -> None:
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
    """The solid in a gmsh file; physical volumes become tet groups, physical surfaces vertex groups."""
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
        vertex_groups=_named(content.face_physical, names, 2),
        tet_groups=_named(content.tet_physical, names, 3),
        name=path.name,
    )


def _sections(path: Path) -> dict[str, Section]:
    try:
        lines = path.read_text().splitlines()
    except UnicodeDecodeError as cause:
        raise ValueError("the file is binary; export it as ASCII") from cause
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
    return {(int(row[0]), int(row[1])): " ".join(row[2:]).strip('"') for row in rows[1:]}


def _named(groups: dict[int, list[int]], names: dict[tuple[int, int], str], dimension: int) -> dict[str, Ints]:
    return {
        names.get((dimension, tag), f"physical_{tag}"): np.unique(np.array(members, dtype=np.int64))
        for tag, members in sorted(groups.items())
        if tag != 0
    }


def _read_v2(sections: dict[str, Section], content: _Content) -> None:
    for row in sections["Nodes"][1:]:
        content.add_node(row[0], row[1:])
    for row in sections["Elements"][1:]:
        tags = int(row[2])
        content.add_element(int(row[1]), [int(row[3])] if tags else [], row[3 + tags :])


def _read_v4(sections: dict[str, Section], content: _Content, *, swapped: bool) -> None:
    """Version 4.1; 4.0 (``swapped``) puts an entity's tag before its dimension and each node's tag on its line."""
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
    """Physical tags of surfaces and volumes by (dimension, entity tag)."""
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
