"""Track error: position and size of the object in the image, without rendering it."""

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
from diffloom_fitting.targets.target import get_tracks

if TYPE_CHECKING:
    from diffloom_fitting.objective import Objective


@dataclass(frozen=True)
class TrackError(Loss):
    """Mean squared distance [px^2] between the object's centroid and the target's track, and between their radii.

    The drawn outline is the convex hull of the projected vertices. Radii are those of discs of the same area, or of the
    same width if the target measured widths. The loss has a gradient even if the object is far away or out of the
    image, so it suits the first stage of a fit.

    Args:
        radius: Weight of the radii relative to the centroids; 0 leaves them out, and so does a track without radii
            (NaN).
        scale: Distance [px] beyond which a frame counts less (Cauchy's robust loss); None counts all alike.
        vertices: Vertices whose mean follows the track instead of the outline's centroid.
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
        """Compare with the track.

        Args:
            view: View of the scene, with its outline.
            target: Target with tracks or masks.

        Returns:
            (frames, 3), column, row and radius [px]; (frames, 2) if single vertices follow the track.
        """
        assert view.outline is not None
        tracks = get_tracks(target).to(view.outline.dtype)
        weight = tracks[:, 3:]
        apart = self._compare_tracks(view.outline, tracks, target.across)
        if self.scale is not None:
            apart = compress_residuals(apart, self.scale)
        each = torch.tensor([1.0, 1.0, self.radius][: apart.shape[1]], dtype=apart.dtype)
        # Frames without the object have no weight, and the mean is over the rest.
        usual = weight.mean().clamp(min=1e-12)
        return apart * (each * weight / usual).sqrt()

    def distances(self, view: View, target: Target) -> Tensor:
        """Return the distance from the target's track.

        Args:
            view: View of the scene, with its outline.
            target: Target with tracks or masks.

        Returns:
            (frames,) [px].
        """
        assert view.outline is not None
        apart = self._compare_tracks(view.outline, get_tracks(target).to(view.outline.dtype), target.across)
        found: Tensor = torch.linalg.vector_norm(apart[:, :2], dim=1)
        return found

    def _compare_tracks(self, points: Tensor, tracks: Tensor, across: tuple[float, float] | None) -> Tensor:
        """Return the difference from the track of drawn vertices at points (frames, n, 2)."""
        if not self.vertices:
            return torch.where(tracks[:, :3].isnan(), 0.0, measure_outline_tracks(points, across) - tracks[:, :3])
        if not 0 <= min(self.vertices) <= max(self.vertices) < points.shape[1]:
            raise InputError(
                f"loss 'track': got vertices {list(self.vertices)}; the drawn surface has 0 to {points.shape[1] - 1}"
            )
        return points[:, list(self.vertices)].mean(dim=1) - tracks[:, :2]


def measure_outline_tracks(points: Tensor, across: tuple[float, float] | None = None) -> Tensor:
    """Return centroid and radius (frames, 3) [px] of the convex hull of points, by Green's theorem over its sides.

    Args:
        points: (frames, n, 2), columns and rows [px].
        across: Direction in which the radius is measured, as twice the standard deviation; None takes the radius of
            equal area.
    """
    hulls = [_hull(frame) for frame in points.detach().cpu().double().numpy()]
    longest = max(len(hull) for hull in hulls)
    # Hulls are padded by repeated corners, which add sides of length 0.
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
    """Return the rms distance [px] between drawn centroids at ``z`` and the target's tracks; None without tracks."""
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
    """Return the corners of the convex hull, counter-clockwise in the plane's own axes."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(ConvexHull(points).vertices, np.int64)
    except (QhullError, ValueError) as error:
        raise InputError(
            "loss 'track': the drawn object has no area in the image; move the camera in front of it"
        ) from error
