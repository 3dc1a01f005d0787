"""`diffloom new`: what a clip shows, a contact sheet, and an experiment file for it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from itertools import groupby
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import binary_closing

from diffloom.interfaces import InputError
from diffloom_fitting import Target
from diffloom_video import read_video
from diffloom_video.facts import KnownFacts
from diffloom_video.guesses import LEAST_THROW, find_bounces
from diffloom_video.looking import UNSURE, Candidate, describe_odds, list_candidates
from diffloom_video.segmentation import BackgroundPlate, Motion, Segmenter, segment

Row = NDArray[np.float64]

__all__ = [
    "Proposal",
    "find_believed_frames",
    "format_experiment",
    "inspect_clip",
    "write_contact_sheet",
    "write_experiment",
]

#: Pixels on the longer side and most frames that are looked at.
LONGEST, MOST = 240, 400
#: Frames without belief that do not end a run, halved.
GAP = 2
#: Power of a video's numbers that light is proportional to.
GAMMA = 2.2
CLEANING = {"convex": True, "thin": 0.2, "gamma": GAMMA}
#: Renderer of the files that are written, pixels on the longer side of what they fit, and most bounces.
RENDERER, FITTED, MOST_BOUNCES = "coverage", 240, 3


@dataclass(frozen=True)
class Proposal:
    """Experiment that `inspect_clip` proposes.

    Args:
        video: The video with masks and tracks.
        segmenter: Name of the segmenter that made the masks.
        kind: One of `KINDS`.
        begin: Begin of the longest time in which the object is seen without a break [s].
        duration: How long that is [s]; of a throw, up to its first bounce.
        sentences: Findings, for people.
        bounces: How many bounces the track shows.
        candidates: Kinds of motion that the track may show, by falling odds.
        sure: False if no kind of motion describes the track; the kind then is a guess.
        across: Diameter of the object [m] if gravity is the ruler and the clip is played at its true speed.
    """

    video: Target
    segmenter: str
    kind: str
    begin: float
    duration: float
    sentences: tuple[str, ...]
    bounces: int = 0
    candidates: tuple[Candidate, ...] = ()
    sure: bool = True
    across: float | None = None

    def part(self) -> Target:
        """Return the frames of the proposed part.

        Returns:
            The video from the proposal's begin on, for its duration.
        """
        times = self.video.times
        slack = 1e-6 + 0.5 * float(times.diff().median()) if len(times) > 1 else 1e-6
        inside = (times >= self.begin - slack) & (times <= self.begin + self.duration + slack)
        return self.video.select(torch.nonzero(inside).flatten().tolist())


#: Sentences' ends by kind, and where no kind describes the track.
NAMES = {"pendulum": "a pendulum", "throw": "a throw", "bounces": "a bouncing ball", "slide": "a sliding box"}
NOT_SURE = "NOT SURE what this is; look at the contact sheet, and name the kind of motion"


def inspect_clip(path: Path, known: KnownFacts | None = None) -> Proposal:
    """Find the moving object in a video and propose an experiment for it.

    Args:
        path: The video.
        known: Facts that a person gives; its kind is looked for.

    Returns:
        The proposal. InputError where nothing moves in the video.
    """
    kind, kinds = (None, ()) if known is None else (known.kind, known.kinds)
    first = read_video(path, size=LONGEST, dtype=torch.float32, gamma=GAMMA)
    video = first.select(range(0, len(first), 1 + (len(first) - 1) // MOST))
    name, seen = _segment_clip(video)
    assert seen.tracks is not None
    tracks, times = seen.tracks.double().numpy(), seen.times.numpy()
    kept = find_believed_frames(tracks)
    if len(kept) < LEAST_THROW:
        raise InputError(
            f"video {path.name!r}: nothing is seen moving for {LEAST_THROW} frames or more; give masks, or write the "
            "experiment by hand (docs/real-video.md)"
        )
    t, (column, row, radius) = times[kept], tracks[kept, :3].T
    told = [
        f"{len(first)} frames of {first.frames.shape[2]}x{first.frames.shape[1]} pixels (scaled), "  # type: ignore[union-attr]
        f"{(len(first) - 1) / max(float(first.times[-1]), 1e-9):.1f} a second",
        f"something of {np.median(radius):.1f} px radius, by {name}, seen from {t[0]:.2f} s to {t[-1]:.2f} s",
    ]
    candidates = [each for each in list_candidates(t, column, row) if not kinds or each.kind in (*kinds, UNSURE)]
    chosen = next((each for each in candidates if each.kind == kind), None)
    if chosen is None:
        chosen = next((each for each in candidates if kind is None and each.kind != UNSURE), candidates[0])
    name_kind = kind or (chosen.kind if chosen.kind != UNSURE else (*kinds, "throw")[0])
    sure = kind is not None or candidates[0].kind != UNSURE
    told.append(f"{chosen.sentence}: {NAMES[name_kind] if sure else NOT_SURE}")
    told.append(describe_odds(candidates))
    across = 2.0 * float(np.median(radius)) / chosen.scale if chosen.scale > 0.0 else None
    begin, duration = chosen.begin, chosen.duration
    if chosen.kind == "bounces" and chosen.bounces > MOST_BOUNCES:
        duration = _end_of_bounces(t, row, begin) - begin
    return Proposal(
        seen, name, name_kind, begin, duration, tuple(told), chosen.bounces, tuple(candidates), sure, across
    )  # fmt: skip


def _end_of_bounces(t: Row, row: Row, begin: float) -> float:
    """Return the time of the last frame before the bounce after those that are fitted [s]."""
    later = t >= begin
    ends = find_bounces(t[later], row[later])
    return float(t[later][ends[MOST_BOUNCES]]) if len(ends) > MOST_BOUNCES else float(t[-1])


def _segment_clip(video: Target) -> tuple[str, Target]:
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


def find_believed_frames(tracks: NDArray[np.float64]) -> NDArray[np.int64]:
    """Find the frames of the longest time in which the object is seen without a break.

    Args:
        tracks: (frames, 4), column, row, radius and weight of each frame.

    Returns:
        Numbers of the frames.
    """
    believed = tracks[:, 3] > 0.5
    # A few frames that repeat, or in which something else came by, are no break.
    low, high = _longest_run(binary_closing(np.pad(believed, GAP), iterations=GAP)[GAP:-GAP])
    return np.flatnonzero(believed[low:high]) + low


def _longest_run(flags: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[int, int]:
    """First and last + 1 of the longest run that is set."""
    best, here = (0, 0), 0
    for value, run in groupby(flags.tolist()):
        count = len(list(run))
        if value and count > best[1] - best[0]:
            best = (here, here + count)
        here += count
    return best


ROWS, COLUMNS = 3, 4
MASK, SURE, DOUBTED = (1.0, 0.0, 1.0), (1.0, 1.0, 0.0), (1.0, 0.0, 0.0)


def write_contact_sheet(path: Path, video: Target) -> None:
    """Write twelve frames with their masks laid over them and a ring for each track: yellow where it is believed, red
    where it is not.

    Args:
        path: The image file to write.
        video: A video with masks and tracks.
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
            shown[ring] = SURE if weight > 0.5 else DOUBTED
        tiles.append(shown)
    rows = [np.concatenate(tiles[k : k + COLUMNS], axis=1) for k in range(0, len(tiles), COLUMNS)]
    Image.fromarray((np.concatenate(rows) * 255.0).round().astype(np.uint8)).save(path)


