"""Pendulums of any amplitude in a track: a circle, and the equation of motion along it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from diffloom_video.free_swing import frequency

__all__ = ["SwingPath", "WideSwing", "fit_circle", "fit_swing_path", "fit_wide_swing"]

Row = NDArray[np.float64]


@dataclass(frozen=True)
class WideSwing:
    """A damped pendulum of any amplitude, in pixels.

    Args:
        column: Column of the pivot [px].
        row: Row of the pivot [px].
        reach: Distance of the bob from the pivot [px].
        angle: Angle from the vertical, to the right, at the first frame [rad].
        rate: Its rate at the first frame [rad/s].
        omega: Angular frequency of a narrow swing [rad/s].
        error: Error of the path [px].
    """

    column: float
    row: float
    reach: float
    angle: float
    rate: float
    omega: float
    error: float


def fit_wide_swing(t: Row, x: Row, y: Row, omega: float) -> WideSwing:
    """Fit a damped pendulum of any amplitude, whose path may look squeezed, to a track.

    Args:
        t: (n,), times [s].
        x: (n,), columns [px].
        y: (n,), rows [px].
        omega: Rough angular frequency [rad/s].

    Returns:
        The pendulum.
    """
    column, row, reach = fit_circle(x, y)
    angle = np.arctan2(x - column, y - row)
    rate = float(np.polyfit(t[:4] - t[0], np.unwrap(angle[:4]), 1)[0])
    # A wide swing is slower than a narrow one.
    start = [column, row, reach, 1.0, 0.0, angle[0], rate, omega * (1.0 + np.ptp(angle) ** 2 / 64.0), 0.0, 0.0]

    def left(p: Row) -> Row:
        turned = _swing_angles(t, *(float(each) for each in p[5:]))
        return np.concatenate([p[0] + p[2] * np.sin(turned) - x, p[1] + p[3] * p[2] * np.cos(turned + p[4]) - y])

    scale = np.array([reach, reach, reach, 1.0, 0.3, 0.3, omega, 0.1 * omega, 0.1 * omega, 0.1])
    found = least_squares(left, np.array(start), x_scale=scale, loss="cauchy", f_scale=1.0, max_nfev=60)
    p = [float(each) for each in found.x]
    error = float(np.sqrt(2.0) * 1.4826 * np.median(np.abs(found.fun)))
    return WideSwing(p[0], p[1], p[2], p[5], p[6], abs(p[7]), error)


@dataclass(frozen=True)
class SwingPath:
    """A damped pendulum through a track, linearised for tests.

    Args:
        left: (2n,), residuals of columns, then of rows [px].
        slopes: (2n, k), slopes of the path by the numbers of the pendulum.
        velocity: (2n,), velocity of the path [px/s].
        omega: Angular frequency of a narrow swing [rad/s].
        damping: Damping [1/s]; the amplitude decays with half of it.
        damping_at: Number of the damping among the columns of ``slopes``.
    """

    left: Row
    slopes: Row
    velocity: Row
    omega: float
    damping: float
    damping_at: int


def fit_swing_path(t: Row, x: Row, y: Row) -> SwingPath:
    """Fit a damped pendulum whose image is any affine image of its plane.

    Args:
        t: (n,), times [s].
        x: (n,), columns [px].
        y: (n,), rows [px].

    Returns:
        The pendulum.
    """
    first = fit_wide_swing(t, x, y, frequency(t, x)[0])
    n = len(t)

    def shape(p: Row) -> Row:
        angle, rate, omega, damping = map(float, p)
        turned = _swing_angles(t, angle, rate, omega, damping, 0.0)
        return np.stack([np.ones(n), np.sin(turned), np.cos(turned)], axis=1)

    def image(p: Row) -> tuple[Row, Row, Row]:
        table = shape(p)
        a, b = (np.asarray(np.linalg.lstsq(table, each, rcond=None)[0], np.float64) for each in (x, y))
        return np.concatenate([table @ a, table @ b]), a, b

    seen = np.concatenate([x, y])
    begin = np.array([first.angle, first.rate, first.omega, 0.0])
    scale = np.array([0.3, first.omega, 0.1 * first.omega, 0.1 * first.omega])
    p = least_squares(lambda p: image(p)[0] - seen, begin, x_scale=scale, max_nfev=40).x
    drawn, a, b = image(p)
    table, steps = shape(p), 1e-6 * scale
    moved = [np.concatenate([s @ a, s @ b]) for s in (shape(p + way) for way in np.diag(steps))]
    own = np.stack([(each - drawn) / step for each, step in zip(moved, steps, strict=True)], axis=1)
    none = np.zeros_like(table)
    slopes = np.concatenate([own, np.block([[table, none], [none, table]])], axis=1)
    velocity = np.concatenate([np.gradient(drawn[:n], t), np.gradient(drawn[n:], t)])
    return SwingPath(seen - drawn, slopes, velocity, abs(float(p[2])), float(p[3]), 3)


def fit_circle(x: Row, y: Row) -> tuple[float, float, float]:
    """Fit a circle to a path (Kasa 1976).

    Args:
        x: (n,), columns [px].
        y: (n,), rows [px].

    Returns:
        Column, row and radius [px].
    """
    table = np.stack([x, y, np.ones_like(x)], axis=1)
    a, b, c = (float(each) for each in np.linalg.lstsq(table, x**2 + y**2, rcond=None)[0])
    return 0.5 * a, 0.5 * b, float(np.sqrt(max(c + 0.25 * (a * a + b * b), 1.0)))


def _swing_angles(t: Row, angle: float, rate: float, omega: float, damping: float, drag: float) -> Row:
    """Return the angles (n,) of a pendulum with damping and drag at times ``t``, by the classical Runge-Kutta rule."""

    def slope(state: Row) -> Row:
        u = state[1]
        return np.array([u, -(omega**2) * np.sin(state[0]) - damping * u - drag * abs(u) * u])

    state, found = np.array([angle, rate]), np.empty(len(t))
    found[0] = angle
    for k, step in enumerate(np.diff(t)):
        parts = max(1, int(np.ceil(step * omega / 0.3)))
        h = step / parts
        for _ in range(parts):
            a = slope(state)
            b = slope(state + 0.5 * h * a)
            c = slope(state + 0.5 * h * b)
            state = np.clip(state + h / 6.0 * (a + 2.0 * b + 2.0 * c + slope(state + h * c)), -1e3, 1e3)
        found[k + 1] = state[0]
    return found
