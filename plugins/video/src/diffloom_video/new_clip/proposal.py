"""What a video seems to show: the object, when it is seen, and how it moves."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import torch
from scipy.ndimage import binary_closing

from diffloom.interfaces import InputError
from diffloom_fitting.targets import Target
from diffloom_video import read_video
from diffloom_video.guesses.sight import through
from diffloom_video.guesses.throw import LEAST, first_bounce
from diffloom_video.oscillation import frequency
from diffloom_video.segmentation import BackgroundPlate, Motion, Segmenter, segment

#: Pixels on the longer side and most frames that are looked at.
LONGEST, MOST = 240, 400
#: Share of the variance that a sinusoid may leave of what swings, and periods that must be seen.
SWINGS, PERIODS = 0.1, 1.2
#: Frames without belief that do not end a run, halved.
GAP = 2
CLEANING = {"convex": True, "thin": 0.2}


@dataclass(frozen=True)
class Proposal:
    """video: with masks and tracks. segmenter: the name of what made them. kind: "pendulum" or "throw". begin,
    duration: the longest time in which the object is seen without a break, of a throw up to its first bounce [s].
    sentences: what was seen."""

    video: Target
    segmenter: str
    kind: str
    begin: float
    duration: float
    sentences: tuple[str, ...]


def look_at(path: Path) -> Proposal:
    """What the video at ``path`` shows; InputError where nothing moves in it."""
    first = read_video(path, size=LONGEST, dtype=torch.float32)
    video = first.select(range(0, len(first), 1 + (len(first) - 1) // MOST))
    name, seen = _segmented(video)
    assert seen.tracks is not None
    tracks, times = seen.tracks.double().numpy(), seen.times.numpy()
    believed = tracks[:, 3] > 0.5
    # A few frames that repeat, or in which something else came by, are no break.
    low, high = _longest_run(binary_closing(np.pad(believed, GAP), iterations=GAP)[GAP:-GAP])
    if int(believed[low:high].sum()) < LEAST:
        raise InputError(
            f"video {path.name!r}: nothing is seen moving for {LEAST} frames or more; give masks, or write the "
            "experiment by hand (docs/real-video.md)"
        )
    kept = np.flatnonzero(believed[low:high]) + low
    t, (column, row, radius) = times[kept], tracks[kept, :3].T
    told = [
        f"{len(first)} frames of {first.frames.shape[2]}x{first.frames.shape[1]} pixels (scaled), "  # type: ignore[union-attr]
        f"{(len(first) - 1) / max(float(first.times[-1]), 1e-9):.1f} a second",
        f"something of {np.median(radius):.1f} px radius, by {name}, seen from {t[0]:.2f} s to {t[-1]:.2f} s",
    ]
    omega, left = frequency(t, column)
    if left < SWINGS and omega * (t[-1] - t[0]) > PERIODS * 2.0 * np.pi:
        told.append(f"it swings sideways with a period of {2.0 * np.pi / omega:.3f} s: a pendulum")
        return Proposal(seen, name, "pendulum", float(t[0]), float(t[-1] - t[0]), tuple(told))
    end = first_bounce(t, row)
    (_, _, half), rest = through([np.ones(end), t[:end], t[:end] ** 2], row[:end])
    told.append(
        f"it falls with {2.0 * half:.0f} px/s^2 until {t[end - 1]:.2f} s, a parabola leaves {rest:.1%} of its height: "
        + ("a throw" if half > 0.0 and rest < 0.05 else "NOT SURE that this is a throw; see the contact sheet")
    )
    return Proposal(seen, name, "throw", float(t[0]), float(t[end - 1] - t[0]), tuple(told))


def _segmented(video: Target) -> tuple[str, Target]:
    """The segmenter that is believed most, and what it sees."""
    found: list[tuple[float, str, Target]] = []
    tried: tuple[tuple[str, Segmenter], ...] = (
        ("plate", BackgroundPlate(cleaning=CLEANING)),  # type: ignore[arg-type]
        ("motion", Motion(cleaning=CLEANING)),  # type: ignore[arg-type]
    )
    for name, segmenter in tried:
        try:
            seen = segment(video, segmenter)
        except InputError:
            continue
        assert seen.confidence is not None
        found.append((float(seen.confidence.mean()), name, seen))
        if found[-1][0] > 0.6:
            break
    if not found:
        raise InputError("nothing is seen moving before a background that stands still; was the camera on a tripod?")
    _, name, seen = max(found, key=lambda each: each[0])
    return name, seen


def _longest_run(flags: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[int, int]:
    """First and last + 1 of the longest run that is set."""
    best, here = (0, 0), 0
    for value, run in groupby(flags.tolist()):
        count = len(list(run))
        if value and count > best[1] - best[0]:
            best = (here, here + count)
        here += count
    return best
