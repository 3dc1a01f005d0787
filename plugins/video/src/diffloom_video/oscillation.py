"""The frequency of something that swings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError

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


def usual_frequency(times: Row, swinging: Row, omega: float, least: int = 18) -> float:
    """The median frequency over windows of two periods of about ``omega``: gaps in time and hands spoil few of them,
    but all of a whole clip. least: frames of a window that counts."""
    span = 4.0 * np.pi / omega
    begins = np.arange(times[0], times[-1] - span, 0.5 * span)
    windows = [(times >= begin) & (times <= begin + span) for begin in begins]
    found = [frequency(times[near], swinging[near])[0] for near in windows if int(near.sum()) > least]
    return float(np.median(found)) if found else omega


def swing_curves(omega: float, t: Row) -> Row:
    """(n, 5): curves whose sum is a free swing at the times ``t`` [s]; the second harmonic is a pendulum's height."""
    return np.stack([np.ones_like(t), *(f(n * omega * t) for n in (1, 2) for f in (np.cos, np.sin))], axis=1)
