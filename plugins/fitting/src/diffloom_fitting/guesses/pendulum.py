"""A pendulum's starts from its tracks: frequency, centre and the arc of its swing."""

from __future__ import annotations

import numpy as np

from diffloom.interfaces import InputError
from diffloom_fitting.guesses.sight import Row, Sighting, through


def guess_pendulum(seen: Sighting, *, gravity: float = 9.81, bob: float = 0.02) -> dict[str, float]:
    """Starts for the builder "pendulum" with its pivot in the origin, swinging in the image plane.

    The period gives the length, L = g / omega^2; the arc of the swing, whose lowest point it is and whose sagitta is
    x^2 / (2 R), the radius R in pixels, and so the scale. gravity: strength [m/s^2]. bob: radius [m] of the ball that
    the model draws, for appearance.size.
    """
    t, (column, row, radius) = seen.times, seen.tracks
    omega = _frequency(t, column)
    cosine, sine = np.cos(omega * t), np.sin(omega * t)
    (middle, a, b, _, _), _ = through([np.ones_like(t), cosine, sine, t * cosine, t * sine], column)
    swing = float(np.hypot(a, b))
    arc = _arc(column - middle, row, swing)
    lowest, bow = float(arc[0]), float(arc[1])
    if not 1.0 / (200.0 * swing) < bow < 1.0 / (1.2 * swing):
        # An arc that cannot be seen: a swing of a tenth of a radian.
        bow = 1.0 / (20.0 * swing)
    reach = 0.5 / bow
    angle = float(np.arcsin(np.clip(a / reach, -0.99, 0.99)))
    amplitude = float(np.arcsin(min(swing / reach, 0.99)))
    length = gravity / omega**2 * (1.0 - amplitude**2 / 8.0)
    scale = reach / length
    return {
        "length": length,
        "joint_position": angle,
        "joint_velocity": b * omega / reach,
        "appearance.size": float(np.median(radius)) / scale / bob,
        **seen.place(scale, float(middle), lowest - reach),
    }


def _arc(across: Row, row: Row, swing: float) -> Row:
    """Lowest row and half the inverse radius of the arc, in which a tilt of the image takes the slope."""
    found, _ = through([np.ones_like(across), -(across**2), across], row)
    return found


def _frequency(t: Row, column: Row) -> float:
    """The angular frequency [rad/s] of the sinusoid that leaves least of the columns, of 0.1 to 6 Hz."""
    span = float(t[-1] - t[0])
    highest = min(6.0, 0.45 / float(np.median(np.diff(t))))
    lowest = max(0.1, 0.4 / span)
    if not lowest < highest:
        raise InputError(f"guess 'pendulum': {span:g} s of video are too short to show a swing")
    grid = 2.0 * np.pi * np.arange(lowest, highest, 0.05 / span)
    left = [_left(t, column, omega) for omega in grid]
    best, step = float(grid[int(np.argmin(left))]), float(grid[1] - grid[0])
    for _ in range(40):
        step *= 0.75
        best = min((best - step, best, best + step), key=lambda omega: _left(t, column, omega))
    return best


def _left(t: Row, column: Row, omega: float) -> float:
    return through([np.ones_like(t), np.cos(omega * t), np.sin(omega * t)], column, rounds=1)[1]
