"""Frames that a camera lost without a word: later ones then come too early, by whole frames."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from diffloom_fitting.targets import Target, tracked
from diffloom_video.free_swing import find_usual_frequency, frequency, make_swing_curves

#: Frames on either side of a gap for motion that does not swing: a parabola goes through both.
SIDE = 6
#: For motion that does: parts of a period on either side, and the share of its variance that a sinusoid may leave.
PERIODS, SWINGS = 0.75, 0.1
#: How much less must be left over with the gap than without, and how much more than elsewhere may be.
BETTER, USUAL = 3.0, 2.5
#: Most frames that are looked for in one gap.
MOST = 3

Row = NDArray[np.float64]
Curve = Callable[[Row], Row]


def with_lost_frames(target: Target, every: int = 1) -> Target:
    """The target with times that leave room for frames which the camera lost.

    A phone that drops a frame now and then hands out stamps as if it had not, and motion seems to leap. Where a smooth
    curve goes through the tracks before and after with a gap of whole frames, and does not without, later times move
    back by the gap; a warning tells where. every: of how many frames of the video each frame here is one.
    """
    tracks = tracked(target).double().numpy()
    seen = np.flatnonzero(tracks[:, 3] > 0.5)
    times = target.times.numpy()
    if len(seen) < 2 * SIDE:
        return target
    period = float(np.median(np.diff(times))) / every
    lost = count_lost_frames(times[seen], tracks[seen, :2], period)
    if not lost.any():
        return target
    late = np.zeros(len(times))
    late[seen] = lost
    told = ", ".join(f"{int(n)} before {times[k]:.2f} s" for k, n in zip(seen, lost, strict=True) if n)
    warnings.warn(f"the camera lost frames: {told}; later times were moved back", stacklevel=2)
    return replace(target, times=torch.from_numpy(times + period * np.cumsum(late)))


def count_lost_frames(times: Row, places: Row, period: float) -> Row:
    """(n,): how many frames of ``period`` [s] were lost before each of the frames with ``places`` (n, 2) [px]."""
    count, (side, curve) = len(times), _motion(times, places)
    lost = np.zeros(count)
    inner = range(side, count - side + 1)
    if len(inner) < 2:
        return lost
    left = np.array([[_left_over(times, places, k, side, n * period, curve) for n in range(MOST + 1)] for k in inner])
    usual = float(np.median(left[:, 0]))
    best = left[:, 1:].argmin(axis=1) + 1
    least = left[np.arange(len(left)), best]
    leaps = (least < left[:, 0] / BETTER) & (least < USUAL * usual)
    for k in np.flatnonzero(leaps):
        near = slice(max(0, k - side), k + side + 1)
        # A gap shows in all windows around it; the one that it splits fits best in relation to none.
        gain = least[near] / left[near, 0]
        if least[k] / left[k, 0] == gain[leaps[near]].min():
            lost[side + k] = best[k]
    return lost


def _motion(times: Row, places: Row) -> tuple[int, Curve]:
    """Frames on either side of a gap, and the curves whose sum goes through them: those of a free swing of the tracks'
    frequency where they swing, else parabolas."""
    swinging = places[:, int(places.var(axis=0).argmax())]
    step = float(np.median(np.diff(times)))
    if times[-1] - times[0] > 20.0 * step:
        omega, left = frequency(times, swinging)
        omega = find_usual_frequency(times, swinging, omega, 3 * SIDE)
        side = round(PERIODS * 2.0 * np.pi / omega / step)
        if left < SWINGS and side >= SIDE:
            return side, partial(make_swing_curves, omega)
    return SIDE, lambda t: np.stack([np.ones_like(t), t, t * t], axis=1)


def _left_over(times: Row, places: Row, k: int, side: int, gap: float, curve: Curve) -> float:
    """Mean square [px^2] that curves through the frames around k leave, with those from k on later by ``gap`` [s]."""
    near = slice(k - side, k + side)
    t = times[near] - times[k]
    table = curve(t + gap * (np.arange(2 * side) >= side))
    rest = places[near] - table @ np.linalg.lstsq(table, places[near], rcond=None)[0]
    return float((rest**2).mean())
