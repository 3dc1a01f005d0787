"""Poses of links in PyTorch, for surfaces and for quantities of a finished motion."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom_geometry.rotations import unit_quaternions
from diffloom_physics_articulated.layout import TreeLayout
from diffloom_physics_articulated.link import BALL, PRISMATIC, REVOLUTE


def link_poses(layout: TreeLayout, frame: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
    """Return axes (frames, links, 3, 3) and origins (frames, links, 3) [m] of all links.

    Args:
        layout: Layout of the trees.
        frame: Joints in their parents' axes (trees, rows, 7).
        q: Coordinates (frames, trees, dq).
    """
    table = torch.from_numpy(layout.table)[:, 1:].view(layout.trees, layout.rows, 7)
    each = torch.arange(layout.trees)
    parents, kinds, places = (table[..., k].long() for k in range(3))
    axes = table[..., 4:].to(q.dtype)
    turn, r = rotation_matrices(unit_quaternions(frame[..., 3:])), frame[..., :3]
    still_turn = torch.eye(3, dtype=q.dtype).expand(len(q), layout.trees, 3, 3)
    still_place = torch.zeros((len(q), layout.trees, 3), dtype=q.dtype)
    turns: list[Tensor] = []
    origins: list[Tensor] = []
    for row in range(layout.rows):
        R = torch.stack([*turns, still_turn], dim=2)[:, each, parents[:, row] % (row + 1)]
        p = torch.stack([*origins, still_place], dim=2)[:, each, parents[:, row] % (row + 1)]
        p = p + (R @ r[:, row, :, None])[..., 0]
        R = R @ turn[:, row]
        x = q[:, each, places[:, row]]
        kind, axis = kinds[:, row], axes[:, row]
        slide = torch.where(kind == PRISMATIC, x, torch.zeros_like(x))[..., None] * axis
        p = p + (R @ slide[..., None])[..., 0]
        origins.append(p)
        turns.append(R @ _joint_turn(q, x, kind, axis, places[:, row]))
    rows = torch.from_numpy(layout.mass_rows)
    return (
        torch.stack(turns, dim=2).flatten(1, 2)[:, rows],
        torch.stack(origins, dim=2).flatten(1, 2)[:, rows],
    )


def _joint_turn(q: Tensor, x: Tensor, kind: Tensor, axis: Tensor, place: Tensor) -> Tensor:
    """Return the rotation (frames, trees, 3, 3) of one joint of each tree."""
    half = torch.where(kind == REVOLUTE, 0.5 * x, torch.zeros_like(x))[..., None]
    r = torch.cat([torch.cos(half), torch.sin(half) * axis], dim=-1)
    if bool((kind == BALL).any()):
        within = (place[:, None] + torch.arange(4)).clamp(max=q.shape[-1] - 1).expand(len(q), -1, -1)
        ball = kind == BALL
        # Trees without a ball here get some unit quaternion, which the selection below discards.
        own = torch.where(ball[:, None], q.gather(2, within), r)
        r = torch.where(ball[:, None], unit_quaternions(own), r)
    return rotation_matrices(r)


def rotation_matrices(orientation: Tensor) -> Tensor:
    """Return the matrices (..., 3, 3) of unit quaternions (..., 4), w, x, y, z."""
    w, v = orientation[..., :1, None], orientation[..., 1:, None]
    one = torch.eye(3, dtype=orientation.dtype)
    x, y, z = orientation[..., 1:].unbind(-1)
    zero = torch.zeros_like(x)
    cross = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=-1).unflatten(-1, (3, 3))
    turned = (w * w - (v * v).sum(-2, keepdim=True)) * one + 2.0 * (v @ v.transpose(-1, -2) + w * cross)
    return torch.as_tensor(turned)
