"""The free swing of a pendulum in a video: where it begins, and its period."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom_fitting.targets import Target, tracked

Row = NDArray[np.float64]

#: Frequencies that are looked for [Hz].
LOWEST, HIGHEST = 0.1, 6.0


def frequency(t: Row, values: Row) -> tuple[float, float]:
    """The angular frequency [rad/s] of the sinusoid around a constant that leaves least of ``values`` (n,) at the times
    ``t`` [s], and the share of their variance that it leaves."""
    span = float(t[-1] - t[0])
    lowest, highest = max(LOWEST, 0.4 / span), min(HIGHEST, 0.45 / float(np.median(np.diff(t))))
    if not lowest < highest:
        raise InputError(f"{span:g} s of video are too short to show a swing; take more of it")
    grid = 2.0 * np.pi * np.arange(lowest, highest, 0.05 / span)
    left = [_left(t, values, omega) for omega in grid]
    best, step = float(grid[int(np.argmin(left))]), float(2.0 * np.pi * 0.05 / span)
    for _ in range(40):
        step *= 0.75
        best = min((best - step, best, best + step), key=lambda omega: _left(t, values, omega))
    return best, _left(t, values, best)


def _left(t: Row, values: Row, omega: float) -> float:
    table = np.stack([np.ones_like(t), np.cos(omega * t), np.sin(omega * t)], axis=1)
    rest = values - table @ np.linalg.lstsq(table, values, rcond=None)[0]
    return float((rest**2).mean() / max(float(values.var()), 1e-12))


def find_usual_frequency(times: Row, swinging: Row, omega: float, least: int = 18) -> float:
    """The median frequency over windows of two periods of about ``omega``: gaps in time and hands spoil few of them,
    but all of a whole clip. least: frames of a window that counts."""
    span = 4.0 * np.pi / omega
    begins = np.arange(times[0], times[-1] - span, 0.5 * span)
    windows = [(times >= begin) & (times <= begin + span) for begin in begins]
    found = [frequency(times[near], swinging[near])[0] for near in windows if int(near.sum()) > least]
    return float(np.median(found)) if found else omega


def make_swing_curves(omega: float, t: Row) -> Row:
    """(n, 5): curves whose sum is a free swing at the times ``t`` [s]; the second harmonic is a pendulum's height."""
    return np.stack([np.ones_like(t), *(f(n * omega * t) for n in (1, 2) for f in (np.cos, np.sin))], axis=1)


#: Periods of a window that is looked at, and the fewest frames in one.
PERIODS, LEAST = 1.25, 8
#: How much more than usual a free swing may leave over, and the part of the swing that it may in any case.
USUAL, FINE = 3.0, 0.01
#: How much its width may differ from that of most windows.
WIDER = 3.0
#: Radii of the bob that it must swing to either side for no place to be covered half of the time.
NARROW = 2.0**0.5


def with_free_swing(target: Target) -> Target:
    """The target from where the swing is free until it is no longer, its first frame at time 0.

    Frames in between that show something else, as where the object is taken for another, are not believed. A warning
    tells what was left out; InputError where no swing is seen.
    """
    tracks = tracked(target).double().numpy()
    seen = np.flatnonzero(tracks[:, 3] > 0.5)
    times = target.times.numpy()
    if len(seen) < LEAST:
        raise InputError(
            f"target.free_swing: the object is seen whole in {len(seen)} frames; expected at least {LEAST}: see the "
            "masks, and keep the bob within the image"
        )
    free = find_free_frames(times[seen], tracks[seen, :2])
    if not free.any():
        raise InputError(
            "target.free_swing: no part of the video shows a free swing of more than a period; begin later "
            "(target.begin), read more of it (target.duration), or see the masks"
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

    def believed(weight: torch.Tensor) -> torch.Tensor:
        return weight * doubt.to(weight.dtype)

    shown = tracked(part).clone()
    shown[:, 3] = believed(shown[:, 3])
    belief = None if part.confidence is None else believed(part.confidence)
    return replace(part, times=part.times - times[first], tracks=shown, confidence=belief)


def _tell(times: Row, first: int, last: int) -> None:
    """Say what is left out, where it is more than a few frames at an end that was not seen whole."""
    step = float(np.median(np.diff(times)))
    early, late = times[first] - times[0], times[-1] - times[last]
    if max(early, late) > 5.0 * step:
        warnings.warn(
            f"the swing is free from {times[first]:.2f} s to {times[last]:.2f} s of what is read: the rest is left "
            "out, and times count from there",
            stacklevel=3,
        )


def _tell_if_narrow(tracks: Row) -> None:
    """Say that the median of the video shows the bob itself: where it is more than half of the time."""
    reach, radius = 0.5 * float(np.ptp(tracks[:, :2], axis=0).max()), float(np.median(tracks[:, 2]))
    if reach < NARROW * radius:
        warnings.warn(
            f"the bob swings by {reach:.1f} pixels to either side, hardly more than its radius of {radius:.1f}: a "
            "median of the video shows it where it stays for half of the time, and masks against it are wrong. Let "
            "it swing farther, or give an image of the background alone (plate in target.segment)",
            stacklevel=3,
        )


def find_free_frames(times: Row, places: Row) -> NDArray[np.bool_]:
    """(n,): whether a frame lies in a window of some periods that a free swing of the clip's own frequency goes
    through, as wide as that of most windows. times [s], places (n, 2) [px]."""
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
    """Root mean square [px] that a swing leaves over, and its half width [px]."""
    table = make_swing_curves(omega, times - times.mean())
    parts = np.linalg.lstsq(table, places, rcond=None)[0]
    rest = places - table @ parts
    return float(np.sqrt((rest**2).mean())), float(np.sqrt((parts[1:3] ** 2).sum()))
