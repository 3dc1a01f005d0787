"""Triangle mesh of a thin shell, with edges, hinges and named groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffloom.errors import InputError
from diffloom.validation import suggest_name
from diffloom_geometry import Edges, check_triangles, find_edges

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Sheet:
    """A checked triangle mesh: the constant topology of a thin shell.

    Args:
        vertices: Rest shape (V, 3) [m].
        faces: Triangles (F, 3), counter-clockwise seen from the front.
        uv: Texture coordinates (V, 2), or None.
        uv_faces: Rows of uv for each face's corners (F, 3), which lets the faces of a vertex differ, or None.
        groups: Named sets of vertices.
        face_groups: Named sets of faces.
        name: Name for messages.
    """

    vertices: NDArray[np.float64]
    faces: Indices
    uv: NDArray[np.float64] | None = None
    uv_faces: Indices | None = None
    groups: Mapping[str, Indices] = field(default_factory=dict)
    face_groups: Mapping[str, Indices] = field(default_factory=dict)
    name: str = "sheet"
    edges: Edges = field(init=False, repr=False)

    def __post_init__(self) -> None:
        vertices, faces = check_triangles(self.name, self.vertices, self.faces)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "faces", faces)
        object.__setattr__(self, "edges", find_edges(self.name, faces))
        for kind, groups, count in (
            ("group", self.groups, len(vertices)),
            ("face group", self.face_groups, len(faces)),
        ):
            for label, members in groups.items():
                check_members(f"{self.name}: {kind} {label!r}", members, count)
        if self.uv is not None:
            check_uv(self.name, np.asarray(self.uv), self.uv_faces, len(vertices), faces.shape)

    def select(self, what: str, which: str | int | Iterable[str | int]) -> Indices:
        """Return the numbers of the vertices of a group, an index, or a list of both; sorted, without duplicates.

        Args:
            what: Name of the argument for messages.
            which: Group name, index, or list.
        """
        return resolve_members(f"{self.name}: {what}", which, self.groups, len(self.vertices))

    def select_faces(self, what: str, which: str | int | Iterable[str | int]) -> Indices:
        """Return the numbers of the faces of a face group, an index, or a list of both; sorted, without duplicates.

        Args:
            what: Name of the argument for messages.
            which: Name of a face group, index, or list.
        """
        return resolve_members(f"{self.name}: {what}", which, self.face_groups, len(self.faces))

    def with_groups(self, groups: Mapping[str, ArrayLike], face_groups: Mapping[str, ArrayLike] | None = None) -> Sheet:
        """Return a copy with more named groups of vertices and of faces."""
        return replace(
            self,
            groups={**self.groups, **{k: np.asarray(v, dtype=np.int64) for k, v in groups.items()}},
            face_groups={**self.face_groups, **{k: np.asarray(v, np.int64) for k, v in (face_groups or {}).items()}},
        )

    def transform(
        self, scale: float = 1.0, rotation: ArrayLike | None = None, position: ArrayLike = (0, 0, 0)
    ) -> Sheet:
        """Return a copy that is scaled, rotated, then moved.

        Args:
            scale: Factor.
            rotation: Rotation matrix (3, 3), or None.
            position: Translation [m].
        """
        turn = np.eye(3) if rotation is None else np.asarray(rotation, dtype=np.float64)
        return replace(self, vertices=scale * self.vertices @ turn.T + np.asarray(position, dtype=np.float64))


def check_members(what: str, members: Indices, count: int) -> None:
    """Raise InputError unless ``members`` are indices below ``count``."""
    values = np.asarray(members)
    if values.size and not (np.issubdtype(values.dtype, np.integer) and 0 <= values.min() <= values.max() < count):
        raise InputError(f"{what}: got {values.tolist()[:8]}; expected whole numbers from 0 to {count - 1}")


def check_uv(
    name: str, uv: NDArray[np.float64], uv_faces: Indices | None, vertices: int, faces: tuple[int, ...]
) -> None:
    """Raise InputError unless texture coordinates fit the mesh."""
    if uv.ndim != 2 or uv.shape[1] != 2 or not np.isfinite(uv).all():
        raise InputError(f"{name}: uv has shape {uv.shape}; expected (points, 2) of finite numbers")
    if uv_faces is None and len(uv) != vertices:
        raise InputError(f"{name}: {len(uv)} rows of uv for {vertices} vertices; give one row per vertex, or uv_faces")
    if uv_faces is not None:
        if uv_faces.shape != faces:
            raise InputError(f"{name}: uv_faces has shape {uv_faces.shape}; expected {faces}, as faces has")
        check_members(f"{name}: uv_faces", uv_faces, len(uv))


def resolve_members(
    what: str, which: str | int | Iterable[str | int], groups: Mapping[str, Indices], count: int
) -> Indices:
    """Return names and numbers as sorted indices."""
    chosen: list[int] = []
    for entry in [which] if isinstance(which, (str, int)) else which:
        if isinstance(entry, str):
            if entry not in groups:
                known = ", ".join(sorted(groups)) or "none"
                raise InputError(f"{what}: there is no group {entry!r}{suggest_name(entry, groups)}; groups: {known}")
            chosen.extend(int(i) for i in groups[entry])
        elif 0 <= int(entry) < count:
            chosen.append(int(entry))
        else:
            raise InputError(f"{what}: got index {entry}; expected 0 to {count - 1}, or the name of a group")
    return np.unique(np.array(chosen, dtype=np.int64))
