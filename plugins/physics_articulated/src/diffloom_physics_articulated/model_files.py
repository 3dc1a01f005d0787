"""Trees from files: URDF and MJCF."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from diffloom.interfaces import InputError
from diffloom_physics_articulated.link import Tree
from diffloom_physics_articulated.turns import IDENTITY, about
from diffloom_physics_articulated.xml_files import XmlFile


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
    import numpy as np

    from diffloom_physics_articulated.mjcf_files import read_mjcf
    from diffloom_physics_articulated.urdf_files import read_urdf

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