#: Most of a clip that is read [s], and most that the loss sees, of each kind; of a throw, a part.
LONG = 20.0
SEEN = 5.0
#: Time that is simulated before the first frame and after the last one [s]: half of the longest exposure.
LEAD = 0.02
#: Field of view of a phone [degrees] and how well that is known; how well one is known that a person gives.
FOV, FOV_ROUGHLY, FOV_TYPED = 40.0, 0.15, 0.03
#: Least and largest relative error of a size that is given, whose last digit may have been a zero.
SIZE_TYPED, SIZE_ROUGHLY = 0.01, 0.05


def format_experiment(seen: Proposal, video: str, known: KnownFacts | None = None) -> str:
    """Write the text of an experiment file.

    Args:
        seen: The proposal of `inspect_clip`.
        video: Path of the video, as the file is to name it.
        known: Facts that a person gives.

    Returns:
        The text.
    """
    known = KnownFacts() if known is None else known
    known.check(seen.kind)
    duration = min(seen.duration, LONG)
    step = float(seen.video.times.diff().median()) if len(seen.video) > 1 else 1.0 / 30.0
    until = min(SEEN, 0.75 * duration) if seen.kind == "pendulum" else 0.67 * duration
    fov = FOV if known.fov is None else known.fov
    slower = 1.0 if known.rate is None else known.rate * step
    duration, until, step = duration / slower, until / slower, step / slower
    values = {
        "VIDEO": video.replace("\\", "/").replace('"', '\\"'),
        "BEGIN": f"{seen.begin / slower:.4f}",
        "DURATION": f"{duration:.4f}",
        "LEAD": f"{LEAD:g}",
        "SIMULATED": f"{duration + 2.0 * LEAD:.4f}",
        "WHOLE": f"{float(seen.video.times[-1]) / slower + step:.4f}",
        "UNTIL": f"{until:.4f}",
        "EVERY": str(max(1, round(1.0 / 30.0 / step))),
        "SEGMENTER": seen.segmenter,
        "RENDERER": RENDERER,
        "LONGEST": str(FITTED),
        "FOV": f"{fov:g}",
        "FOV_DEVIATION": f"{fov * (FOV_ROUGHLY if known.fov is None else FOV_TYPED):.2g}",
        "COUNT": str(max(1, min(seen.bounces, MOST_BOUNCES))),
    }
    if known.size:
        sides = known.size
        # A ruler is read to half of the last digit.
        error = min(SIZE_ROUGHLY, max(SIZE_TYPED, max(0.5 * _last_digit(side) / side for side in sides)))
        values |= {
            "RADIUS": f"{0.5 * sides[0]:.6g}",
            "SIDES": str(list(sides)),
            "HALF_HEIGHT": f"{0.5 * sides[1 if len(sides) > 1 else 0]:.6g}",
            "SIZE_DEVIATION": f"{error:.2g}",
        }
    name = "throw-size" if seen.kind == "throw" and known.size else seen.kind
    text = files("diffloom_video").joinpath("templates", f"{name}.toml").read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    if known.rate is not None:
        text = text.replace(
            "\nbegin = ",
            f"\nrate = {known.rate:g}                          # frames per second when it was recorded\nbegin = ",
        )
    return text if known.length is None else _with_known_length(text, known.length)


