"""Recording for rerun: bodies, cameras and their frames on one timeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from diffloom.interfaces import InputError
from diffloom_studio.playback import Playback
from diffloom_viewer.drawing import COLOURS, CameraTrack, find_recorders

TIMELINE = "time"


def record(playback: Playback, path: str | Path, frames: int = 61) -> Path:
    """Write a recording, to be opened with `rerun FILE`.

    Args:
        playback: Run or experiment to record.
        path: File to write (.rrd); missing folders are made.
        frames: Number of frames, evenly over the time.

    Returns:
        The path.

    Raises:
        InputError: The library rerun-sdk is not installed.
    """
    try:
        import rerun
    except ImportError as error:
        raise InputError('view: a recording needs rerun-sdk; pip install "diffloom-viewer[rerun]"') from error
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    stream = rerun.RecordingStream("diffloom")
    stream.save(place)
    stream.log("/", rerun.ViewCoordinates.RIGHT_HAND_Y_UP, static=True)
    times = playback.times(frames)
    for name in playback.values:
        body = playback.body(name, times)
        for k, time in enumerate(body.times):
            stream.set_time(TIMELINE, duration=float(time))
            colours = np.tile(np.array(COLOURS[name], dtype=np.uint8), (body.vertices.shape[1], 1))
            mesh = rerun.Mesh3D(
                vertex_positions=body.vertices[k], triangle_indices=body.faces.astype(np.uint32), vertex_colors=colours
            )
            stream.log(f"bodies/{name}", mesh)
    for one in find_recorders(playback):
        _log_camera(rerun, stream, one)
    stream.flush()
    stream.disconnect()
    return place


def _log_camera(rerun: Any, stream: Any, one: CameraTrack) -> None:
    """Log a pinhole and its images, frame by frame."""
    place = f"cameras/{one.label}"
    for k, time in enumerate(one.times):
        moved = min(k, len(one.eye) - 1)
        stream.set_time(TIMELINE, duration=float(time))
        pose = rerun.Transform3D(translation=one.eye[moved], mat3x3=one.rotation[moved])
        lens = rerun.Pinhole(focal_length=one.focal, width=one.size[1], height=one.size[0])
        stream.log(place, pose)
        stream.log(place, lens)
        if one.images is not None:
            stream.log(place, rerun.Image(one.images[k]))
