"""Trees from URDF files: links with inertials and visuals, joints with origins, axes, limits and damping."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffloom.interfaces import InputError
from diffloom_physics_articulated.link import Tree, Vector
from diffloom_physics_articulated.rotations import IDENTITY, convert_rpy, product, rotate_about, rotate_inertia
from diffloom_physics_articulated.tree_tables import read_link, sort_links
from diffloom_physics_articulated.xml_files import Element, XmlFile

KINDS = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed", "floating": "free",
    "planar": "planar",
}  # fmt: skip
LYING = rotate_about(np.array([1.0, 0.0, 0.0]), 0.5 * np.pi)
"""Rotation from cylinders along y, as here, to those along z, as in URDF."""


def read_urdf(file: XmlFile, floating: bool, turn: Vector) -> Tree:
    """Return the tree of a file, rotated by ``turn`` so that up is y."""
    name = file.text(file.root, "name", "robot") or "robot"
    colours = {}
    for material in file.children(file.root, "material"):
        colours[file.name(material)] = read_colour(file, material)
    tables = {file.name(link): read_link_table(file, link, colours) for link in file.children(file.root, "link")}
    carried: set[str] = set()
    for joint in file.children(file.root, "joint"):
        child, values = read_joint(file, joint)
        if child not in tables:
            raise InputError(
                f"{file.path.name}: joint {file.name(joint)!r} carries the link {child!r}, which there is not"
            )
        if child in carried:
            raise InputError(f"{file.path.name}: two joints carry the link {child!r}; closed chains are not read")
        carried.add(child)
        tables[child].update(values)
    for root in (key for key in tables if key not in carried):
        tables[root].update(joint="free" if floating else "fixed", orientation=turn)
        if floating:
            # The axes of a free joint are those of the world; the rotation is the start of its ball.
            tables[root].update(orientation=IDENTITY, start_orientation=turn)
    return sort_links(name, [read_link(k, table) for k, table in enumerate(tables.values())])


def origin(file: XmlFile, element: Element) -> tuple[Vector, Vector]:
    """Return position and quaternion of an element's <origin>."""
    for child in file.children(element, "origin"):
        return file.vector(child, "xyz", (0.0, 0.0, 0.0)), convert_rpy(file.vector(child, "rpy", (0.0, 0.0, 0.0)))
    return np.zeros(3), IDENTITY


def read_colour(file: XmlFile, material: Element) -> tuple[float, ...] | None:
    """Return the RGB of a material, without its opacity."""
    for colour in file.children(material, "color"):
        found = file.numbers(colour, "rgba", 4)
        return None if found is None else tuple(found[:3])
    return None


def read_link_table(file: XmlFile, link: Element, colours: dict[str, Any]) -> dict[str, Any]:
    """Return mass, inertia and shapes of a link, from its visuals; collision shapes count as not read."""
    table: dict[str, Any] = {"name": file.name(link), "mass": 0.0, "inertia": [0.0] * 6}
    for inertial in file.children(link, "inertial"):
        place, turn = origin(file, inertial)
        table["centre_of_mass"] = place
        for mass in file.children(inertial, "mass"):
            table["mass"] = float(file.vector(mass, "value", (0.0,))[0])
        for inertia in file.children(inertial, "inertia"):
            six = [float(file.vector(inertia, "i" + k, (0.0,))[0]) for k in ("xx", "yy", "zz", "xy", "xz", "yz")]
            table["inertia"] = rotate_inertia(turn, np.array(six))
    shapes = [shape for visual in file.children(link, "visual") for shape in read_visual(file, visual, colours)]
    if shapes:
        table["shapes"] = shapes
    return table


def read_visual(file: XmlFile, visual: Element, colours: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the shapes of a <visual>."""
    place, turn = origin(file, visual)
    colour = None
    for material in file.children(visual, "material"):
        colour = read_colour(file, material) or colours.get(file.text(material, "name") or "")
    found = []
    for geometry in file.children(visual, "geometry"):
        for kind in ("box", "sphere", "cylinder", "capsule", "mesh"):
            for element in file.children(geometry, kind):
                shape, extra = read_geometry(file, kind, element)
                found.append({**shape, "position": place, "orientation": product(turn, extra), "colour": colour})
    return found


def read_geometry(file: XmlFile, kind: str, element: Element) -> tuple[dict[str, Any], Vector]:
    """Return a shape's table and the rotation from the axes of that shape here to those of the file."""
    if kind == "box":
        return {"shape": "box", "size": file.vector(element, "size", (1.0, 1.0, 1.0)).tolist()}, IDENTITY
    if kind == "mesh":
        scale = file.vector(element, "scale", (1.0, 1.0, 1.0)).tolist()
        return {"mesh": file.find_file(file.name(element, "filename")), "scale": scale}, IDENTITY
    radius = float(file.vector(element, "radius", (0.5,))[0])
    if kind == "sphere":
        return {"shape": "sphere", "radius": radius}, IDENTITY
    length = float(file.vector(element, "length", (1.0,))[0])
    return {"shape": kind, "radius": radius, "height" if kind == "cylinder" else "length": length}, LYING


def read_joint(file: XmlFile, joint: Element) -> tuple[str, dict[str, Any]]:
    """Return the link that a joint carries, and the joint as part of that link's table."""
    name, kind = file.name(joint), file.name(joint, "type")
    if kind not in KINDS:
        raise InputError(f"{file.path.name}: joint {name!r} is {kind!r}; expected one of {', '.join(KINDS)}")
    ends = [[file.name(end, "link") for end in file.children(joint, tag)] for tag in ("parent", "child")]
    if [len(end) for end in ends] != [1, 1]:
        raise InputError(f"{file.path.name}: joint {name!r} must have one <parent> and one <child>")
    place, turn = origin(file, joint)
    table: dict[str, Any] = {"joint": KINDS[kind], "parent": ends[0][0], "position": place, "orientation": turn}
    for axis in file.children(joint, "axis"):
        table["axis"] = file.vector(axis, "xyz", (1.0, 0.0, 0.0))
    if kind in ("revolute", "prismatic", "continuous", "planar"):
        table.setdefault("axis", np.array([1.0, 0.0, 0.0]))
    for dynamics in file.children(joint, "dynamics"):
        table["damping"] = float(file.vector(dynamics, "damping", (0.0,))[0])
        table["friction"] = float(file.vector(dynamics, "friction", (0.0,))[0])
    if kind in ("revolute", "prismatic"):
        for limit in file.children(joint, "limit"):
            table["lower"] = float(file.vector(limit, "lower", (0.0,))[0])
            table["upper"] = float(file.vector(limit, "upper", (0.0,))[0])
    return ends[1][0], table
