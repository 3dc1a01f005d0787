"""Solids that links are made of: box, sphere, cylinder, capsule and closed meshes."""

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
    """vertices (V, 3) [m] and faces (F, 3), closed and looking outwards; body: integrals of the exact solid.

    kind: the shape's name, "mesh" for others. dims: half edges of a box; radius of a sphere; radius and half the length
    of the straight part of a capsule [m].
    """

    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]
    body: VolumeIntegrals
    kind: str = "mesh"
    dims: tuple[float, ...] = ()


def box(size: Any = (1.0, 1.0, 1.0)) -> LinkShape:
    """size: edge lengths along x, y, z, or one for a cube [m]."""
    import trimesh

    edges = np.broadcast_to(np.asarray(size, dtype=np.float64), (3,))
    mesh = trimesh.creation.box(extents=edges)
    volume = float(np.prod(edges))
    return LinkShape(*arrays(mesh), VolumeIntegrals(volume, np.zeros(3), np.diag(volume * edges**2 / 12.0)), "box",
                 tuple(float(x) for x in 0.5 * edges))  # fmt: skip


def sphere(radius: float = 0.5, subdivisions: int = 2) -> LinkShape:
    """radius [m]; drawn as an icosahedron divided ``subdivisions`` times."""
    import trimesh

    mesh = trimesh.creation.icosphere(subdivisions=subdivisions, radius=radius)
    return LinkShape(*arrays(mesh), integrate_sphere(radius), "sphere", (float(radius),))


def cylinder(radius: float = 0.5, height: float = 1.0, segments: int = 16) -> LinkShape:
    """radius, height along y [m]."""
    import trimesh

    volume = math.pi * radius**2 * height
    mesh = trimesh.creation.cylinder(radius, height, sections=segments, transform=UPRIGHT)
    moment = volume * np.diag([0.25 * radius**2, height**2 / 12.0, 0.25 * radius**2])
    return LinkShape(*arrays(mesh), VolumeIntegrals(volume, np.zeros(3), moment), "cylinder")


def capsule(radius: float = 0.25, length: float = 0.5, segments: int = 12) -> LinkShape:
    """radius, length of the straight part along y [m]."""
    import trimesh

    mesh = trimesh.creation.capsule(height=length, radius=radius, count=[segments, segments], transform=UPRIGHT)
    half = 0.5 * length
    return LinkShape(*arrays(mesh), integrate_capsule(radius, half), "capsule", (float(radius), half))


UPRIGHT = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
"""Turns z to y."""
SHAPES: Mapping[str, Callable[..., LinkShape]] = {
    "box": box, "sphere": sphere, "cylinder": cylinder, "capsule": capsule,
}  # fmt: skip
SIZES = {
    "box": ("size",), "sphere": ("radius", "subdivisions"), "cylinder": ("radius", "height", "segments"),
    "capsule": ("radius", "length", "segments"),
}  # fmt: skip


def arrays(mesh: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Vertices and faces of a mesh of trimesh."""
    return np.array(mesh.vertices, dtype=np.float64), np.array(mesh.faces, dtype=np.int64)


def read_shape(table: Mapping[str, Any]) -> LinkShape:
    """The shape a table asks for: ``shape`` by name with its sizes, or ``mesh``, a file, with ``scale``."""
    if ("shape" in table) == ("mesh" in table):
        raise InputError(f"expected either shape (one of {', '.join(SHAPES)}) or mesh (a file)")
    if "mesh" in table:
        return mesh_shape(Path(table["mesh"]), table.get("scale", 1.0), table)
    name = check_choice("shape", str(table["shape"]), SHAPES)
    sizes = {key: value for key, value in table.items() if key != "shape"}
    for key, value in sizes.items():
        if key not in SIZES[name]:
            raise InputError(f"shape {name!r}: got {key}={value!r}; its sizes are: {', '.join(SIZES[name])}")
        if not (np.asarray(value, dtype=np.float64) > 0.0).all():
            raise InputError(f"shape {name!r}: got {key}={value!r}; expected positive numbers")
    return SHAPES[name](**sizes)


def mesh_shape(path: Path, scale: Any, table: Mapping[str, Any]) -> LinkShape:
    """A closed mesh from a file, scaled by one factor or three."""
    unknown = [key for key in table if key not in ("mesh", "scale")]
    if unknown:
        raise InputError(f"unknown key {unknown[0]!r}; a mesh has a scale only")
    factors = np.broadcast_to(np.asarray(scale, dtype=np.float64), (3,))
    if not (np.isfinite(factors) & (factors > 0.0)).all():
        raise InputError(f"scale: got {scale!r}; expected positive numbers")
    vertices, faces = read_closed_mesh(path)
    scaled = vertices * factors
    return LinkShape(scaled, faces, integrate_volume(scaled, faces))
