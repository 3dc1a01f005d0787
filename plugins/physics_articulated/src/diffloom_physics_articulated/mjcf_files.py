"""Trees from MJCF files: bodies, joints, geoms, inertials, motors, defaults and colours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diffloom.interfaces import InputError
from diffloom_physics_articulated import rotations
from diffloom_physics_articulated.link import Tree, Vector
from diffloom_physics_articulated.tree_tables import read_link, sort_links
from diffloom_physics_articulated.xml_files import Element, XmlFile

JOINTS = {"hinge": "revolute", "slide": "prismatic", "ball": "ball", "free": "free"}
LYING = rotations.rotate_about(np.array([1.0, 0.0, 0.0]), 0.5 * np.pi)
"""Rotation from round shapes along y, as here, to those along z, as in MJCF."""
Tables = list[dict[str, Any]]
POSE = {"pos", "quat", "euler", "axisangle", "xyaxes", "zaxis"}
READ = {
    "joint": {
        "type",
        "axis",
        "pos",
        "damping",
        "stiffness",
        "armature",
        "frictionloss",
        "springref",
        "range",
        "limited",
    },
    "geom": {*POSE, "type", "size", "fromto", "mesh", "rgba", "material", "mass", "density"},
    "motor": {"joint", "gear"},
    "position": {"joint", "gear", "kp", "kv"},
    "velocity": {"joint", "gear", "kv"},
}
"""Attributes that are read from classes of defaults."""


@dataclass
class MjcfReader:
    """State of reading a file: compiler settings, defaults by class and tag, meshes and colours."""

    file: XmlFile
    degrees: bool = True
    order: str = "xyz"
    mesh_folder: str = ""
    limits: bool = True
    defaults: dict[str, dict[str, dict[str, str]]] = field(default_factory=lambda: {"main": {}})
    meshes: dict[str, dict[str, Any]] = field(default_factory=dict)
    colours: dict[str, Vector] = field(default_factory=dict)
    count: int = 0

    def fill_defaults(self, element: Element, within: str) -> Element:
        """Return the element, for reading only, with the defaults of its class or of its body."""
        chosen = self.file.text(element, "class") or within or "main"
        if chosen not in self.defaults:
            raise InputError(f"{self.file.path.name}: no <default> has the class {chosen!r}; define it in <default>")
        return self.file.fill_defaults(element, self.defaults[chosen].get(element.tag, {}))

    def angle(self, value: float) -> float:
        """Return an angle in radians."""
        return float(np.deg2rad(value)) if self.degrees else value

    def pose(self, element: Element) -> tuple[Vector, Vector]:
        """Return position and quaternion of a body, geom or inertial."""
        file = self.file
        place = file.vector(element, "pos", (0.0, 0.0, 0.0))
        if (euler := file.numbers(element, "euler", 3)) is not None:
            return place, rotations.convert_euler(np.array([self.angle(float(a)) for a in euler]), self.order)
        if (axis := file.numbers(element, "axisangle", 4)) is not None:
            return place, rotations.rotate_about(axis[:3], self.angle(float(axis[3])))
        if (pair := file.numbers(element, "xyaxes", 6)) is not None:
            x = pair[:3] / np.linalg.norm(pair[:3])
            y = pair[3:] - (pair[3:] @ x) * x
            y /= np.linalg.norm(y)
            return place, rotations.convert_matrix(np.stack([x, y, np.cross(x, y)], axis=1))
        if (z := file.numbers(element, "zaxis", 3)) is not None:
            return place, rotations.rotate_between(np.array([0.0, 0.0, 1.0]), z)
        return place, file.vector(element, "quat", (1.0, 0.0, 0.0, 0.0))


def read_mjcf(file: XmlFile, turn: Vector) -> Tree:
    """Return the tree of a file, rotated by ``turn`` so that up is y."""
    reading = MjcfReader(file)
    for compiler in file.children(file.root, "compiler"):
        reading.degrees = file.text(compiler, "angle", "degree") != "radian"
        reading.order = file.text(compiler, "eulerseq", "xyz") or "xyz"
        reading.mesh_folder = file.text(compiler, "meshdir", "") or ""
        reading.limits = file.text(compiler, "autolimits", "true") == "true"
    for default in file.children(file.root, "default"):
        read_defaults(reading, default, {}, "main")
    for asset in file.children(file.root, "asset"):
        read_assets(reading, asset)
    tables: Tables = []
    for world in file.children(file.root, "worldbody"):
        for body in file.children(world, "body"):
            read_body(reading, body, None, np.zeros(3), "", tables)
    for table in tables:
        if table["parent"] is None:
            place_root(table, turn)
    read_actuators(reading, tables)
    for table in tables:
        table.pop("joint name", None)
    return sort_links(
        file.text(file.root, "model", "model") or "model", [read_link(k, t) for k, t in enumerate(tables)]
    )


def place_root(table: dict[str, Any], turn: Vector) -> None:
    """Rotate a root from the file's world to the world with y up."""
    if table["joint"] == "free":
        table["start"] = rotations.matrix(turn) @ np.array(table["position"])
        table["start_orientation"] = rotations.product(turn, table["orientation"])
        table["position"], table["orientation"] = np.zeros(3), rotations.IDENTITY
    else:
        table["position"] = rotations.matrix(turn) @ table["position"]
        table["orientation"] = rotations.product(turn, table["orientation"])


