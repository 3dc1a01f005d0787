"""One body of a scene, and bodies from plain tables, as scene files and scripts give them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom.validation import nearest
from diffloom_geometry import Faces, Points, VolumeIntegrals, check_closed, read_closed_mesh
from diffloom_mechanics.contact import ContactLaw, read_rounding, read_spacing
from diffloom_physics_rigid.shapes import SHAPES, RigidShape, shape_by_name
from diffloom_physics_rigid.touch import between_points, read_contact, read_grid, touching_points

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class RigidBody:
    """A rigid body in its own frame: origin in the centre of mass, axes those of its shape.

    vertices: (V, 3) [m] and faces: (F, 3), the surface that is drawn. volume [m^3] and inertia: (3, 3) at density 1
    [m^5], about the centre. points: (C, 3) points that touch the ground [m], each with a ball of radius ``roundness``
    [m] around it: the vertices with 0, or the centre of a sphere with its radius. pair_points: (D, 3) those that touch
    other bodies, more of them where vertices are far apart. shape: the solid, in the body's frame.
    start: values of the parameters that were given with the body; ``fixed`` bodies never move. collides: whether other
    bodies touch it. grid: cells along the longest side of the grid of distances of a mesh.
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
        """Distance of the farthest touching point from the centre [m]."""
        return float(np.linalg.norm(self.points, axis=1).max()) + self.roundness


START = {
    "position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3, "inertia": 6, "mass": 0, "density": 0,
    "restitution": 0, "reference_speed": 0, "centre_of_mass": 3, "static_sag": 0,
}  # fmt: skip
"""Start values a body's table may hold, and how many numbers each takes (0: a single one); beside them the parameters
of the contact law."""
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
    "colour",
    "name",
)


def read_body(number: int, table: Mapping[str, Any], law: ContactLaw) -> RigidBody:
    """A body from its table: ``shape`` (with its sizes), ``mesh`` (a file) or ``vertices`` and ``faces``, and more.

    law: the contact law, whose parameters the table may hold. See docs/models/rigid.md for every key.
    Errors name the body by number and name.
    """
    what = f"bodies[{number}]" + (f" {table['name']!r}" if "name" in table else "")
    if not isinstance(table, Mapping):
        raise InputError(f"{what}: got {table!r}; expected a table such as {{shape = 'box', size = [1, 1, 1]}}")
    try:
        keys = start_keys(table, law)
        shape = read_shape(table, keys).scaled(read_scale(table.get("scale", 1.0)))
        start = read_start(table, keys, law)
        contact = read_contact(table, shape)
        grid = read_grid(table)
        spacing = read_spacing(table, shape.vertices)
        rounding = read_rounding(table, shape.kind, shape.dims)
    except InputError as cause:
        raise InputError(f"{what}: {cause}") from cause
    round_shape = contact == "round"
    body = shape.smooth if round_shape and shape.smooth is not None else shape.solid
    centred = RigidShape(shape.vertices - body.centre, shape.faces, shape.kind, shape.dims, shape.smooth)
    points, roundness = touching_points(centred, contact, spacing, rounding)
    colour = table.get("colour")
    return RigidBody(
        name=str(table.get("name", f"{table.get('shape', 'mesh')} {number}")),
        vertices=centred.vertices,
        faces=centred.faces,
        shape=centred,
        volume=body.volume,
        inertia=body.inertia,
        points=points,
        roundness=roundness,
        pair_points=points if round_shape else between_points(centred, rounding, spacing),
        fixed=bool(table.get("fixed", False)),
        collides=bool(table.get("collides", True)),
        grid=grid,
        colour=None if colour is None else (float(colour[0]), float(colour[1]), float(colour[2])),
        start={**start, **start_mass(start, body)},
    )


def start_keys(table: Mapping[str, Any], law: ContactLaw) -> dict[str, int]:
    """START and the law's parameters; a parameter of another law is refused with what to write instead."""
    for spec in law.normal_specs:
        for name, words in spec.not_to_be_confused:
            if name in table and name not in START:
                raise InputError(f"got {name}: {words}")
    return {**START, **dict.fromkeys(law.names, 0)}


def read_shape(table: Mapping[str, Any], keys: Mapping[str, int]) -> RigidShape:
    """The shape a table asks for, unscaled; keys that mean nothing are refused."""
    given = [key for key in ("shape", "mesh", "vertices") if key in table]
    if len(given) != 1:
        raise InputError(
            f"got {' and '.join(given) or 'neither shape nor mesh'}; expected exactly one of shape (one of "
            f"{', '.join(SHAPES)}), mesh (a file) or vertices with faces"
        )
    sizes = {key: value for key, value in table.items() if key not in keys and key not in OTHER}
    if "shape" in table:
        return shape_by_name(str(table["shape"]), sizes)
    if sizes:
        key = next(iter(sizes))
        raise InputError(f"unknown key {key!r}{nearest(key, (*keys, *OTHER))}; a mesh is sized by scale")
    if "mesh" in table:
        return RigidShape(*read_closed_mesh(Path(table["mesh"])))
    if "faces" not in table:
        raise InputError("got vertices without faces; expected both")
    return RigidShape(*check_closed("mesh", table["vertices"], table["faces"]))


def read_scale(value: Any) -> NDArray[np.float64]:
    """One factor or three as (3,)."""
    try:
        scale = np.broadcast_to(np.asarray(value, dtype=np.float64), (3,))
    except (TypeError, ValueError):
        raise InputError(f"scale: got {value!r}; expected one number or three") from None
    if not (np.isfinite(scale) & (scale > 0.0)).all():
        raise InputError(f"scale: got {value!r}; expected positive numbers: a mirrored body would be inside out")
    return scale


def read_start(table: Mapping[str, Any], keys: Mapping[str, int], law: ContactLaw) -> dict[str, Any]:
    """The start values in a table, checked for size and sign."""
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


def start_mass(start: Mapping[str, Any], body: VolumeIntegrals) -> dict[str, Any]:
    """The mass that the table asks for; water's density when it says nothing."""
    return {"mass": float(start["mass"]) if "mass" in start else float(start.get("density", 1000.0)) * body.volume}
