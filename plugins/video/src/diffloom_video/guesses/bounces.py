"""A bouncing ball's starts from its tracks: the parabolas between its bounces."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from diffloom.interfaces import InputError
from diffloom_video.guesses.sight import Row, Sighting, through
from diffloom_video.guesses.throw import first_bounce

#: The name under which a guess hands over when windows after the first begin [s].
WINDOWS = "windows"
LEAST = 3  # frames of an arc
BEFORE = 1  # whole frames between a window's begin and its bounce


def guess_bounces(seen: Sighting, *, radius: float = 0.03, count: int = 3) -> dict[str, float | list[float]]:
    """Starts for one ball of the model "rigid" that bounces on its ground, moving across the view, and windows that
    begin shortly before each of its first ``count`` bounces but the first: each may have a restitution of its own.

    radius: of the ball [m], which is the ruler. The camera aims at a point above the origin, which lies on the ground.
    """
    ends = bounces(seen.times, seen.tracks[1])
    if len(ends) < count:
        raise InputError(
            f"guess 'bounces': got count = {count}; the track shows {len(ends)} bounces; use a longer part"
        )
    x, y, distance = seen.upright(radius)
    arcs = _arcs(seen.times, x, y, [-1, *ends[: count + 1], len(x)][: count + 2])
    meet = [_meeting(before, after) for before, after in pairwise(arcs)]
    ground = float(np.median([np.polyval(arc[1], at) for arc, at in zip(arcs[:count], meet, strict=True)])) - radius
    begins = [_between_frames(seen.times, at, BEFORE) for at in meet[1:]]
    (along, height), first = arcs[0], 0.0
    fall = [(_speed(before, at), _speed(after, at)) for (before, after), at in zip(pairwise(arcs), meet, strict=True)]
    return {
        WINDOWS: begins,
        "position.x": float(np.polyval(along, first)),
        "position.y": float(np.polyval(height, first)) - ground,
        "velocity.x": float(along[0]),
        "velocity.y": _speed(arcs[0], first),
        "restitution": [min(-after / before, 0.98) for before, after in fall],
        "gravity.y": 2.0 * float(np.median([height[0] for _, height in arcs])),
        "camera.distance": distance,
        "camera.target.y": -ground,
    }


def _speed(arc: tuple[Row, Row], at: float) -> float:
    """Upwards [m/s]."""
    return float(np.polyval(np.polyder(arc[1]), at))


def bounces(t: Row, row: Row) -> list[int]:
    """The frames at which the ball is seen lowest, one for each bounce."""
    found, first = list[int](), 0
    while (further := first_bounce(t[first:], row[first:])) < len(row) - first:
        found.append(first + further)
        first += further
    return found


def _arcs(t: Row, x: Row, y: Row, ends: list[int]) -> list[tuple[Row, Row]]:
    """Polynomials in time of x (a line) and y (a parabola) between the bounces, from the highest power on."""
    arcs = []
    for first, last in pairwise(ends):
        part = slice(first + 1, last)
        time = t[part]
        if len(time) < LEAST:
            raise InputError(f"guess 'bounces': {len(time)} frames from one bounce to the next; lower count")
        one = np.ones_like(time)
        across, _ = through([time, one], x[part])
        along, _ = through([time**2, time, one], y[part])
        arcs.append((across, along))
    return arcs


def _meeting(before: tuple[Row, Row], after: tuple[Row, Row]) -> float:
    """When two arcs are at the same height [s], the first falling and the second rising."""
    for root in np.roots(before[1] - after[1]):
        if _speed(before, root.real) < 0.0 < _speed(after, root.real):
            return float(root.real)
    raise InputError("guess 'bounces': two arcs of the track do not meet; look at the masks, or lower count")


def _between_frames(t: Row, at: float, before: int) -> float:
    """The middle between two frames, so many frames before a time."""
    k = int(np.clip(np.searchsorted(t, at) - before, 1, len(t) - 1))
    return float(0.5 * (t[k - 1] + t[k]))