def read_defaults(reading: MjcfReader, element: Element, above: dict[str, dict[str, str]], name: str) -> None:
    """Read classes of defaults, each of which inherits from the enclosing one."""
    file = reading.file
    name = file.text(element, "class", name) or name
    own = {tag: dict(values) for tag, values in above.items()}
    for tag in ("joint", "geom", "motor", "position", "velocity"):
        for child in file.children(element, tag):
            for key in READ[tag] & set(child.attrib):
                file.text(child, key)
            own.setdefault(tag, {}).update(child.attrib)
    reading.defaults[name] = own
    for child in file.children(element, "default"):
        read_defaults(reading, child, own, name)


def read_assets(reading: MjcfReader, asset: Element) -> None:
    """Read meshes and colours."""
    file = reading.file
    for mesh in file.children(asset, "mesh"):
        path = file.name(mesh, "file")
        name = file.text(mesh, "name") or path.rpartition("/")[2].rpartition(".")[0]
        scale = file.vector(mesh, "scale", (1.0, 1.0, 1.0)).tolist()
        reading.meshes[name] = {"mesh": file.find_file(path, reading.mesh_folder), "scale": scale}
    for material in file.children(asset, "material"):
        colour = file.numbers(material, "rgba", 4)
        if colour is not None:
            reading.colours[file.name(material)] = colour


def read_body(
    reading: MjcfReader, body: Element, parent: str | None, shift: Vector, within: str, tables: Tables
) -> None:
    """Read a body and its children into ``tables``; ``shift`` is the offset of the parent's link.

    The origin of a link is that of the body's last joint.
    """
    file = reading.file
    reading.count += 1
    name = file.text(body, "name") or f"body {reading.count}"
    within = file.text(body, "childclass", within) or within
    place, turn = reading.pose(body)
    joints = read_joints(reading, body, within)
    at = np.zeros(3)
    for k, joint in enumerate(joints):
        anchor = joint.pop("anchor")
        own: dict[str, Any] = {
            **joint, "parent": parent, "name": name if k == len(joints) - 1 else f"{name}/{k}", "mass": 0.0,
            "inertia": [0.0] * 6,
        }  # fmt: skip
        first = k == 0
        own["position"] = place - shift + rotations.matrix(turn) @ anchor if first else anchor - at
        own["orientation"] = turn if first else rotations.IDENTITY
        at, parent = anchor, own["name"]
        tables.append(own)
    read_matter(reading, body, within, at, tables[-1])
    for child in file.children(body, "body"):
        read_body(reading, child, name, at, within, tables)


def read_joints(reading: MjcfReader, body: Element, within: str) -> Tables:
    """Return the joints of a body; without any, a fixed one."""
    file = reading.file
    for free in file.children(body, "freejoint"):
        return [{"joint": "free", "anchor": np.zeros(3), "joint name": file.text(free, "name")}]
    found = [read_joint(reading, reading.fill_defaults(e, within)) for e in body if e.tag == "joint"]
    return found or [{"joint": "fixed", "anchor": np.zeros(3), "joint name": None}]


def read_joint(reading: MjcfReader, joint: Element) -> dict[str, Any]:
    """Return a joint as part of a link's table."""
    file = reading.file
    kind = file.text(joint, "type", "hinge") or "hinge"
    if kind not in JOINTS:
        raise InputError(f"{file.path.name}: a joint is {kind!r}; expected one of {', '.join(JOINTS)}")
    table: dict[str, Any] = {
        "joint": JOINTS[kind], "joint name": file.text(joint, "name"),
        "anchor": np.zeros(3) if kind == "free" else file.vector(joint, "pos", (0.0, 0.0, 0.0)),
    }  # fmt: skip
    if kind in ("hinge", "slide"):
        table["axis"] = file.vector(joint, "axis", (0.0, 0.0, 1.0))
    for key, ours in (("damping", "damping"), ("stiffness", "stiffness"), ("armature", "armature"),
                      ("frictionloss", "friction")):  # fmt: skip
        table[ours] = float(file.vector(joint, key, (0.0,))[0])
    convert = reading.angle if kind == "hinge" else float
    table["rest"] = convert(float(file.vector(joint, "springref", (0.0,))[0]))
    if kind in ("hinge", "slide"):
        limits, limited = file.numbers(joint, "range", 2), file.text(joint, "limited", "auto")
        if limits is not None and (limited == "true" or (limited == "auto" and reading.limits)):
            table["lower"], table["upper"] = convert(float(limits[0])), convert(float(limits[1]))
    if float(file.vector(joint, "ref", (0.0,))[0]) != 0.0:
        raise InputError(
            f"{file.path.name}: a joint has ref={joint.get('ref')!r}; only joints that count from 0 are read"
        )
    return table


