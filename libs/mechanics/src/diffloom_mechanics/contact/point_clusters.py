"""The points where rigid bodies touch, of all bodies in one array, in clusters that can be left out at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffloom_geometry import Points

CLUSTER = 8
"""Most points in a cluster."""


@dataclass(frozen=True)
class ContactPoints:
    """Points in the bodies' frames, ordered by body and cluster.

    reach: (bodies,) farthest touching point from the centre [m]. roundness: (bodies,) radius of the ball around each
    point [m]. Body i has the clusters cluster_starts[i]:cluster_starts[i + 1], cluster c the points
    point_starts[c]:point_starts[c + 1], all within cluster_radius[c] of cluster_centre[c].
    """

    reach: NDArray[np.float64]
    roundness: NDArray[np.float64]
    cluster_starts: NDArray[np.int32]
    cluster_centre: Points
    cluster_radius: NDArray[np.float64]
    point_starts: NDArray[np.int32]
    points: Points

    @property
    def arrays(self) -> tuple[NDArray[np.generic], ...]:
        """In the order in which the kernels take them."""
        return (
            self.reach, self.roundness, self.cluster_starts, self.cluster_centre, self.cluster_radius,
            self.point_starts, self.points,
        )  # fmt: skip


def contact_points(
    points: Sequence[Points], roundness: Sequence[float], reach: Sequence[float] | None = None
) -> ContactPoints:
    """``points`` (n, 3) [m] of each body in its own frame, with the radius [m] of the ball around each of them.

    reach: the farthest touching point of each body from its centre [m]; that of ``points`` when not given. Clusters are
    found by halving along the longest side.
    """
    clusters = [split(own) for own in points]
    flat = [cluster for group in clusters for cluster in group]
    centre = np.array([0.5 * (c.min(axis=0) + c.max(axis=0)) for c in flat])
    radius = np.array([np.linalg.norm(c - m, axis=1).max() for c, m in zip(flat, centre, strict=True)])
    if reach is None:
        reach = [float(np.linalg.norm(p, axis=1).max()) + rho for p, rho in zip(points, roundness, strict=True)]
    return ContactPoints(
        reach=np.array(reach),
        roundness=np.array(roundness, dtype=np.float64),
        cluster_starts=offsets([len(group) for group in clusters]),
        cluster_centre=centre,
        # A little wider than the exact ball, so that rounding in float32 leaves no point out.
        cluster_radius=radius * (1.0 + 1e-6) + 1e-6 * np.repeat(reach, [len(g) for g in clusters]),
        point_starts=offsets([len(cluster) for cluster in flat]),
        points=np.concatenate(flat),
    )


def split(points: Points) -> list[Points]:
    """Clusters of at most CLUSTER points; always the same for the same points."""
    if len(points) <= CLUSTER:
        return [points]
    axis = int(np.ptp(points, axis=0).argmax())
    order = np.argsort(points[:, axis], kind="stable")
    half = -(-len(points) // (2 * CLUSTER)) * CLUSTER
    return split(points[order[:half]]) + split(points[order[half:]])


def offsets(counts: Sequence[int]) -> NDArray[np.int32]:
    """0 and the running sums of ``counts``."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
