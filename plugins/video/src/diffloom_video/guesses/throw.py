"""A thrown ball's starts from its tracks: the parabola of its first arc."""

from __future__ import annotations

import numpy as np

from diffloom.interfaces import InputError
from diffloom_video.guesses.sight import Row, Sighting, through

#: Least frames of an arc, and the loss of downward speed [px/s] in relation to its own that tells a bounce.
LEAST = 5


def guess_throw(
    seen: Sighting, *, radius: float = 0.03, gravity: float = 9.81, ruler: str = "size"
) -> dict[str, float]:
    """Starts for one ball of the model "rigid" over its ground, moving in the image plane.

    radius: of the ball [m]. ruler: "size", the known radius gives the scale and gravity is found; or "gravity", its
    known strength [m/s^2] gives the scale. The origin lies on the ground where the ball first bounces, or where it is
    seen last.
    """
    if ruler not in ("size", "gravity"):
        raise InputError(f"guess 'throw': got ruler={ruler!r}; expected size or gravity")
    t, (column, row, wide) = seen.times, seen.tracks
    end = first_bounce(t, row)
    arc = slice(0, end)
    if end < LEAST:
        raise InputError(f"guess 'throw': the ball bounces after {end} frames; begin earlier, or later")
    one = np.ones_like(t[arc])
    (x, vx), _ = through([one, t[arc]], column[arc])
    (y, vy, half), _ = through([one, t[arc], t[arc] ** 2], row[arc])
    falls = max(2.0 * float(half), 1e-6)
    scale = float(np.median(wide[arc])) / radius if ruler == "size" else falls / gravity
    last = min(end, len(t) - 1)
    place = seen.place(scale, float(column[last]), float(max(row[arc].max(), row[last])) + radius * scale)
    return {
        "position.x": (float(x) - float(column[last])) / scale,
        "position.y": (float(max(row[arc].max(), row[last])) - float(y)) / scale + radius,
        "velocity.x": float(vx) / scale,
        "velocity.y": -float(vy) / scale,
        "gravity.y": -falls / scale,
        "appearance.size": float(np.median(wide[arc])) / (radius * scale),
        **place,
    }


def first_bounce(t: Row, row: Row) -> int:
    """How many frames come before the first bounce: all where there is none."""
    speed = np.diff(row) / np.diff(t)
    for k in range(1, len(speed)):
        if speed[k - 1] > 0.0 and speed[k] < -0.2 * speed[max(0, k - 2) : k].max():
            return k
    return len(row)