def _with_known_length(text: str, length: float) -> str:
    """Return the text of a pendulum's experiment with a known length and unknown gravity."""
    error = min(SIZE_ROUGHLY * length, max(SIZE_TYPED * length, 0.5 * _last_digit(length)))
    changes = {
        "length = 0.3,": f"length = {length:g},",
        "[unknowns.length]": '[unknowns."gravity.y"]\nstart = -9.81\nscale = 1.0',
        "[assumed]": f"[assumed]\nlength = {error:.2g}",
        "Gravity, 9.81 m/s^2, is the ruler: the length follows from the period.": "The length is known.",
    }
    for old, new in changes.items():
        if old not in text:
            raise InputError(f"template 'pendulum': it has no {old!r}, so a known length cannot be put in")
        text = text.replace(old, new, 1)
    return text


def _last_digit(length: float) -> float:
    """The unit of the last digit with which a length was written, such as 0.001 of 0.067."""
    return float(10.0 ** int(Decimal(repr(length)).as_tuple().exponent))


def write_experiment(seen: Proposal, clip: Path, place: Path, known: KnownFacts | None = None) -> None:
    """Write an experiment file.

    Args:
        seen: The proposal of `inspect_clip`.
        clip: The video, which the file names from its own folder.
        place: The file to write.
        known: Facts that a person gives.
    """
    named = clip.resolve()
    try:
        shown = str(named.relative_to(place.resolve().parent))
    except ValueError:
        shown = str(named)
    place.write_text(format_experiment(seen, shown, known), encoding="utf-8")
