"""Trees from the tables of scene files and scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from diffloom.interfaces import InputError
from diffloom.validation import check_choice, suggest_name
from diffloom_physics_articulated.link import DEFAULTS, VELOCITIES, Joint, Link, Tree, Vector
from diffloom_physics_articulated.pieces import MassMoments, combine_moments, compute_inertia, numbers, read_piece

#: Most links of a tree; one of more is no robot, and its matrices would not fit into memory.
MOST_LINKS = 2000
KEYS = (
    "name", "parent", "joint", "axis", "position", "orientation", "mass", "centre_of_mass", "inertia", "length",
    "along", "slender", "start", "start_orientation", "shapes", "contact",
)  # fmt: skip


def sort_links(name: str, links: Sequence[Link]) -> Tree:
    """Return a tree with parents before children.

    Raises:
        InputError: A name occurs twice, a parent is unknown, links form a ring, or a joint moves no mass.
    """
    if len(links) > MOST_LINKS:
        raise InputError(
            f"it has {len(links)} links; expected at most {MOST_LINKS}: join links by fixed joints into one"
        )
    names = Counter(link.name for link in links)
    for link in links:
        if names[link.name] > 1:
            raise InputError(f"two links are called {link.name!r}; give each a name of its own")
        if link.parent is not None and link.parent not in names:
            raise InputError(f"link {link.name!r}: no link is called {link.parent!r}{suggest_name(link.parent, names)}"
                             f"; there are {', '.join(names)}")  # fmt: skip
    ordered = _sort_by_depth(links)
    if len(ordered) < len(links):
        carried = {link.name for link in ordered}
        ring = ", ".join(name for name in names if name not in carried)
        raise InputError(f"the links {ring} carry each other in a ring; expected a tree that begins at the world")
    moved = find_massless_joint(ordered)
    if moved is not None:
        raise InputError(f"link {moved!r}: its joint moves nothing that has mass; give it or a link it carries a mass, "
                         "or its joint an armature")  # fmt: skip
    return Tree(name, tuple(ordered))


def _sort_by_depth(links: Sequence[Link]) -> list[Link]:
    """Return the links that hang on the world, generation by generation; those of a ring are missing."""
    children: dict[str | None, list[int]] = {}
    for number, link in enumerate(links):
        children.setdefault(link.parent, []).append(number)
    ordered: list[Link] = []
    generation = children.get(None, [])
    while generation:
        ordered += [links[number] for number in generation]
        generation = sorted(child for number in generation for child in children.get(links[number].name, ()))
    return ordered


def find_massless_joint(links: Sequence[Link]) -> str | None:
    """Return the name of a link whose joint would accelerate without bound, because neither it nor its children have
    mass.
    """
    heavy: set[str] = set()
    for link in reversed(links):
        if link.mass > 0.0 or link.name in heavy:
            heavy.add(link.name)
            if link.parent is not None:
                heavy.add(link.parent)
        elif VELOCITIES[link.joint] and not (np.asarray(link.values.get("armature", np.zeros(1))) > 0.0).all():
            return link.name
    return None


def read_link(number: int, table: Mapping[str, Any]) -> Link:
    """Return the link that a table describes; docs/models/articulated.md lists the keys."""
    name = str(table.get("name", f"link {number}"))
    what = f"link {name!r}"
    for key in table:
        if key not in KEYS and key not in DEFAULTS:
            raise InputError(f"{what}: unknown key {key!r}{suggest_name(key, (*KEYS, *DEFAULTS))}")
    joint: Joint = check_choice(f"{what}: joint", str(table.get("joint", "revolute")), get_args(Joint))  # type: ignore[assignment]
    length, along = read_bone(what, table)
    read = [read_piece(f"{what}: shapes[{k}]", shape, length, along) for k, shape in enumerate(table.get("shapes", ()))]
    mass, centre, inertia = read_weight(what, table, [weight for _, weight in read])
    scalars = VELOCITIES[joint] - (3 if joint in ("ball", "free") else 0)
    start = table.get("start", [0.0] * scalars)
    parent = table.get("parent")
    return Link(
        name=name,
        parent=None if parent is None else str(parent),
        joint=joint,
        axes=read_axes(what, joint, table.get("axis")),
        position=numbers(what, "position", table.get("position", (0.0, 0.0, 0.0)), 3),
        orientation=quaternion(what, "orientation", table.get("orientation", (1.0, 0.0, 0.0, 0.0))),
        mass=mass,
        centre=centre,
        inertia=inertia,
        length=length,
        along=along,
        slender=bool(table.get("slender", False)),
        coordinates=numbers(what, "start", [start] if np.ndim(start) == 0 else start, scalars),
        turn=quaternion(what, "start_orientation", table.get("start_orientation", (1.0, 0.0, 0.0, 0.0))),
        values=read_values(what, table, VELOCITIES[joint]),
        contact=read_contact(what, table.get("contact", {})),
        pieces=tuple(piece for piece, _ in read),
    )


def read_bone(what: str, table: Mapping[str, Any]) -> tuple[float, Vector]:
    """Return length [m] and direction of a link that may stretch; a zero direction for one that may not."""
    if "length" not in table and "along" not in table:
        return 1.0, np.zeros(3)
    length = float(table.get("length", 1.0))
    if not length > 0.0:
        raise InputError(f"{what}: length: got {length:g}; expected a positive number")
    return length, unit(what, "along", table.get("along", (0.0, -1.0, 0.0)))


def read_weight(what: str, table: Mapping[str, Any], weights: list[MassMoments]) -> tuple[float, Vector, Vector]:
    """Return mass, centre and inertia: given values, or those of the shapes, scaled to the mass if that is given."""
    whole = combine_moments(weights)
    mass = float(table.get("mass", whole.mass))
    if mass < 0.0:
        raise InputError(f"{what}: mass: got {mass:g}; expected none below 0")
    scale = mass / whole.mass if whole.mass > 0.0 else 0.0
    centre = numbers(what, "centre_of_mass", table.get("centre_of_mass", whole.centre), 3)
    inertia = numbers(what, "inertia", table.get("inertia", compute_inertia(whole.moments) * scale), 6)
    return mass, centre, inertia


def read_values(what: str, table: Mapping[str, Any], count: int) -> dict[str, Vector]:
    """Return the values for each velocity of a joint, from one number for all or one for each."""
    found = {
        key: numbers(
            what, key, np.broadcast_to(table[key], (count,)) if np.ndim(table[key]) == 0 else table[key], count
        )
        for key in DEFAULTS
        if key in table
    }
    if ("lower" in found or "upper" in found) and "limit_stiffness" not in found:
        found["limit_stiffness"] = np.full(count, 1e3)
    return found


def read_contact(what: str, given: Any) -> dict[str, float]:
    """Return the values of contact parameters, such as ``{friction = 0.4, restitution = 0.5}``."""
    if not isinstance(given, Mapping):
        raise InputError(f"{what}: contact: got {given!r}; expected a table of contact parameters such as "
                         "{ friction = 0.4 }")  # fmt: skip
    for key, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value < float("inf"):
            raise InputError(f"{what}: contact: {key}: got {value!r}; expected a number of at least 0")
    return {str(key): float(value) for key, value in given.items()}


def read_axes(what: str, joint: Joint, given: Any) -> tuple[Vector, ...]:
    """Return unit vectors of a joint's velocities, from one axis (two for a universal joint); by default z (x and
    y).
    """
    if joint == "universal":
        pair = given if given is not None else ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
        if np.shape(pair) != (2, 3):
            raise InputError(f"{what}: axis: got {given!r}; expected two axes of three numbers for a universal joint")
        return unit(what, "axis", pair[0]), unit(what, "axis", pair[1])
    axis = unit(what, "axis", (0.0, 0.0, 1.0) if given is None else given)
    if joint == "planar":
        side = np.eye(3)[int(np.abs(axis).argmin())]
        first = np.cross(side, axis)
        first /= np.linalg.norm(first)
        if np.allclose(axis, (0.0, 0.0, 1.0)):
            first = np.array([1.0, 0.0, 0.0])
        return first, np.cross(axis, first), axis
    return (axis,)


def unit(what: str, key: str, value: Any) -> Vector:
    """Return three numbers as a unit vector."""
    vector = numbers(what, key, value, 3)
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        raise InputError(f"{what}: {key}: got a vector of length 0; expected a direction such as [0, 0, 1]")
    return vector / length


def quaternion(what: str, key: str, value: Any) -> Vector:
    """Return four numbers as a unit quaternion."""
    found = numbers(what, key, value, 4)
    if not np.linalg.norm(found) > 0.0:
        raise InputError(f"{what}: {key}: got a quaternion of length 0; expected w, x, y, z such as [1, 0, 0, 0]")
    return found
