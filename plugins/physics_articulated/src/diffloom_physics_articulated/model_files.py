"""Trees from tables: by builder, from URDF and MJCF files, or link by link."""

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
from diffloom_physics_articulated.rotations import IDENTITY, rotate_about
from diffloom_physics_articulated.tree_tables import read_link, sort_links
from diffloom_physics_articulated.urdf_files import read_urdf
from diffloom_physics_articulated.xml_files import XmlFile

SOURCES = ("builder", "file", "links")


@dataclass(frozen=True)
class ModelFile:
    """A tree and the parts of its file that were not read.

    Args:
        tree: The tree.
        unread: Elements and attributes that were not read, by their place in the file.
    """

    tree: Tree
    unread: tuple[str, ...]


def read_model_file(path: str | Path, *, floating: bool = False, up: str = "z") -> ModelFile:
    """Read a URDF or MJCF file, recognised by its root element.

    Args:
        path: The file.
        floating: True if the root of a URDF moves freely; an MJCF has a <freejoint/> instead.
        up: Vertical axis of the file, "z" or "y"; it becomes y.

    Raises:
        InputError: The file cannot be read as a tree.

    Example:
        file = read_model_file("robot.urdf", floating=True)
        model = ArticulatedModel([file.tree])
    """
    if up not in ("y", "z"):
        raise InputError(f"up: got {up!r}; expected 'y' or 'z'")
    file = XmlFile(Path(path))
    turn = IDENTITY if up == "y" else rotate_about(np.array([1.0, 0.0, 0.0]), -0.5 * np.pi)
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
    """Return the tree that a table describes: ``builder`` with its arguments, ``file`` (URDF or MJCF), or ``links``."""
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
        return sort_links(name, [read_link(k, link) for k, link in enumerate(table["links"])])
    except InputError as cause:
        raise InputError(f"{what}: {cause}") from cause
