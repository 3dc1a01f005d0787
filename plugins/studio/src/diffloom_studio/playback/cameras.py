"""Where a camera of a scene stands."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from diffloom.interfaces import Camera
from diffloom_fitting.scene.placement import camera_of
from diffloom_fitting.scene.scene import Scene, camera_prefix


def camera_at(scene: Scene, label: str, values: Mapping[str, Tensor], times: Tensor) -> Camera:
    """The camera called ``label`` at ``times`` [s] of its video, with what ``values`` say of its place."""
    prefix = camera_prefix(label)
    places = {k.removeprefix(prefix): v.detach() for k, v in values.items() if k.startswith(prefix)}
    return camera_of(scene.viewpoints[label].camera, scene.dtype, places, times)
