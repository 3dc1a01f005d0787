"""Trees with measured motion: copies side by side, starts from poses, and poses of a motion.

A flying tree begins with a link in a free joint, whose frame was recorded, and has joints of one coordinate each
beyond. A tree on a fixed base has no free joint and no ball: only its coordinates were recorded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from diffloom.interfaces import InputError, ParamSpec
from diffloom_geometry.rotations import unit_quaternions
from diffloom_physics_articulated.kinematics import rotation_matrices
from diffloom_physics_articulated.layout import TreeLayout
from diffloom_physics_articulated.link import VELOCITIES, Tree

ROW = re.compile(r"(\w+)\[(.+)\]")


def is_fixed(tree: Tree) -> bool:
    """Return True if the first link of a tree does not fly."""
    return tree.links[0].joint != "free"


def check_base(tree: Tree) -> None:
    """Raise InputError unless measured motion can be of this tree: a free link at the origin with joints of one
    coordinate beyond it, or a tree on a fixed base without ball joints.
    """
    first, *rest = tree.links
    if is_fixed(tree):
        balls = [link.name for link in tree.links if link.joint in ("ball", "free")]
        if balls:
            raise InputError(
                f"tree {tree.name!r}: link {balls[0]!r} is in a joint with a quaternion; measured motion on a fixed "
                "base is of revolute, prismatic, planar, universal or fixed joints"
            )
        return
    turned = abs(first.orientation[1:]).max() > 0.0 or abs(first.position).max() > 0.0
    if first.joint != "free" or turned or any(x.joint not in ("revolute", "prismatic", "fixed") for x in rest):
        raise InputError(f"tree {tree.name!r}: measured motion is of a link in a free joint, at the origin, and of "
                         "revolute, prismatic or fixed joints beyond it")  # fmt: skip


def check_recording(tree: Tree, joints: int, fixed: bool) -> None:
    """Raise InputError unless a recording has the tree's base and as many joints as it has coordinates.

    Args:
        tree: The tree.
        joints: Number of recorded joints.
        fixed: True if the recorded base is fixed.
    """
    if fixed != is_fixed(tree):
        is_, was = ("fixed", "floating") if not fixed else ("floating", "fixed")
        raise InputError(
            f"tree {tree.name!r}: its base is {is_} and the recording's is {was}; a fixed base takes "
            "columns.joint_position alone, a floating one needs columns.position and a first link with joint = 'free'"
        )
    links = tree.links if fixed else tree.links[1:]
    names = [link.name for link in links for _ in range(VELOCITIES[link.joint])]
    if joints != len(names):
        raise InputError(
            f"columns.joint_position: got {joints} joints; the tree has {len(names)}: {', '.join(names) or 'none'}"
        )


def base_frames(layout: TreeLayout, q: Tensor) -> Tensor:
    """Return the poses (frames, trees, 7) of the first links, from q (frames, trees, dq); a fixed base stays at the
    origin.
    """
    if layout.balls == 0:
        pose = torch.tensor([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], dtype=q.dtype)
        return pose.expand(*q.shape[:-1], 7)
    at = 4 * layout.balls
    return torch.cat([q[..., at : at + 3], q[..., :4]], dim=-1)


def joint_coordinates(layout: TreeLayout, q: Tensor) -> Tensor:
    """Return the coordinates (frames, trees, joints) of the joints beyond the first links, or all on a fixed base."""
    if layout.balls == 0:
        return q
    return q[..., 4 * layout.balls + 3 :]


def start_values(start: Mapping[str, Tensor], fixed: bool = False) -> dict[str, Tensor]:
    """Return joint_position, joint_orientation and joint_velocity of n copies that start from measured values.

    Args:
        start: position [m] and orientation of the first link; optionally velocity [m/s] and angular_velocity [rad/s] in
            the world, and joint_position [rad] and joint_velocity [rad/s] (n, joints). Missing velocities are 0.
        fixed: True for trees on a fixed base, which need joint_position alone.
    """
    if fixed:
        joints = start["joint_position"]
        rates = start.get("joint_velocity", torch.zeros_like(joints))
        return {"joint_position": joints.reshape(-1), "joint_velocity": rates.reshape(-1)}
    place, turn, joints = start["position"], unit_quaternions(start["orientation"]), start["joint_position"]
    still = torch.zeros_like(place)
    velocity, spin = start.get("velocity", still), start.get("angular_velocity", still)
    rates = start.get("joint_velocity", torch.zeros_like(joints))
    own = (rotation_matrices(turn).transpose(-1, -2) @ spin[..., None])[..., 0]
    return {
        "joint_position": torch.cat([place, joints], dim=1).reshape(-1),
        "joint_orientation": turn,
        "joint_velocity": torch.cat([velocity, own, rates], dim=1).reshape(-1),
    }


def copied_values(tree: Tree, specs: Mapping[str, ParamSpec], axes: Mapping[str, int], count: int,
                  values: Mapping[str, Any]) -> dict[str, Tensor]:  # fmt: skip
    """Return the parameters of ``count`` copies of a tree from those of one; ``mass[1]`` or ``mass[forearm]`` is one
    row.
    """
    one = {axis: number // count for axis, number in axes.items()}
    found: dict[str, Tensor] = {}
    for name, value in values.items():
        if ROW.fullmatch(name) is None:
            found[name] = _whole(name, torch.as_tensor(value, dtype=torch.float64), specs, one)
    for name, value in values.items():
        match = ROW.fullmatch(name)
        if match is None:
            continue
        key, row = match[1], _row(tree, match[2], name)
        if key not in specs:
            raise InputError(f"{name}: the model has no parameter {key!r}; it has {', '.join(specs)}")
        before = found.get(key)
        if before is None:
            # All copies have the defaults of the first.
            default = torch.as_tensor(specs[key].default, dtype=torch.float64)
            before = default.expand(specs[key].full_shape(axes))[: one.get(str(specs[key].shape[0]))]
        before = before.expand(specs[key].full_shape(one))
        new = torch.as_tensor(value, dtype=torch.float64).reshape(before[row].shape)
        found[key] = torch.cat([before[:row], new[None], before[row + 1 :]])
    return {name: _tile_value(value, specs[name], one, count) for name, value in found.items()}


def _whole(name: str, value: Tensor, specs: Mapping[str, ParamSpec], one: Mapping[str, int]) -> Tensor:
    """Return a parameter of one tree in its shape, also from a flat list of as many numbers."""
    if name not in specs:
        raise InputError(f"{name}: the model has no such parameter; it has {', '.join(specs)}")
    full = specs[name].full_shape(one)
    return value.reshape(full) if value.numel() == int(torch.Size(full).numel()) and value.dim() else value


def _tile_value(value: Tensor, spec: ParamSpec, one: Mapping[str, int], count: int) -> Tensor:
    """Return a value repeated for every copy, if its first axis belongs to the tree."""
    full = spec.full_shape(one)
    if not spec.shape or spec.shape[0] not in one or tuple(value.shape) != tuple(full):
        return value
    return value.repeat(count, *([1] * (value.dim() - 1)))


def _row(tree: Tree, given: str, name: str) -> int:
    """Return the row of a number or of the name of a link."""
    names = [link.name for link in tree.links]
    if given in names:
        return names.index(given)
    if given.isdigit():
        return int(given)
    raise InputError(f"{name}: no link is called {given!r}; there are {', '.join(names)}")
