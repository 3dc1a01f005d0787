"""Experiment files for new clips, as written by ``diffloom new``: content of the clip, contact sheet and file."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from scipy.ndimage import binary_closing

from diffloom.interfaces import InputError
from diffloom_fitting import Target
from diffloom_video import read_video
from diffloom_video.free_swing import frequency
from diffloom_video.guesses import LEAST_THROW, find_first_bounce, fit_robustly
from diffloom_video.segmentation import BackgroundPlate, Motion, Segmenter, segment

__all__ = ["inspect_clip", "write_contact_sheet", "write_experiment"]

#: Pixels on the longer side, and largest number of frames, of the analysed video.
LONGEST, MOST = 240, 400
#: Largest share of the variance that a sinusoid leaves of a swing, and smallest number of periods.
SWINGS, PERIODS = 0.1, 1.2
#: Half the number of doubtful frames that do not end a run.
GAP = 2
CLEANING = {"convex": True, "thin": 0.2}


@dataclass(frozen=True)
class Proposal:
    """Content of a clip.

    Args:
        video: The clip with masks and tracks.
        segmenter: Name of the segmenter that made them.
        kind: "pendulum" or "throw".
        begin: Beginning of the longest time without a break [s].
        duration: Length of it, of a throw up to its first bounce [s].
        sentences: Findings, for the user.
    """

    video: Target
    segmenter: str
    kind: str
    begin: float
    duration: float
    sentences: tuple[str, ...]


def inspect_clip(path: Path) -> Proposal:
    """Find out what a video shows.

    Args:
        path: The video.

    Returns:
        Masks, tracks, the kind of motion and its time.

    Raises:
        InputError: Nothing moves in the video.
    """
    first = read_video(path, size=LONGEST, dtype=torch.float32)
    video = first.select(range(0, len(first), 1 + (len(first) - 1) // MOST))
    name, seen = _segmented(video)
    assert seen.tracks is not None
    tracks, times = seen.tracks.double().numpy(), seen.times.numpy()
    believed = tracks[:, 3] > 0.5
    # A few doubtful frames do not end a run.
    low, high = _longest_run(binary_closing(np.pad(believed, GAP), iterations=GAP)[GAP:-GAP])
    if int(believed[low:high].sum()) < LEAST_THROW:
        raise InputError(
            f"video {path.name!r}: nothing moves for {LEAST_THROW} frames or more; give masks (target.masks), or write "
            "the experiment by hand (docs/real-video.md)"
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
    end = find_first_bounce(t, row)
    (_, _, half), rest = fit_robustly([np.ones(end), t[:end], t[:end] ** 2], row[:end])
    told.append(
        f"it falls with {2.0 * half:.0f} px/s^2 until {t[end - 1]:.2f} s, a parabola leaves {rest:.1%} of its height: "
        + ("a throw" if half > 0.0 and rest < 0.05 else "NOT SURE that this is a throw; see the contact sheet")
    )
    return Proposal(seen, name, "throw", float(t[0]), float(t[end - 1] - t[0]), tuple(told))


def _segmented(video: Target) -> tuple[str, Target]:
    """Choose the segmenter with the highest confidence; return its name and its masks."""
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
        raise InputError("nothing moves in front of a still background; record with a camera on a tripod")
    _, name, seen = max(found, key=lambda each: each[0])
    return name, seen


def _longest_run(flags: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[int, int]:
    """Return first and last + 1 of the longest run of true flags."""
    best, here = (0, 0), 0
    for value, run in groupby(flags.tolist()):
        count = len(list(run))
        if value and count > best[1] - best[0]:
            best = (here, here + count)
        here += count
    return best


ROWS, COLUMNS = 3, 4
MASK, SURE, UNSURE = (1.0, 0.0, 1.0), (1.0, 1.0, 0.0), (1.0, 0.0, 0.0)


def write_contact_sheet(path: Path, video: Target) -> None:
    """Write an image of twelve frames with masks and a ring for each track: yellow if certain, else red.

    Args:
        path: Image file to write.
        video: Video with masks and tracks.
    """
    assert video.frames is not None
    assert video.masks is not None
    assert video.tracks is not None
    tiles = []
    for k in np.linspace(0, len(video) - 1, ROWS * COLUMNS).round().astype(int):
        image, mask = video.frames[k, ..., :3].double().numpy().copy(), video.masks[k].double().numpy()
        shown = image + 0.6 * mask[..., None] * (np.array(MASK) - image)
        column, row, radius, weight = video.tracks[k].tolist()
        if radius > 0.0:
            y, x = np.indices(mask.shape) + 0.5
            ring = np.abs(np.hypot(x - column, y - row) - radius) < 0.7
            shown[ring] = SURE if weight > 0.5 else UNSURE
        tiles.append(shown)
    rows = [np.concatenate(tiles[k : k + COLUMNS], axis=1) for k in range(0, len(tiles), COLUMNS)]
    Image.fromarray((np.concatenate(rows) * 255.0).round().astype(np.uint8)).save(path)


#: Longest part of a clip that is read [s], and longest part of a swing that the loss compares [s].
LONG = 20.0
SEEN = 5.0


def format_experiment(seen: Proposal, video: str) -> str:
    """Return the text of an experiment file for a proposal; ``video`` is the path that the file names."""
    duration = min(seen.duration, LONG)
    step = float(seen.video.times.diff().median()) if len(seen.video) > 1 else 1.0 / 30.0
    until = min(SEEN, 0.75 * duration) if seen.kind == "pendulum" else 0.67 * duration
    values = {
        "VIDEO": video.replace("\\", "/").replace('"', '\\"'),
        "BEGIN": f"{seen.begin:.4f}",
        "DURATION": f"{duration:.4f}",
        "UNTIL": f"{until:.4f}",
        "EVERY": str(max(1, round(1.0 / 30.0 / step))),
        "SEGMENTER": seen.segmenter,
    }
    text = files("diffloom_video").joinpath("templates", f"{seen.kind}.toml").read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def write_experiment(seen: Proposal, clip: Path, place: Path) -> None:
    """Write an experiment file for a clip.

    Args:
        seen: Content of the clip.
        clip: The clip, named relative to the file where possible.
        place: The file to write.
    """
    named = clip.resolve()
    try:
        shown = str(named.relative_to(place.resolve().parent))
    except ValueError:
        shown = str(named)
    place.write_text(format_experiment(seen, shown), encoding="utf-8")
