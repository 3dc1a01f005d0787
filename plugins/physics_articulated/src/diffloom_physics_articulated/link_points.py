"""Contact points of the links of all trees, in the layout of the kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom_geometry import Points
from diffloom_mechanics.contact import normalise_normal
from diffloom_physics_articulated.layout import Index, TreeLayout
from diffloom_physics_articulated.link import Link


@dataclass(frozen=True)
class LinkPoints:
    """Contact points of all links, trees side by side and padded.

    Args:
        points: Points (n, 3) in their links' axes [m].
        grows: Shift (n, 3) of each point per growth of its link.
        roundness: Radius of the ball around each point (n,) [m].
        link: Number of each point's link (n,).
        place: Flat index of each point in (trees x width), (n,).
        width: Largest number of points of a tree.
        starts: First point of each simple joint's link (trees, rows + 1).
        middle: Centre of scaling of each link (links, 3) [m].
    """

    points: Points
    grows: Points
    roundness: NDArray[np.float64]
    link: Index
    place: Index
    width: int
    starts: NDArray[np.int32]
    middle: Points

    @property
    def touching(self) -> NDArray[np.bool_]:
        """Flags (links,) of links with points."""
        return np.isin(np.arange(len(self.middle)), self.link)

    def grow(self, layout: TreeLayout, growth: Tensor, size: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the points of links that have grown: points, radii, and bounding balls.

        Args:
            layout: Layout of the trees.
            growth: Lengths minus initial lengths (links,) [m].
            size: Scale factors (links,).

        Returns:
            points (trees, width, 3) [m], roundness (trees, width) [m] and balls (trees, rows, 4) around a link's
                points.
        """
        dtype, link, place = growth.dtype, torch.from_numpy(self.link), torch.from_numpy(self.place)
        middle = torch.from_numpy(self.middle).to(dtype)[link]
        own = torch.from_numpy(self.points).to(dtype) + torch.from_numpy(self.grows).to(dtype) * growth[link, None]
        own = middle + (own - middle) * size[link, None]
        radius = torch.from_numpy(self.roundness).to(dtype) * size[link]
        blank = torch.zeros((layout.trees * self.width, 3), dtype=dtype)
        points = blank.index_copy(0, place, own).view(layout.trees, self.width, 3)
        round_ = torch.zeros(layout.trees * self.width, dtype=dtype).index_copy(0, place, radius)
        return points, round_.view(layout.trees, self.width), self._balls(layout, own.detach(), radius.detach())

    def heights(self, layout: TreeLayout, turns: Tensor, origins: Tensor, params: Mapping[str, Tensor]) -> Tensor:
        """Return the height (trees,) [m] of the lowest points over the ground, for axes ``turns`` and ``origins`` of
        the links.
        """
        link = torch.from_numpy(self.link)
        x = origins[link] + (turns[link] @ torch.from_numpy(self.points).to(origins.dtype)[..., None])[..., 0]
        height = x @ normalise_normal(params["ground_normal"]) - params["ground_height"]
        height = height - torch.from_numpy(self.roundness).to(origins.dtype)
        tree = torch.from_numpy(layout.mass_rows // layout.rows)[link]
        return torch.full((layout.trees,), torch.inf, dtype=height.dtype).scatter_reduce(0, tree, height, "amin")

    def _balls(self, layout: TreeLayout, own: Tensor, radius: Tensor) -> Tensor:
        """Return balls a little wider than the exact ones, so that rounding in float32 leaves no point outside."""
        link, count = torch.from_numpy(self.link), len(self.middle)
        number = torch.zeros(count, dtype=own.dtype).index_add(0, link, torch.ones_like(radius)).clamp(min=1.0)
        centre = torch.zeros((count, 3), dtype=own.dtype).index_add(0, link, own) / number[:, None]
        away = (own - centre[link]).norm(dim=-1) + radius
        reach = torch.zeros(count, dtype=own.dtype).scatter_reduce(0, link, away, "amax")
        rows = torch.cat([centre, 1.00001 * reach[:, None] + 1e-6], dim=1)
        return layout.by_row(rows, layout.mass_rows, (0.0, 0.0, 0.0, 0.0))


def link_points(links: Sequence[Link], layout: TreeLayout) -> LinkPoints:
    """Return the contact points of all links."""
    counts = np.zeros((layout.trees, layout.rows), dtype=np.int64)
    of_link = [sum(len(piece.points) for piece in link.pieces) for link in links]
    counts.reshape(-1)[layout.mass_rows] = of_link
    starts = np.concatenate([np.zeros((layout.trees, 1), np.int64), np.cumsum(counts, axis=1)], axis=1)
    width = max(1, int(starts[:, -1].max()))
    tree, row = np.divmod(layout.mass_rows, layout.rows)
    place = [t * width + starts[t, r] + np.arange(n) for t, r, n in zip(tree, row, of_link, strict=True)]
    pieces = [(number, piece) for number, link in enumerate(links) for piece in link.pieces]
    none = np.zeros((0, 3))
    return LinkPoints(
        np.concatenate([none, *(piece.points for _, piece in pieces)]),
        np.concatenate([none, *(piece.point_share[:, None] * links[number].along for number, piece in pieces)]),
        np.concatenate([np.zeros(0), *(np.full(len(piece.points), piece.roundness) for _, piece in pieces)]),
        np.concatenate([np.zeros(0, np.int64), *(np.full(len(piece.points), number) for number, piece in pieces)]),
        np.concatenate([np.zeros(0, np.int64), *place]).astype(np.int64),
        width,
        starts.astype(np.int32),
        np.array([find_middle(link) for link in links]),
    )


def find_middle(link: Link) -> Points:
    """Return the middle of the box around a link's shapes, or its centre of mass without shapes [m]."""
    if not link.pieces:
        return link.centre
    every = np.concatenate([piece.vertices for piece in link.pieces])
    return np.asarray(0.5 * (every.min(axis=0) + every.max(axis=0)))
