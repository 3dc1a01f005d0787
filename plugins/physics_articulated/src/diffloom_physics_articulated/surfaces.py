"""Surfaces of trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import Surface
from diffloom_physics_articulated.link import Link
from diffloom_physics_articulated.shapes import sphere


@dataclass(frozen=True)
class TreeSurface:
    """All pieces of all links.

    Args:
        vertices: Vertices (V, 3) in their links' axes [m].
        link: Number of each vertex's link (V,).
        grows: Shift (V, 3) of each vertex per growth of its link.
        faces: Triangles (F, 3).
        colours: RGB (V, 3), or None.
    """

    vertices: NDArray[np.float64]
    link: NDArray[np.int64]
    grows: NDArray[np.float64]
    faces: NDArray[np.int64]
    colours: NDArray[np.float64] | None

    def pose(
        self, turns: Tensor, origins: Tensor, growth: Tensor, size: Tensor | None = None,
        middle: NDArray[np.float64] | None = None,
    ) -> Surface:  # fmt: skip
        """Return the surface in the world.

        Args:
            turns: Axes of the links (frames, links, 3, 3).
            origins: Origins of the links (frames, links, 3) [m].
            growth: Lengths minus initial lengths (links,) [m].
            size: Scale factors about ``middle`` (links,), or None.
            middle: Centres of scaling (links, 3) [m].
        """
        dtype, link = origins.dtype, torch.from_numpy(self.link)
        own = torch.from_numpy(self.vertices).to(dtype) + torch.from_numpy(self.grows).to(dtype) * growth[link, None]
        if size is not None and middle is not None:
            centre = torch.from_numpy(middle).to(dtype)[link]
            own = centre + (own - centre) * size[link, None]
        vertices = origins[:, link] + (turns[:, link] @ own[..., None])[..., 0]
        colours = None if self.colours is None else torch.from_numpy(self.colours).to(dtype)
        return Surface(vertices, torch.from_numpy(self.faces), colours=colours)


def build_surface(links: Sequence[Link]) -> TreeSurface:
    """Return the surface of links; without any shape, a small ball at every centre of mass."""
    pieces = [(number, piece) for number, link in enumerate(links) for piece in link.pieces]
    if not pieces:
        ball = sphere(0.03, subdivisions=1)
        vertices = np.concatenate([ball.vertices + link.centre for link in links])
        faces = np.concatenate([ball.faces + k * len(ball.vertices) for k in range(len(links))])
        number = np.repeat(np.arange(len(links)), len(ball.vertices))
        return TreeSurface(vertices, number, np.zeros_like(vertices), faces, None)
    starts = np.cumsum([0, *(len(piece.vertices) for _, piece in pieces)])
    coloured = any(piece.colour is not None for _, piece in pieces)
    colours = [np.tile(piece.colour or (0.5, 0.5, 0.5), (len(piece.vertices), 1)) for _, piece in pieces]
    return TreeSurface(
        np.concatenate([piece.vertices for _, piece in pieces]),
        np.concatenate([np.full(len(piece.vertices), number) for number, piece in pieces]),
        np.concatenate([piece.share[:, None] * links[number].along for number, piece in pieces]),
        np.concatenate([piece.faces + start for (_, piece), start in zip(pieces, starts, strict=False)]),
        np.concatenate(colours) if coloured else None,
    )
