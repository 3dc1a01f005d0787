"""Track error: where the object's image is, and how large, without drawing it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.losses.loss import Loss
from diffloom_fitting.losses.robust import compress_residuals
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target
from diffloom_fitting.targets.target import tracked

if TYPE_CHECKING:
    from diffloom_fitting.objective import Objective


@dataclass(frozen=True)
class TrackError(Loss):
    """Mean squared distance [px^2] between the centroid of the drawn object's outline, taken as the convex hull of its
    vertices, and the target's track, and between the radii of discs of the same areas, or of the same widths where the
    target has them.

    It sees an object that is far from where it should be, or out of the image, so it begins a fit that pixels end.
    radius: weight of the radii beside centroids; 0 leaves them out, and so does a track without radii (NaN). vertices:
    numbers of drawn vertices whose middle is to follow the track in place of the outline's centroid. scale: distance
    [px] at which a frame begins to count less, as one that shows something else (Cauchy's robust loss); None counts
    all alike.
    """

    radius: float = 0.5
    scale: float | None = None
    vertices: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius < 0.0 or not (self.scale is None or self.scale > 0.0):
            raise InputError(
                f"loss 'track': got radius={self.radius:g} and scale={self.scale}; expected a weight of 0 or more and "
                "a positive scale or none"
            )

    @property
    def outputs(self) -> tuple[str, ...]:
        return ("outline",)

    def numbers(self, target: Target) -> int:
        return len(target) * (2 if self.vertices else 3)

    def residuals(self, view: View, target: Target) -> Tensor:
        """(frames, 3): column, row and radius [px]; without the radius where single vertices are followed."""
        assert view.outline is not None
        tracks = tracked(target).to(view.outline.dtype)
        weight = tracks[:, 3:]
        apart = self._followed(view.outline, tracks, target.across)
        if self.scale is not None:
            apart = compress_residuals(apart, self.scale)
        each = torch.tensor([1.0, 1.0, self.radius][: apart.shape[1]], dtype=apart.dtype)
        # Frames that are not seen count nothing, and the mean is over those that are.
        usual = weight.mean().clamp(min=1e-12)
        return apart * (each * weight / usual).sqrt()

    def distances(self, view: View, target: Target) -> Tensor:
        """(frames,) [px]: how far what follows the target's track is from it."""
        assert view.outline is not None
        apart = self._followed(view.outline, tracked(target).to(view.outline.dtype), target.across)
        found: Tensor = torch.linalg.vector_norm(apart[:, :2], dim=1)
        return found

    def _followed(self, points: Tensor, tracks: Tensor, across: tuple[float, float] | None) -> Tensor:
        """How far what follows the track is from it, of drawn vertices at points (frames, n, 2)."""
        if not self.vertices:
            return torch.where(tracks[:, :3].isnan(), 0.0, measure_outline_tracks(points, across) - tracks[:, :3])
        if not 0 <= min(self.vertices) <= max(self.vertices) < points.shape[1]:
            raise InputError(
                f"loss 'track': got vertices {list(self.vertices)}; the drawn surface has 0 to {points.shape[1] - 1}"
            )
        return points[:, list(self.vertices)].mean(dim=1) - tracks[:, :2]


def measure_outline_tracks(points: Tensor, across: tuple[float, float] | None = None) -> Tensor:
    """(frames, 3): column and row of the centroid and equal-area radius [px] of the convex hull of points (frames, n,
    2), differentiable: by Green's theorem over the hull's sides. across: direction in which the radius is measured
    instead, as twice the standard deviation."""
    hulls = [_hull(frame) for frame in points.detach().cpu().double().numpy()]
    longest = max(len(hull) for hull in hulls)
    # A corner that is repeated adds a side of no length.
    index = torch.tensor(np.stack([np.pad(hull, (0, longest - len(hull)), mode="edge") for hull in hulls]))
    corner = torch.gather(points, 1, index[..., None].expand(-1, -1, 2))
    middle = corner.mean(dim=1, keepdim=True)
    a = corner - middle
    b = a.roll(-1, dims=1)
    cross = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    area = 0.5 * cross.sum(dim=1)
    first = ((a + b) * cross[..., None]).sum(dim=1) / (6.0 * area)[:, None]
    radius = (area / torch.pi).sqrt()
    if across is not None:
        s = (a * a.new_tensor(across)).sum(dim=-1)
        t = s.roll(-1, dims=1)
        second = (cross * (s * s + s * t + t * t)).sum(dim=1) / (12.0 * area)
        radius = 2.0 * (second - (first * first.new_tensor(across)).sum(dim=-1).square()).sqrt()
    return torch.cat([middle[:, 0] + first, radius[:, None]], dim=1)


def track_distance(objective: Objective, z: Tensor) -> float | None:
    """Root mean square distance [px] between the centroids of what is drawn at ``z`` and the target's tracks, over the
    frames that show it; None where a target has no tracks."""
    targets = objective.target.by_view().values()
    if any(target.tracks is None for target in targets):
        return None
    with torch.no_grad():
        views = replace(objective, loss=TrackError()).views(z, gradient=False).values()
    squares, total = 0.0, 0.0
    for view, target in zip(views, targets, strict=True):
        assert view.outline is not None
        assert target.tracks is not None
        apart = (measure_outline_tracks(view.outline) - target.tracks[:, :3])[:, :2].square().sum(dim=1)
        squares += float((apart * target.tracks[:, 3]).sum())
        total += float(target.tracks[:, 3].sum())
    return math.sqrt(squares / total) if total > 0.0 else None


def _hull(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """The corners of the convex hull, counter-clockwise in the plane's own axes."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(ConvexHull(points).vertices, np.int64)
    except (QhullError, ValueError) as error:
        raise InputError(
            "loss 'track': the drawn object has no area in the image; place the camera before it"
        ) from error
