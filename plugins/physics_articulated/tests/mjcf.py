"""Trees as MJCF text, so that MuJoCo runs what we run."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from diffloom_physics_articulated.link import BALL, REVOLUTE, Link, Tree

HEAD = """<mujoco>
  <compiler angle="radian"/>
  <option gravity="{gravity}"><flag contact="disable"/></option>
  <worldbody>
{bodies}
  </worldbody>
</mujoco>
"""


def text(numbers: Iterable[float]) -> str:
    return " ".join(repr(float(x)) for x in numbers)


def mjcf(tree: Tree, gravity: Iterable[float] = (0.0, -9.81, 0.0)) -> str:
    roots = [link for link in tree.links if link.parent is None]
    return HEAD.format(gravity=text(gravity), bodies="\n".join(body(tree, link) for link in roots))


def body(tree: Tree, link: Link) -> str:
    inner = "\n".join(body(tree, other) for other in tree.links if other.parent == link.name)
    return (
        f'<body pos="{text(link.position)}" quat="{text(link.orientation / np.linalg.norm(link.orientation))}">'
        f'<inertial pos="{text(link.centre)}" mass="{link.mass!r}" fullinertia="{text(link.inertia)}"/>'
        f"{joints(link)}{inner}</body>"
    )


def joints(link: Link) -> str:
    if link.joint == "free":
        return "<freejoint/>"

    def values(key: str, number: int) -> float:
        return float(link.values[key][number]) if key in link.values else 0.0

    found = []
    for number, (kind, axis) in enumerate(link.simple_joints):
        if link.joint == "fixed":
            continue
        common = f'armature="{values("armature", number)!r}" damping="{values("damping", number)!r}"'
        if kind == BALL:
            found.append(f'<joint type="ball" {common}/>')
            continue
        found.append(
            f'<joint type="{"hinge" if kind == REVOLUTE else "slide"}" axis="{text(axis)}" {common} '
            f'stiffness="{values("stiffness", number)!r}" springref="{values("rest", number)!r}"/>'
        )
    return "".join(found)
