"""One body of a scene, and its reading from the tables of scene files and scripts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom.validation import check_choice, suggest_name
from diffloom_geometry import Faces, Points, VolumeIntegrals, check_closed, is_surface_mesh, read_closed_mesh
from diffloom_mechanics.contact import ContactLaw, read_rounding, read_spacing
from diffloom_physics_rigid.contact_sampling import read_contact, read_grid, sample_contact_points, sample_pair_points
from diffloom_physics_rigid.shapes import SHAPES, RigidShape, build_shape

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class RigidBody:
    """A rigid body in its own frame: origin in the centre of mass, axes of its shape.

    Args:
        name: Name for messages and pushes.
        vertices: Surface that is drawn, (V, 3) [m]: that of the shape, or one whose outline has the exact shape's area.
        faces: Triangles of that surface, (F, 3).
        shape: The solid.
        volume: Volume [m^3].
        inertia: Inertia about the centre at density 1, (3, 3) [m^5].
        points: Points that touch the ground, (C, 3) [m].
        roundness: Radius [m] of the ball around each point: 0 for vertices, the radius of a sphere for its centre.
        pair_points: Points that touch other bodies, (D, 3) [m]; more than ``points`` if vertices are far apart.
        fixed: True for a body that never moves.
        collides: True if other bodies touch it.
        grid: Cells along the longest side of a mesh's grid of distances.
        colour: RGB in 0..1, or None.
        start: Parameter values in the body's table.
    """

    name: str
    vertices: Points
    faces: Faces
    shape: RigidShape
    volume: float
    inertia: NDArray[np.float64]
    points: Points
    roundness: float
    pair_points: Points
    fixed: bool
    collides: bool
    grid: int
    colour: tuple[float, float, float] | None
    start: dict[str, Any]

    @property
    def reach(self) -> float:
        """Distance of the farthest contact point from the centre [m]."""
        return float(np.linalg.norm(self.points, axis=1).max()) + self.roundness


START = {
    "position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3, "inertia": 6, "mass": 0, "density": 0,
    "restitution": 0, "reference_speed": 0, "centre_of_mass": 3, "static_sag": 0,
}  # fmt: skip
"""Start values in a body's table with the count of numbers in each (0: a scalar); contact parameters come on top."""
POSITIVE = ("mass", "density", "reference_speed", "static_sag")
OTHER = (
    "shape",
    "mesh",
    "vertices",
    "faces",
    "scale",
    "contact",
    "fixed",
    "collides",
    "grid",
    "spacing",
    "rounding",
    "tessellation",
    "colour",
    "name",
)


def as_tables(bodies: object) -> tuple[Mapping[str, Any], ...]:
    """Return a table for each body.

    Args:
        bodies: Tables, names of shapes, paths of mesh files or ``trimesh.Trimesh`` objects; or a single one of them.

    Returns:
        The tables.
    """
    if isinstance(bodies, Mapping | str | Path) or is_surface_mesh(bodies):
        bodies = [bodies]
    return tuple(_as_table(body) for body in bodies)  # type: ignore[attr-defined]


def _as_table(body: Any) -> Mapping[str, Any]:
    """Return the table of a shape's name, a path or a mesh, or a table with lists for arrays and tensors."""
    if isinstance(body, Mapping):
        meshes = ("mesh", "vertices", "faces")
        return {k: v.tolist() if hasattr(v, "tolist") and k not in meshes else v for k, v in body.items()}
    if isinstance(body, str) and body in SHAPES:
        return {"shape": body}
    return {"mesh": body} if isinstance(body, str | Path) or is_surface_mesh(body) else body


def read_body(number: int, table: Mapping[str, Any], law: ContactLaw) -> RigidBody:
    """Return the body that a table describes: a ``shape`` with its sizes, a ``mesh`` file, or ``vertices`` and
    ``faces``.

    Args:
        number: Index of the body, for its default name and for messages.
        table: Keys and values; docs/models/rigid.md lists them.
        law: Contact law, whose parameters the table may hold.

    Raises:
        InputError: A key or value cannot be used; the message names the body.
    """
    what = f"bodies[{number}]" + (f" {table['name']!r}" if "name" in table else "")
    if not isinstance(table, Mapping):
        raise InputError(f"{what}: got {table!r}; expected a table such as {{shape = 'box', size = [1, 1, 1]}}")
    try:
        keys = list_start_keys(table, law)
        shape = read_shape(table, keys).stretch(read_scale(table.get("scale", 1.0)))
        start = read_start(table, keys, law)
        contact = read_contact(table, shape)
        grid = read_grid(table)
        spacing = read_spacing(table, shape.vertices)
        rounding = read_rounding(table, shape.kind, shape.dims)
    except InputError as cause:
        raise InputError(f"{what}: {cause}") from cause
    round_shape = contact == "round"
    body = shape.smooth if round_shape and shape.smooth is not None else shape.solid
    centred = replace(shape, vertices=shape.vertices - body.centre)
    try:
        drawn = read_tessellation(table, centred)
    except InputError as cause:
        raise InputError(f"{what}: {cause}") from cause
    points, roundness = sample_contact_points(centred, contact, spacing, rounding)
    colour = table.get("colour")
    return RigidBody(
        name=str(table.get("name", f"{table.get('shape', 'mesh')} {number}")),
        vertices=drawn,
        faces=centred.faces,
        shape=centred,
        volume=body.volume,
        inertia=body.inertia,
        points=points,
        roundness=roundness,
        pair_points=points if round_shape else sample_pair_points(centred, rounding, spacing),
        fixed=bool(table.get("fixed", False)),
        collides=bool(table.get("collides", True)),
        grid=grid,
        colour=None if colour is None else (float(colour[0]), float(colour[1]), float(colour[2])),
        start={**start, **resolve_mass(start, body)},
    )


