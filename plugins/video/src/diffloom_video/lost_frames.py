"""Frames that a camera dropped without changing its time stamps, so that later frames come too early."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from diffloom_fitting.targets import Target, get_tracks
from diffloom_video.free_swing import find_usual_frequency, frequency, make_swing_curves

#: Frames on either side of a gap for motion that does not swing; a parabola is fitted to both sides.
SIDE = 6
#: Periods on either side for motion that swings, and the largest share of variance that a sinusoid may leave.
PERIODS, SWINGS = 0.75, 0.1
#: Smallest ratio of the residual without the gap to that with it, and largest ratio of the latter to the median.
BETTER, USUAL = 3.0, 2.5
#: Largest number of frames in one gap.
MOST = 3

Row = NDArray[np.float64]
Curve = Callable[[Row], Row]


def with_lost_frames(target: Target, every: int = 1) -> Target:
    """Correct the times of a target for frames that the camera lost.

    Some phones drop a frame without changing the time stamps, and motion seems to leap. Where a smooth curve fits the
    tracks on both sides only with a gap of whole frames, later times move back by the gap. A warning says where.

    Args:
        target: Target with tracks or masks.
        every: Number of frames of the video per frame of the target.

    Returns:
        The target with corrected times.
    """
    tracks = get_tracks(target).double().numpy()
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
    warnings.warn(
        f'the camera lost frames: {told}; later times were moved back (target.lost_frames = "ignore" prevents this)',
        stacklevel=2,
    )
    return replace(target, times=torch.from_numpy(times + period * np.cumsum(late)))


def count_lost_frames(times: Row, places: Row, period: float) -> Row:
    """Count the frames that were lost before each frame.

    Args:
        times: (n,), times [s].
        places: (n, 2), positions [px].
        period: Time between two frames [s].

    Returns:
        (n,), number of lost frames.
    """
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
        # All windows around a gap show it; the window that it splits gains most.
        gain = least[near] / left[near, 0]
        if least[k] / left[k, 0] == gain[leaps[near]].min():
            lost[side + k] = best[k]
    return lost


def _motion(times: Row, places: Row) -> tuple[int, Curve]:
    """Choose the number of frames on either side of a gap and the curves to fit.

    Returns:
        The frames, and the curves of a free swing if the tracks swing, else parabolas.
    """
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
    """Return the mean square residual [px^2] of the curves around frame k if later frames move by ``gap`` [s]."""
    near = slice(k - side, k + side)
    t = times[near] - times[k]
    table = curve(t + gap * (np.arange(2 * side) >= side))
    rest = places[near] - table @ np.linalg.lstsq(table, places[near], rcond=None)[0]
    return float((rest**2).mean())
