"""A video of any view of a scene."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from diffloom.interfaces import InputError, NoGradient
from diffloom_studio.playback import Playback
from diffloom_studio.report.strips import enlarged
from diffloom_studio.report.video import frame_rate, write_video

LEAST = 240  # height of the video [px]


def write_view(path: Path, playback: Playback, body: str, frames: int, view: str | None) -> Path:
    """What the camera ``view`` sees of ``body``, as mp4 or gif."""
    if body not in playback.values:
        raise InputError(f"export: there is no {body!r}; there are: {', '.join(playback.values)}")
    whole = playback.experiment.scene
    scene = whole.seen_from(next(iter(whole.viewpoints)) if view is None else view)
    times = playback.times(frames)
    with torch.no_grad():
        image = scene.render(playback.values[body], times, ("rgba",), NoGradient()).image
    assert image is not None
    shown = np.ascontiguousarray(enlarged(image.bytes()[..., :3].numpy(), LEAST))
    write_video(path, shown, frame_rate(times.numpy()))
    return path
