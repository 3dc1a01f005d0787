"""A pendulum's starts from its tracks: frequency, centre and the arc of its swing."""

from __future__ import annotations

import numpy as np

from diffloom_video.guesses.sight import Row, Sighting, through
from diffloom_video.oscillation import frequency


def guess_pendulum(
    seen: Sighting, *, gravity: float = 9.81, bob: float = 0.02, round: bool = False
) -> dict[str, float | list[float]]:
    """Starts for the builder "pendulum" with its pivot in the origin, swinging in the image plane.

    The period gives the length, L = g / omega^2; the arc of the swing, whose lowest point it is and whose sagitta is
    x^2 / (2 R), the radius R in pixels, and so the scale. gravity: strength [m/s^2]. bob: radius [m] of the ball that
    the model draws, for appearance.size. round: the bob may leave the plane: its joint has two angles, the second of
    which begins at 0.
    """
    t, (column, row, radius) = seen.times, seen.tracks
    omega, _ = frequency(t, column)
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
    rate = float(b * omega / reach)
    return {
        "length": length,
        "joint_position": [angle, 0.0] if round else angle,
        "joint_velocity": [rate, 0.0] if round else rate,
        "appearance.size": float(np.median(radius)) / scale / bob,
        **seen.place(scale, float(middle), lowest - reach),
    }


def _arc(across: Row, row: Row, swing: float) -> Row:
    """Lowest row and half the inverse radius of the arc, in which a tilt of the image takes the slope."""
    found, _ = through([np.ones_like(across), -(across**2), across], row)
    return found
