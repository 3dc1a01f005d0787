"""The cameras of a scene as a viewer places them, with the frames they recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom_fitting.scene.scene import Scene
from diffloom_fitting.targets import Target
from diffloom_studio.playback import Playback
from diffloom_studio.playback.cameras import camera_at


@dataclass(frozen=True)
class Recorder:
    """One camera. rotation: (frames or 1, 3, 3), columns are its right, down and forward axes in the world. eye:
    (frames or 1, 3) [m]. fov: vertical [rad]. focal: fx, fy [px]. times: (frames,) of the simulation [s]. images:
    (frames, height, width, 3) bytes, or None."""

    label: str
    rotation: NDArray[np.float64]
    eye: NDArray[np.float64]
    fov: float
    focal: tuple[float, float]
    size: tuple[int, int]
    times: NDArray[np.float64]
    images: NDArray[np.uint8] | None

    def at(self, time: float) -> int:
        """The frame nearest to ``time`` [s]."""
        return int(np.abs(self.times - time).argmin())


def recorders(playback: Playback) -> list[Recorder]:
    """All cameras, where the best known values put them."""
    scene = playback.experiment.scene
    values = next(playback.values[name] for name in ("fit", "truth", "start") if name in playback.values)
    targets = playback.experiment.target.by_view()
    return [_recorder(scene, label, values, targets[label]) for label in scene.viewpoints]


def _recorder(scene: Scene, label: str, values: Mapping[str, Tensor], target: Target) -> Recorder:
    camera = camera_at(scene, label, values, target.times)
    rows = camera.rotation.double().reshape(-1, 3, 3)
    # From right, up, back to right, down, forward.
    axes = (rows * torch.tensor([[1.0], [-1.0], [-1.0]], dtype=torch.float64)).transpose(1, 2)
    images = target.frames if target.frames is not None else target.masks
    shown = None
    if images is not None:
        colour = images[..., :3] if images.dim() == 4 else images[..., None].expand(*images.shape, 3)
        shown = (colour.clamp(0.0, 1.0) * 255.0).round().to(torch.uint8).numpy()
    fx, fy = (float(f) for f in camera.focal)
    return Recorder(
        label or "camera", axes.numpy(), camera.eye.double().reshape(-1, 3).numpy(),
        2.0 * float(np.arctan(0.5 * camera.height / fy)), (fx, fy), (camera.height, camera.width),
        (target.times + scene.viewpoints[label].time_offset).numpy(), shown,
    )  # fmt: skip
