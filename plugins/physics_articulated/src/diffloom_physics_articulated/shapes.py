"""Solids of links: box, sphere, cylinder, capsule and closed meshes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom.validation import check_choice
from diffloom_geometry import VolumeIntegrals, integrate_capsule, integrate_sphere, integrate_volume, read_closed_mesh


@dataclass(frozen=True)
class LinkShape:
    """A closed surface and the integrals of the exact solid.

    Args:
        vertices: Vertices (V, 3) [m].
        faces: Triangles (F, 3), outward.
        body: Volume integrals of the exact solid.
        kind: Name of the shape; "mesh" for a mesh.
        dims: Half edges of a box; radius of a sphere; radius and half length of the straight part of a capsule [m].
    """

    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]
    body: VolumeIntegrals
    kind: str = "mesh"
    dims: tuple[float, ...] = ()


def box(size: Any = (1.0, 1.0, 1.0)) -> LinkShape:
    """Return a box.

    Args:
        size: Edge lengths along x, y, z [m], or one for a cube.
    """
    import trimesh

    edges = np.broadcast_to(np.asarray(size, dtype=np.float64), (3,))
    mesh = trimesh.creation.box(extents=edges)
    volume = float(np.prod(edges))
    return LinkShape(*split_mesh(mesh), VolumeIntegrals(volume, np.zeros(3), np.diag(volume * edges**2 / 12.0)), "box",
                 tuple(float(x) for x in 0.5 * edges))  # fmt: skip


def sphere(radius: float = 0.5, subdivisions: int = 2) -> LinkShape:
    """Return a ball, drawn as an icosahedron divided ``subdivisions`` times.

    Args:
        radius: Radius [m].
        subdivisions: 0, 1, 2, ...
    """
    import trimesh

    mesh = trimesh.creation.icosphere(subdivisions=subdivisions, radius=radius)
    return LinkShape(*split_mesh(mesh), integrate_sphere(radius), "sphere", (float(radius),))


def cylinder(radius: float = 0.5, height: float = 1.0, segments: int = 16) -> LinkShape:
    """Return a cylinder along y.

    Args:
        radius: Radius [m].
        height: Height [m].
        segments: Vertices of a ring.
    """
    import trimesh

    volume = math.pi * radius**2 * height
    mesh = trimesh.creation.cylinder(radius, height, sections=segments, transform=UPRIGHT)
    moment = volume * np.diag([0.25 * radius**2, height**2 / 12.0, 0.25 * radius**2])
    return LinkShape(*split_mesh(mesh), VolumeIntegrals(volume, np.zeros(3), moment), "cylinder")


def capsule(radius: float = 0.25, length: float = 0.5, segments: int = 12) -> LinkShape:
    """Return a capsule along y.

    Args:
        radius: Radius [m].
        length: Length of the straight part [m].
        segments: Vertices of a ring.
    """
    import trimesh

    mesh = trimesh.creation.capsule(height=length, radius=radius, count=[segments, segments], transform=UPRIGHT)
    half = 0.5 * length
    return LinkShape(*split_mesh(mesh), integrate_capsule(radius, half), "capsule", (float(radius), half))


UPRIGHT = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
"""Rotation from z to y."""
SHAPES: Mapping[str, Callable[..., LinkShape]] = {
    "box": box, "sphere": sphere, "cylinder": cylinder, "capsule": capsule,
}  # fmt: skip
SIZES = {
    "box": ("size",), "sphere": ("radius", "subdivisions"), "cylinder": ("radius", "height", "segments"),
    "capsule": ("radius", "length", "segments"),
}  # fmt: skip


def split_mesh(mesh: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return vertices and faces of a mesh of trimesh."""
    return np.array(mesh.vertices, dtype=np.float64), np.array(mesh.faces, dtype=np.int64)


def read_shape(table: Mapping[str, Any]) -> LinkShape:
    """Return the shape of a table: ``shape``, a name, with its sizes, or ``mesh``, a file, with ``scale``."""
    if ("shape" in table) == ("mesh" in table):
        given = "both shape and mesh" if "shape" in table else "neither shape nor mesh"
        raise InputError(f"got {given}; expected either shape (one of {', '.join(SHAPES)}) or mesh (a file)")
    if "mesh" in table:
        return read_mesh_shape(Path(table["mesh"]), table.get("scale", 1.0), table)
    name = check_choice("shape", str(table["shape"]), SHAPES)
    sizes = {key: value for key, value in table.items() if key != "shape"}
    for key, value in sizes.items():
        if key not in SIZES[name]:
            raise InputError(f"shape {name!r}: got {key}={value!r}; its sizes are: {', '.join(SIZES[name])}")
        if not (np.asarray(value, dtype=np.float64) > 0.0).all():
            raise InputError(f"shape {name!r}: got {key}={value!r}; expected positive numbers")
    return SHAPES[name](**sizes)


def read_mesh_shape(path: Path, scale: Any, table: Mapping[str, Any]) -> LinkShape:
    """Return a closed mesh from a file, scaled by one factor or three."""
    unknown = [key for key in table if key not in ("mesh", "scale")]
    if unknown:
        raise InputError(f"unknown key {unknown[0]!r}; a mesh has a scale only")
    factors = np.broadcast_to(np.asarray(scale, dtype=np.float64), (3,))
    if not (np.isfinite(factors) & (factors > 0.0)).all():
        raise InputError(f"scale: got {scale!r}; expected positive numbers")
    vertices, faces = read_closed_mesh(path)
    scaled = vertices * factors
    return LinkShape(scaled, faces, integrate_volume(scaled, faces))