def read_matter(reading: MjcfReader, body: Element, within: str, at: Vector, table: dict[str, Any]) -> None:
    """Read shapes and mass of a body: those of its <inertial>, or else of its geoms."""
    file = reading.file
    shapes = []
    for element in body:
        if element.tag == "geom":
            shape = read_geom(reading, reading.fill_defaults(element, within))
            if shape is None:
                file.leave(element)
            else:
                shapes.append({**shape, "position": shape["position"] - at})
    table["shapes"] = shapes
    inertials = file.children(body, "inertial")
    if not inertials:
        del table["mass"], table["inertia"]
    for inertial in inertials:
        place, turn = reading.pose(inertial)
        table["mass"], table["centre_of_mass"] = float(file.vector(inertial, "mass", (0.0,))[0]), place - at
        whole = file.numbers(inertial, "fullinertia", 6)
        diagonal = file.vector(inertial, "diaginertia", (0.0, 0.0, 0.0))
        table["inertia"] = rotations.rotate_inertia(
            turn, np.concatenate([diagonal, np.zeros(3)]) if whole is None else whole
        )


def read_geom(reading: MjcfReader, geom: Element) -> dict[str, Any] | None:
    """Return a geom as a shape's table; None for a kind that is not read."""
    file = reading.file
    kind = file.text(geom, "type", "mesh" if "mesh" in geom.attrib else "sphere") or "sphere"
    place, turn = reading.pose(geom)
    size = file.numbers(geom, "size", None, np.zeros(3))
    assert size is not None
    ends = file.numbers(geom, "fromto", 6)
    half = float(size[1]) if len(size) > 1 else 0.0
    if ends is not None:
        place, way = 0.5 * (ends[:3] + ends[3:]), ends[:3] - ends[3:]
        turn, half = rotations.rotate_between(np.array([0.0, 0.0, 1.0]), way), 0.5 * float(np.linalg.norm(way))
    if kind == "box":
        shape: dict[str, Any] = {"shape": "box", "size": (2.0 * size[:3]).tolist()}
    elif kind == "sphere":
        shape = {"shape": "sphere", "radius": float(size[0])}
    elif kind in ("capsule", "cylinder"):
        shape = {"shape": kind, "radius": float(size[0]), "length" if kind == "capsule" else "height": 2.0 * half}
        turn = rotations.product(turn, LYING)
    elif kind == "mesh" and file.text(geom, "mesh") in reading.meshes:
        shape = dict(reading.meshes[str(file.text(geom, "mesh"))])
    else:
        return None
    colour = file.numbers(geom, "rgba", 4, reading.colours.get(file.text(geom, "material") or ""))
    if colour is not None:
        shape["colour"] = tuple(colour[:3])
    for key in ("mass", "density"):
        given = file.numbers(geom, key, 1)
        if given is not None:
            shape[key] = float(given[0])
    return {**shape, "position": place, "orientation": turn}


def read_actuators(reading: MjcfReader, tables: Tables) -> None:
    """Read servos: <position> and <velocity> set a joint's gains; a <motor> without gear is the joint's torque."""
    file = reading.file
    by_joint = {table["joint name"]: table for table in tables if table.get("joint name")}
    for actuators in file.children(file.root, "actuator"):
        for element in actuators:
            if element.tag not in ("motor", "position", "velocity"):
                continue
            given = reading.fill_defaults(element, "")
            table = by_joint.get(file.text(given, "joint"))
            file.text(given, "name")
            gear = file.numbers(given, "gear", None, np.ones(1))
            if table is None or gear is None or float(gear[0]) != 1.0:
                file.leave(element)
            elif element.tag == "position":
                table["servo_stiffness"] = float(file.vector(given, "kp", (1.0,))[0])
                table["servo_damping"] = float(file.vector(given, "kv", (0.0,))[0])
            elif element.tag == "velocity":
                table["servo_damping"] = float(file.vector(given, "kv", (1.0,))[0])
