"""Solids in plain text, ``.tet``: one thing per line.

    v x y z         a vertex [m]
    t a b c d       a tetrahedron of vertices counted from 0
    vt u v          a texture point, optional
    f a/p b/q c/r   a surface triangle: vertices and their texture points, optional
    g name          the tetrahedra that follow belong to this group, optional; g alone ends it
    # ...           a remark

Without ``f`` lines, ``vt`` lines go with the vertices one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from diffloom.errors import InputError
from diffloom_geometry.tetmesh import TetMesh, TextureMap


@dataclass
class _Lines:
    """What the lines of a file have said so far."""

    vertices: list[list[float]] = field(default_factory=list)
    tets: list[list[int]] = field(default_factory=list)
    uv: list[list[float]] = field(default_factory=list)
    faces: list[list[int]] = field(default_factory=list)
    corners: list[list[int]] = field(default_factory=list)
    groups: dict[str, list[int]] = field(default_factory=dict)
    group: str | None = None

    def take(self, word: str, rest: list[str]) -> None:
        """Read one line; ValueError when it has not the form of its first word."""
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
    """The solid in a ``.tet`` file."""
    lines = _Lines()
    for number, line in enumerate(path.read_text().splitlines(), start=1):
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
    """Write vertices, tetrahedra, their groups and texture, so that ``read_tet`` returns them bit for bit.

    Groups of vertices have no place in the format; a tetrahedron can be in one group only.
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
    if len(words) != count:
        raise ValueError(f"got {len(words)} entries; expected {count}")
    return words


def _numbers(words: list[str], count: int) -> list[float]:
    return [float(word) for word in _exactly(words, count)]