def list_start_keys(table: Mapping[str, Any], law: ContactLaw) -> dict[str, int]:
    """Return START and the law's parameters; refuse a parameter of another law with advice."""
    for spec in law.normal_specs:
        for name, words in spec.not_to_be_confused:
            if name in table and name not in START:
                raise InputError(f"got {name}: {words}")
    return {**START, **dict.fromkeys(law.names, 0)}


def read_shape(table: Mapping[str, Any], keys: Mapping[str, int]) -> RigidShape:
    """Return the unscaled shape of a table; refuse unknown keys."""
    given = [key for key in ("shape", "mesh", "vertices") if key in table]
    if len(given) != 1:
        raise InputError(
            f"got {' and '.join(given) or 'neither shape nor mesh'}; expected exactly one of shape (one of "
            f"{', '.join(SHAPES)}), mesh (a file or a trimesh.Trimesh) or vertices with faces"
        )
    sizes = {key: value for key, value in table.items() if key not in keys and key not in OTHER}
    if "shape" in table:
        return build_shape(str(table["shape"]), sizes)
    if sizes:
        key = next(iter(sizes))
        raise InputError(f"unknown key {key!r}{suggest_name(key, (*keys, *OTHER))}; a mesh is sized by scale")
    if "mesh" in table:
        mesh = table["mesh"]
        return RigidShape(*read_closed_mesh(mesh if is_surface_mesh(mesh) else Path(mesh)))
    if "faces" not in table:
        raise InputError("got vertices without faces; expected both")
    return RigidShape(*check_closed("mesh", table["vertices"], table["faces"]))


def read_tessellation(table: Mapping[str, Any], shape: RigidShape) -> Points:
    """Return the vertices that are drawn: on the exact shape, or outside it so far that areas are right."""
    choice = check_choice("tessellation", str(table.get("tessellation", "vertices")), ("vertices", "area"))
    return shape.match_area() if choice == "area" else shape.vertices


def read_scale(value: Any) -> NDArray[np.float64]:
    """Return one factor or three as an array (3,)."""
    try:
        scale = np.broadcast_to(np.asarray(value, dtype=np.float64), (3,))
    except (TypeError, ValueError):
        raise InputError(f"scale: got {value!r}; expected one number or three") from None
    if not (np.isfinite(scale) & (scale > 0.0)).all():
        raise InputError(f"scale: got {value!r}; expected positive numbers: a mirrored body would be inside out")
    return scale


def read_start(table: Mapping[str, Any], keys: Mapping[str, int], law: ContactLaw) -> dict[str, Any]:
    """Return the start values of a table, checked for size and sign."""
    start: dict[str, Any] = {}
    for key, count in keys.items():
        if key not in table:
            continue
        try:
            numbers = np.asarray(table[key], dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.array(math.nan)
        if numbers.shape != ((count,) if count else ()) or not np.isfinite(numbers).all():
            raise InputError(f"{key}: got {table[key]!r}; expected {f'{count} numbers' if count else 'a number'}")
        if (key in POSITIVE and numbers <= 0.0) or (key in (*law.names, "restitution") and numbers < 0.0):
            sign = "positive" if key in POSITIVE else "non-negative"
            raise InputError(f"{key}: got {table[key]!r}; expected a {sign} number")
        start[key] = numbers
    if "mass" in start and "density" in start:
        raise InputError(f"got mass={start['mass']:g} and density={start['density']:g}; give one of them")
    if "static_sag" in start and "contact_stiffness" in start:
        raise InputError("got static_sag and contact_stiffness; give one of them")
    if "restitution" in start and law.damping_name in start:
        raise InputError(f"got restitution and {law.damping_name}; give one of them")
    if "restitution" in start and not 0.0 < start["restitution"] <= 1.0:
        raise InputError(f"restitution: got {start['restitution']:g}; expected a number above 0, at most 1")
    if "orientation" in start and math.isclose(float(np.linalg.norm(start["orientation"])), 0.0):
        raise InputError("orientation: got a quaternion of length 0; expected w, x, y, z such as [1, 0, 0, 0]")
    return start


def resolve_mass(start: Mapping[str, Any], body: VolumeIntegrals) -> dict[str, Any]:
    """Return the mass of a body from mass, density or, without either, the density of water."""
    return {"mass": float(start["mass"]) if "mass" in start else float(start.get("density", 1000.0)) * body.volume}
