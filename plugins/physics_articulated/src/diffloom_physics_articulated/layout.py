"""Layout of the links, joints and coordinates of all trees in the arrays of the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom_physics_articulated.link import BALL, FIXED, Tree

Index = NDArray[np.int64]


@dataclass(frozen=True)
class TreeLayout:
    """Layout of trees side by side: each tree is a node, with rows padded to equal width.

    Args:
        trees: Number of trees.
        balls: Largest number of quaternions of a tree.
        scalars: Largest number of scalar coordinates of a tree.
        rows: Largest number of simple joints of a tree.
        table: (trees, 1 + 7 rows), described in tree_kernels.
        frame_rows: Flat index in (trees x rows) of each link's joint frame, (links,).
        mass_rows: Flat index in (trees x rows) of each link's mass, (links,).
        dofs: Flat indices in (trees x du) of all velocities.
        coordinates: Flat indices in (trees x dq) of all scalar coordinates.
        turns: Flat index in (trees x dq) of the first number of each quaternion.
    """

    trees: int
    balls: int
    scalars: int
    rows: int
    table: NDArray[np.float64]
    frame_rows: Index
    mass_rows: Index
    dofs: Index
    coordinates: Index
    turns: Index

    @property
    def dq(self) -> int:
        """Number of coordinates of a tree."""
        return 4 * self.balls + self.scalars

    @property
    def du(self) -> int:
        """Number of velocities of a tree."""
        return 3 * self.balls + self.scalars

    def by_row(self, values: Tensor, places: Index, otherwise: Sequence[float]) -> Tensor:
        """Return (trees, rows, c): ``values`` (links, c) at ``places``, ``otherwise`` (c,) elsewhere."""
        blank = torch.tensor(otherwise, dtype=values.dtype).repeat(self.trees * self.rows, 1)
        return blank.index_copy(0, torch.from_numpy(places), values).view(self.trees, self.rows, -1)

    def by_velocity(self, values: Tensor, otherwise: float = 0.0) -> Tensor:
        """Return (..., trees, du): ``values`` (..., dofs) at their places, ``otherwise`` elsewhere."""
        lead = values.shape[:-1]
        blank = torch.full((*lead, self.trees * self.du), otherwise, dtype=values.dtype)
        return blank.index_copy(len(lead), torch.from_numpy(self.dofs), values).view(*lead, self.trees, self.du)


def _places(kind: int, ball: int, q: int, u: int) -> tuple[int, int]:
    """Return the first coordinate and velocity of a simple joint; a fixed joint has none and gets the first index."""
    if kind == FIXED:
        return 0, 0
    return (4 * ball, 3 * ball) if kind == BALL else (q, u)


def build_layout(trees: Sequence[Tree]) -> TreeLayout:
    """Return the layout of trees."""
    chains = [[(link, link.simple_joints) for link in tree.links] for tree in trees]
    kinds = [[kind for _, joints in chain for kind, _ in joints] for chain in chains]
    balls = max(row.count(BALL) for row in kinds)
    scalars = max(len(row) - row.count(BALL) - row.count(FIXED) for row in kinds)
    rows = max(map(len, kinds))
    table = np.zeros((len(trees), 1 + 7 * rows))
    places: dict[str, list[int]] = {name: [] for name in ("frame", "mass", "coordinate", "turn")}
    dofs: list[int] = []
    dq, du = 4 * balls + scalars, 3 * balls + scalars
    for t, chain in enumerate(chains):
        last: dict[str | None, int] = {None: -1}
        row, ball, scalar = 0, 0, 0
        for link, joints in chain:
            parent = last[link.parent]
            places["frame"].append(t * rows + row)
            for kind, axis in joints:
                q, u = _places(kind, ball, 4 * balls + scalar, 3 * balls + scalar)
                table[t, 1 + 7 * row : 8 + 7 * row] = (parent, kind, q, u, *axis)
                if kind == BALL:
                    places["turn"].append(t * dq + q)
                    dofs += [t * du + u + k for k in range(3)]
                    ball += 1
                elif kind != FIXED:
                    places["coordinate"].append(t * dq + q)
                    dofs.append(t * du + u)
                    scalar += 1
                parent, row = row, row + 1
            places["mass"].append(t * rows + parent)
            last[link.name] = parent
        table[t, 0] = row
    found = {name: np.array(numbers, dtype=np.int64) for name, numbers in places.items()}
    return TreeLayout(
        len(trees), balls, scalars, rows, table, found["frame"], found["mass"], np.array(dofs, dtype=np.int64),
        found["coordinate"], found["turn"],
    )  # fmt: skip
