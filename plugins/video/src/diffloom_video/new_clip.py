"""`diffloom new`: what a clip shows, a contact sheet, and an experiment file for it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from itertools import groupby
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from scipy.ndimage import binary_closing

from diffloom.interfaces import InputError
from diffloom.validation import check_choice
from diffloom_fitting import Target
from diffloom_video import read_video
from diffloom_video.free_swing import frequency
from diffloom_video.guesses import LEAST_THROW, find_bounces, find_first_bounce, fit_robustly
from diffloom_video.segmentation import BackgroundPlate, Motion, Segmenter, segment

__all__ = [
    "KINDS",
    "KnownFacts",
    "Proposal",
    "format_experiment",
    "inspect_clip",
    "write_contact_sheet",
    "write_experiment",
]

#: Pixels on the longer side and most frames that are looked at.
LONGEST, MOST = 240, 400
#: Share of the variance that a sinusoid may leave of what swings, and periods that must be seen.
SWINGS, PERIODS = 0.1, 1.2
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
    """

    video: Target
    segmenter: str
    kind: str
    begin: float
    duration: float
    sentences: tuple[str, ...]
    bounces: int = 0


KINDS = ("pendulum", "throw", "bounces", "slide")
#: Numbers of a known size: a ball's diameter, a box's width, height and depth.
SIZES = {"throw": 1, "bounces": 1, "slide": 3}


@dataclass(frozen=True)
class KnownFacts:
    """Facts that a person knows of a clip.

    Args:
        kind: One of `KINDS`; None lets `inspect_clip` choose.
        size: Diameter of the ball, or width, height and depth of the box [m]. It then is the ruler; gravity otherwise.
        fov: Vertical field of view [degrees]; None takes 40 and says so in ±.
    """

    kind: str | None = None
    size: tuple[float, ...] = ()
    fov: float | None = None

    def __post_init__(self) -> None:
        if self.kind is not None:
            check_choice("--kind", self.kind, KINDS)
        if any(not length > 0.0 for length in self.size):
            raise InputError(f"--size: got {' '.join(map(str, self.size))}; expected lengths above 0 [m]")
        if self.fov is not None and not 1.0 < self.fov < 170.0:
            raise InputError(f"--fov: got {self.fov:g}; expected degrees between 1 and 170")

    def check(self, kind: str) -> None:
        """Raise unless the size has as many numbers as a kind of clip needs.

        Args:
            kind: One of `KINDS`.
        """
        count = SIZES.get(kind, 0)
        needed = kind in ("bounces", "slide")
        if len(self.size) != count and (self.size or needed):
            wanted = {0: "no size", 1: "the ball's diameter [m]", 3: "the box's width, height and depth [m]"}[count]
            raise InputError(f"--size: got {len(self.size)} lengths for kind {kind!r}; expected {wanted}")


def inspect_clip(path: Path, known: KnownFacts | None = None) -> Proposal:
    """Find the moving object in a video and propose an experiment for it.

    Args:
        path: The video.
        known: Facts that a person gives; its kind is looked for.

    Returns:
        The proposal. InputError where nothing moves in the video.
    """
    kind = None if known is None else known.kind
    first = read_video(path, size=LONGEST, dtype=torch.float32, gamma=GAMMA)
    video = first.select(range(0, len(first), 1 + (len(first) - 1) // MOST))
    name, seen = _segment_clip(video)
    assert seen.tracks is not None
    tracks, times = seen.tracks.double().numpy(), seen.times.numpy()
    believed = tracks[:, 3] > 0.5
    # A few frames that repeat, or in which something else came by, are no break.
    low, high = _longest_run(binary_closing(np.pad(believed, GAP), iterations=GAP)[GAP:-GAP])
    if int(believed[low:high].sum()) < LEAST_THROW:
        raise InputError(
            f"video {path.name!r}: nothing is seen moving for {LEAST_THROW} frames or more; give masks, or write the "
            "experiment by hand (docs/real-video.md)"
        )
    kept = np.flatnonzero(believed[low:high]) + low
    t, (column, row, radius) = times[kept], tracks[kept, :3].T
    told = [
        f"{len(first)} frames of {first.frames.shape[2]}x{first.frames.shape[1]} pixels (scaled), "  # type: ignore[union-attr]
        f"{(len(first) - 1) / max(float(first.times[-1]), 1e-9):.1f} a second",
        f"something of {np.median(radius):.1f} px radius, by {name}, seen from {t[0]:.2f} s to {t[-1]:.2f} s",
    ]
    if kind is None or kind == "pendulum":
        omega, left = frequency(t, column)
        if kind or (left < SWINGS and omega * (t[-1] - t[0]) > PERIODS * 2.0 * np.pi):
            told.append(f"it swings sideways with a period of {2.0 * np.pi / omega:.3f} s: a pendulum")
            return Proposal(seen, name, "pendulum", float(t[0]), float(t[-1] - t[0]), tuple(told))
    if kind == "slide":
        told.append(f"it moves {np.ptp(column):.0f} px across the image and {np.ptp(row):.0f} px along it")
        return Proposal(seen, name, "slide", float(t[0]), float(t[-1] - t[0]), tuple(told))
    ends = find_bounces(t, row)
    if kind == "bounces":
        told.append(f"it bounces {len(ends)} times")
        return Proposal(seen, name, "bounces", float(t[0]), float(t[-1] - t[0]), tuple(told), len(ends))
    end = find_first_bounce(t, row)
    (_, _, half), rest = fit_robustly([np.ones(end), t[:end], t[:end] ** 2], row[:end])
    told.append(
        f"it falls with {2.0 * half:.0f} px/s^2 until {t[end - 1]:.2f} s, a parabola leaves {rest:.1%} of its height: "
        + ("a throw" if half > 0.0 and rest < 0.05 else "NOT SURE that this is a throw; see the contact sheet")
    )
    if len(ends) > 1 and kind is None:
        told.append(f"then it bounces {len(ends)} times: --kind bounces --size DIAMETER fits them, too")
    return Proposal(seen, name, "throw", float(t[0]), float(t[end - 1] - t[0]), tuple(told))


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
MASK, SURE, UNSURE = (1.0, 0.0, 1.0), (1.0, 1.0, 0.0), (1.0, 0.0, 0.0)


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
            shown[ring] = SURE if weight > 0.5 else UNSURE
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
    values = {
        "VIDEO": video.replace("\\", "/").replace('"', '\\"'),
        "BEGIN": f"{seen.begin:.4f}",
        "DURATION": f"{duration:.4f}",
        "LEAD": f"{LEAD:g}",
        "SIMULATED": f"{duration + 2.0 * LEAD:.4f}",
        "WHOLE": f"{float(seen.video.times[-1]) + step:.4f}",
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
