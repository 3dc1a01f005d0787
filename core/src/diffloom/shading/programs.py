"""The program of what renderers share: projection and normals by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffloom.kernels import Program

from .kernels import normals, projecting


def samples(dtype: Any) -> dict[str, tuple[Any, ...]]:
    """Arguments of every schedule for one triangle."""
    rows, camera = np.zeros((3, 3), dtype), (np.zeros((1, 3, 3), dtype), np.zeros((1, 3), dtype))
    pair, index = np.zeros(2, dtype), np.zeros((1, 3), np.int32)
    corners = 3, index, np.zeros(4, np.int32), np.zeros(3, np.int32)
    seen = 3, 0.1, (4.0, 4.0), rows, *camera, pair, pair
    return {
        "project_forward": (3, *seen, rows),
        "project_backward": (3, *seen, rows, rows, rows),
        "camera_backward": (1, 3, 0.1, rows, *camera, pair, rows, rows, np.zeros((1, 16), dtype)),
        "normals_forward": (3, *corners, rows, rows),
        "normals_backward": (3, *corners, rows, rows, rows, rows),
    }


_SCHEDULES: list[Any] = [
    projecting.project_forward, projecting.project_backward, projecting.camera_backward, normals.normals_forward,
    normals.normals_backward,
]  # fmt: skip

program = Program("shading", schedules=tuple(_SCHEDULES), samples=samples)
