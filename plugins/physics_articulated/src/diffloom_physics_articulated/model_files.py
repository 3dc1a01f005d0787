"""Trees from tables: by the name of a builder, from URDF and MJCF files, or link by link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diffloom.interfaces import InputError
from diffloom_physics_articulated.builders import build
from diffloom_physics_articulated.link import Tree
from diffloom_physics_articulated.mjcf_files import read_mjcf
from diffloom_physics_articulated.rotations import IDENTITY, about
from diffloom_physics_articulated.tree_tables import read_link, tree_of
from diffloom_physics_articulated.urdf_files import read_urdf
from diffloom_physics_articulated.xml_files import XmlFile

SOURCES = ("builder", "file", "links")


@dataclass(frozen=True)
class ModelFile:
    """A tree and what of its file was not read: elements and attributes, by their place."""

    tree: Tree
    unread: tuple[str, ...]


def read_model_file(path: str | Path, *, floating: bool = False, up: str = "z") -> ModelFile:
    """A URDF or MJCF file, told apart by its root element.

    floating: of a URDF, whether its root moves freely; an MJCF says so itself. up: the file's vertical axis, "z" or
    "y"; it becomes y, which is up here.
    """
    if up not in ("y", "z"):
        raise InputError(f"up: got {up!r}; expected 'y' or 'z'")
    file = XmlFile(Path(path))
    turn = IDENTITY if up == "y" else about(np.array([1.0, 0.0, 0.0]), -0.5 * np.pi)
    if file.root.tag == "robot":
        tree = read_urdf(file, floating, turn)
    elif file.root.tag == "mujoco":
        if floating:
            raise InputError(f"{file.path.name}: floating is for URDF; an MJCF has a <freejoint/> in its root body")
        tree = read_mjcf(file, turn)
    else:
        raise InputError(f"{file.path.name}: its root is <{file.root.tag}>; expected <robot> (URDF) or <mujoco> (MJCF)")
    return ModelFile(tree, file.unread())


def read_tree(number: int, table: Mapping[str, Any]) -> Tree:
    """A tree from its table: ``builder`` with its arguments, ``file`` (URDF or MJCF), or ``links``."""
    what = f"trees[{number}]"
    given = [key for key in SOURCES if key in table]
    if len(given) != 1:
        raise InputError(
            f"{what}: got {' and '.join(given) or 'neither'}; expected exactly one of {', '.join(SOURCES)}"
        )
    rest = {key: value for key, value in table.items() if key != given[0]}
    try:
        if given[0] == "builder":
            return build(str(table["builder"]), rest)
        if given[0] == "file":
            return read_model_file(table["file"], **rest).tree
        name = str(rest.pop("name", f"tree {number}"))
        if rest:
            raise InputError(f"unknown key {next(iter(rest))!r}; a tree of links has a name and links")
        return tree_of(name, [read_link(k, link) for k, link in enumerate(table["links"])])
    except InputError as cause:
        raise InputError(f"{what}: {cause}") from cause
