"""Free swing of a pendulum in a video: its beginning and end, and its period."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom_fitting.targets import Target, get_tracks

Row = NDArray[np.float64]

#: Range of frequencies [Hz].
LOWEST, HIGHEST = 0.1, 6.0


def frequency(t: Row, values: Row) -> tuple[float, float]:
    """Find the sinusoid around a constant that fits ``values`` best.

    Args:
        t: (n,), times [s].
        values: (n,), samples.

    Returns:
        Angular frequency [rad/s], and the share of the variance that the sinusoid leaves.
    """
    span = float(t[-1] - t[0])
    lowest, highest = max(LOWEST, 0.4 / span), min(HIGHEST, 0.45 / float(np.median(np.diff(t))))
    if not lowest < highest:
        raise InputError(f"{span:g} s of video are too short to show a swing; read more (target.duration)")
    grid = 2.0 * np.pi * np.arange(lowest, highest, 0.05 / span)
    left = [_compute_residual(t, values, omega) for omega in grid]
    best, step = float(grid[int(np.argmin(left))]), float(2.0 * np.pi * 0.05 / span)
    for _ in range(40):
        step *= 0.75
        best = min((best - step, best, best + step), key=lambda omega: _compute_residual(t, values, omega))
    return best, _compute_residual(t, values, best)


def _compute_residual(t: Row, values: Row, omega: float) -> float:
    table = np.stack([np.ones_like(t), np.cos(omega * t), np.sin(omega * t)], axis=1)
    rest = values - table @ np.linalg.lstsq(table, values, rcond=None)[0]
    return float((rest**2).mean() / max(float(values.var()), 1e-12))


def find_usual_frequency(times: Row, swinging: Row, omega: float, least: int = 18) -> float:
    """Return the median frequency over windows of two periods, which gaps in time and hands disturb little.

    Args:
        times: (n,), times [s].
        swinging: (n,), coordinate that swings.
        omega: Rough angular frequency [rad/s].
        least: Smallest number of frames in a window.
    """
    span = 4.0 * np.pi / omega
    begins = np.arange(times[0], times[-1] - span, 0.5 * span)
    windows = [(times >= begin) & (times <= begin + span) for begin in begins]
    found = [frequency(times[near], swinging[near])[0] for near in windows if int(near.sum()) > least]
    return float(np.median(found)) if found else omega


def make_swing_curves(omega: float, t: Row) -> Row:
    """Return the curves (n, 5) of a free swing at times ``t`` [s]: constant, first and second harmonic.

    The second harmonic is the height of a pendulum's bob.
    """
    return np.stack([np.ones_like(t), *(f(n * omega * t) for n in (1, 2) for f in (np.cos, np.sin))], axis=1)


#: Length of a window in periods, and its smallest number of frames.
PERIODS, LEAST = 1.25, 8
#: Largest residual of a free swing, relative to the median one, and relative to the width of the swing.
USUAL, FINE = 3.0, 0.01
#: Largest ratio of its width to the median width.
WIDER = 3.0
#: Smallest amplitude, in radii of the bob, at which no pixel is covered half of the time.
NARROW = 2.0**0.5


def with_free_swing(target: Target) -> Target:
    """Cut a target to the part in which a pendulum swings freely.

    Frames in between whose track does not follow the swing get no weight. A warning says which part is left out.

    Args:
        target: Target with tracks or masks.

    Returns:
        The target between the first and the last free frame, the first one at time 0.

    Raises:
        InputError: No free swing was found.
    """
    tracks = get_tracks(target).double().numpy()
    seen = np.flatnonzero(tracks[:, 3] > 0.5)
    times = target.times.numpy()
    if len(seen) < LEAST:
        raise InputError(
            f"target.free_swing: the whole object is visible in {len(seen)} frames; expected at least {LEAST}; check "
            "the masks, and keep the bob within the image"
        )
    free = find_free_frames(times[seen], tracks[seen, :2])
    if not free.any():
        raise InputError(
            "target.free_swing: no part of the video shows a free swing of more than a period; begin later "
            "(target.begin), read more (target.duration), or check the masks"
        )
    good = seen[free]
    first, last = int(good[0]), int(good[-1])
    _tell(times, first, last)
    _tell_if_narrow(tracks[good])
    strayed = np.zeros(len(times), bool)
    strayed[seen[~free]] = True
    kept = list(range(first, last + 1))
    doubt = torch.from_numpy(~strayed[kept]).to(target.times.dtype)
    part = target.select(kept)

    def apply_doubt(weight: torch.Tensor) -> torch.Tensor:
        return weight * doubt.to(weight.dtype)

    shown = get_tracks(part).clone()
    shown[:, 3] = apply_doubt(shown[:, 3])
    belief = None if part.confidence is None else apply_doubt(part.confidence)
    return replace(part, times=part.times - times[first], tracks=shown, confidence=belief)


def _tell(times: Row, first: int, last: int) -> None:
    """Warn about the part that is left out, if it is more than a few frames at either end."""
    step = float(np.median(np.diff(times)))
    early, late = times[first] - times[0], times[-1] - times[last]
    if max(early, late) > 5.0 * step:
        warnings.warn(
            f"the swing is free from {times[first]:.2f} s to {times[last]:.2f} s after target.begin: the rest is left "
            "out, and times count from the first of these",
            stacklevel=3,
        )


def _tell_if_narrow(tracks: Row) -> None:
    """Warn if the swing is so narrow that the median of the video shows the bob."""
    reach, radius = 0.5 * float(np.ptp(tracks[:, :2], axis=0).max()), float(np.median(tracks[:, 2]))
    if reach < NARROW * radius:
        warnings.warn(
            f"the bob swings by {reach:.1f} pixels to either side, hardly more than its radius of {radius:.1f}: some "
            "pixels show it half of the time, so the median of the video is not the background, and the masks are "
            "wrong. Let it swing farther, or give an image of the background alone (plate in target.segment)",
            stacklevel=3,
        )


def find_free_frames(times: Row, places: Row) -> NDArray[np.bool_]:
    """Find the frames in which the object swings freely with the clip's own frequency.

    Args:
        times: (n,), times [s].
        places: (n, 2), positions [px].

    Returns:
        (n,), true for frames in a window of PERIODS periods that a swing of usual width fits.
    """
    swinging = places[:, int(places.var(axis=0).argmax())]
    omega = find_usual_frequency(times, swinging, frequency(times, swinging)[0])
    span = PERIODS * 2.0 * np.pi / omega
    begins = np.append(times[times + span < times[-1]], times[-1] - span)
    windows = [np.flatnonzero((times >= t - 1e-9) & (times <= t + span + 1e-9)) for t in begins if t >= times[0]]
    windows = [near for near in windows if len(near) >= LEAST]
    if not windows:
        return np.zeros(len(times), bool)
    left, width = np.array([_swing(times[near], places[near], omega) for near in windows]).T
    usual, wide = float(np.median(left)), float(np.median(width))
    free = (left < max(USUAL * usual, FINE * wide)) & (width < WIDER * wide) & (width > wide / WIDER)
    found = np.zeros(len(times), bool)
    for near, good in zip(windows, free, strict=True):
        found[near] |= bool(good)
    return found


def _swing(times: Row, places: Row, omega: float) -> tuple[float, float]:
    """Return the rms residual [px] of a swing and its amplitude [px]."""
    table = make_swing_curves(omega, times - times.mean())
    parts = np.linalg.lstsq(table, places, rcond=None)[0]
    rest = places - table @ parts
    return float(np.sqrt((rest**2).mean())), float(np.sqrt((parts[1:3] ** 2).sum()))
