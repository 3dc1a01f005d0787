"""Observations of a policy: features of time, the state, or an image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diffloom.interfaces import InputError, Params, State, Trajectory
from diffloom_fitting import CameraPlacement, Observation, Orbit

if TYPE_CHECKING:
    from diffloom_fitting import Scene


@dataclass(frozen=True)
class SplineFeatures:
    """Cubic B-splines of time. A linear layer without bias turns them into a smooth curve with its weights as control
    points.

    Each control point acts on the time of about four knots.

    Args:
        knots: Number of B-splines, at least 4.
        span: Time that they cover evenly [s].
    """

    knots: int = 8
    span: float = 1.0

    def __post_init__(self) -> None:
        if self.knots < 4 or not self.span > 0.0:
            raise InputError(
                f"SplineFeatures: got {self.knots} knots over {self.span:g} s; expected 4 or more, over more than 0"
            )

    def __call__(self, times: Tensor) -> Tensor:
        """Return features (steps, knots) of times (steps,) [s]; each row sums to 1."""
        # In cells between the inner knots; the curve begins one cell after the middle of the first B-spline.
        place = (times / self.span).clamp(0.0, 1.0) * (self.knots - 3)
        away = (place[:, None] - torch.arange(-1, self.knots - 1, dtype=times.dtype)).abs()
        near = 2.0 / 3.0 - away.square() + 0.5 * away**3
        far = (2.0 - away).clamp(min=0.0) ** 3 / 6.0
        return torch.where(away < 1.0, near, far)


@dataclass(frozen=True)
class StateObservation(Observation):
    """Observation of all coordinates and velocities in one row, (1, numbers).

    Args:
        nodes: Nodes that are observed; None for all.
    """

    nodes: tuple[int, ...] | None = None

    def observe(self, scene: Scene, state: State, params: Params, values: Mapping[str, Tensor]) -> Tensor:
        rows = slice(None) if self.nodes is None else list(self.nodes)
        parts = [part[rows].reshape(-1) for pair in state.sets.values() for part in pair]
        return torch.cat(parts)[None]


@dataclass(frozen=True)
class ImageObservation(Observation):
    """Observation of the image of the scene's camera (the first one where there are several), (1, 4 frames, height,
    width).

    Args:
        size: Height and width [px] instead of the camera's own, for an ``Orbit``.
        camera: Another camera for the policy.
        frames: Number of latest images that are observed at once, the newest last. The first image stands for missing
            ones.
    """

    size: tuple[int, int] | None = None
    camera: CameraPlacement | None = None
    frames: int = 1

    def __post_init__(self) -> None:
        if self.frames < 1:
            raise InputError(f"ImageObservation: got frames={self.frames}; expected 1 or more")

    @property
    def count(self) -> int:
        return self.frames

    def observe(self, scene: Scene, state: State, params: Params, values: Mapping[str, Tensor]) -> Tensor:
        frame = Trajectory(
            {name: q[None] for name, (q, _) in state.sets.items()},
            {name: u[None] for name, (_, u) in state.sets.items()},
            torch.tensor([state.time], dtype=torch.float64),
        )
        image, _ = self._make_scene(scene).draw(frame, params, values, ("rgba",))
        assert image.rgba is not None
        return image.rgba.permute(0, 3, 1, 2)

    def _make_scene(self, scene: Scene) -> Scene:
        """Return the scene as the policy's camera sees it."""
        camera = scene.viewpoint.camera if self.camera is None else self.camera
        if self.size is not None:
            if not isinstance(camera, Orbit):
                raise InputError(
                    f"ImageObservation: got size={self.size} for a camera of kind {type(camera).__name__}; give "
                    "camera= at the size that the policy is to see"
                )
            camera = replace(camera, size=self.size)
        from diffloom_video.images import resize

        view = replace(scene.viewpoint, camera=camera)
        behind = scene.behind
        if behind.dim() == 3 and tuple(behind.shape[:2]) != view.size:
            view = replace(view, background=resize(behind, view.size))
        return replace(scene, camera=view, label=next(iter(scene.viewpoints)))
