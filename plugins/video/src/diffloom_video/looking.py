"""Kinds of motion that a track can show, each with its odds, and the part of the clip that shows it.

Each kind is a curve with a few numbers: a swing, one parabola, parabolas of one acceleration between bounces, a
straight slide that slows down until it stops. Curves are compared on the same frames by how much of the track they
leave, with a penalty for each number (Schwarz 1978); "not sure" is a curve that errs by a share of the motion's extent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from diffloom_video.free_swing import frequency
from diffloom_video.guesses import LEAST_THROW, LONGEST_SWING, find_bounces, find_first_bounce, fit_robustly
from diffloom_video.wide_swing import fit_circle, fit_wide_swing

__all__ = ["UNSURE", "Candidate", "describe_odds", "find_arcs", "find_moving_part", "list_candidates"]

Row = NDArray[np.float64]
#: Kind of a motion that no curve describes.
UNSURE = "not sure"
#: Error of a track that is never undercut [px], and error of "not sure" as a share of the extent and at least [px].
FINE, ROUGH, ROUGH_PIXELS = 0.2, 0.04, 0.6
#: Frames that count as independent at most, because errors of neighbouring frames are alike.
INDEPENDENT = 40
#: Smallest number of frames of an arc after a bounce, and smallest rise after it [px].
ARC, RISE = 4, 2.0
#: Smallest share of the moving part that bounces must describe.
LEAST_SHARE = 0.6
#: Smallest sagitta of a parabola in errors of the track, and periods of a swing that must be seen.
BENDS, PERIODS = 5.0, 1.2
#: Numbers of a pendulum of any amplitude.
WIDE_NUMBERS = 10
#: Strength of gravity [m/s^2].
GRAVITY = 9.81
#: Radius in which an object rests [px], and smallest number of frames of a rest.
STILL, RESTS = 0.8, 4


@dataclass(frozen=True)
class Candidate:
    """A kind of motion that a track may show.

    Args:
        kind: "pendulum", "throw", "bounces", "slide" or "not sure".
        odds: Probability relative to the other candidates.
        begin: Begin of the part that shows it [s].
        duration: Duration of that part [s].
        sentence: Description, for people.
        bounces: Number of bounces that can be fitted.
        error: Error of the curve [px].
        scale: Pixels per metre if gravity is 9.81 m/s^2 and the clip is played at its true speed; 0 if gravity tells
            nothing.
    """

    kind: str
    odds: float
    begin: float
    duration: float
    sentence: str
    bounces: int = 0
    error: float = 0.0
    scale: float = 0.0


@dataclass(frozen=True)
class _Curve:
    """A curve through a track: its error [px], its number of numbers, and the part that it is about."""

    kind: str
    error: float
    numbers: int
    part: tuple[int, int]
    sentence: str
    bounces: int = 0
    scale: float = 0.0


def find_moving_part(column: Row, row: Row) -> tuple[int, int]:
    """Find the frames between a rest at the beginning of a track and a rest at its end.

    Args:
        column: (n,) [px].
        row: (n,) [px].

    Returns:
        First frame and last + 1; the whole track where nothing rests or nothing moves.
    """

    def rest(x: Row, y: Row) -> int:
        """Frames from the beginning on that stay within a circle around their first ones."""
        near = np.hypot(x - np.median(x[:RESTS]), y - np.median(y[:RESTS])) < STILL
        count = len(near) if near.all() else int(near.argmin())
        return count if count >= RESTS else 0

    first, last = rest(column, row), len(row) - rest(column[::-1], row[::-1])
    return (first, last) if last - first >= LEAST_THROW else (0, len(row))


def list_candidates(t: Row, column: Row, row: Row) -> list[Candidate]:
    """List the kinds of motion that a track may show.

    Args:
        t: (n,), times [s].
        column: (n,) [px].
        row: (n,), downwards [px].

    Returns:
        Candidates by falling odds; "not sure" is one of them, and its part is the part that moves.
    """
    first, last = find_moving_part(column, row)
    time, x, y = t[first:last], column[first:last], row[first:last]
    extent = float(np.hypot(np.ptp(x), np.ptp(y)))
    tries: Sequence[Callable[[Row, Row, Row], _Curve | None]] = (_swing, _fall, _bounce, _slide)
    curves = [curve for each in tries if (curve := each(time, x, y)) is not None]
    unsure = _Curve(UNSURE, max(ROUGH * extent, ROUGH_PIXELS), 0, (0, len(time)), f"it moves by {extent:.0f} px")
    curves.append(unsure)
    count = min(2 * len(time), INDEPENDENT)
    scores = np.array([-0.5 * count * np.log(c.error**2 + FINE**2) - 0.5 * c.numbers * np.log(count) for c in curves])
    odds = np.exp(scores - scores.max())
    odds /= odds.sum()
    found = []
    for curve, chance in zip(curves, odds, strict=True):
        low, high = curve.part
        begin, end = float(time[low]), float(time[high - 1])
        found.append(
            Candidate(
                curve.kind, float(chance), begin, end - begin, curve.sentence, curve.bounces, curve.error, curve.scale
            )
        )
    return sorted(found, key=lambda each: -each.odds)


def describe_odds(candidates: Sequence[Candidate]) -> str:
    """Return a line with the odds of all candidates that are not negligible.

    Args:
        candidates: Candidates by falling odds.

    Returns:
        The line.
    """
    told = [f"{each.kind} {each.odds:.0%}" for each in candidates if each.odds >= 0.005]
    return "odds: " + ", ".join(told)


def _error(*parts: tuple[list[Row], Row]) -> float:
    """Return the root of the weighted mean squares that curves leave of columns and rows, added up [px]."""
    total = 0.0
    for table, values in parts:
        left = fit_robustly(table, values)[1]
        total += left * float(values.var())
    return float(np.sqrt(total))


def _swing(t: Row, x: Row, y: Row) -> _Curve | None:
    """A damped swing, with the second harmonics of a pendulum."""
    if len(t) < 3 * LEAST_THROW:
        return None
    omega, _ = frequency(t, x)
    span = float(t[-1] - t[0])
    if omega * span < PERIODS * 2.0 * np.pi:
        return None
    c, s = ([f(k * omega * t) for k in range(5)] for f in (np.cos, np.sin))
    along = [np.ones_like(t), c[1], s[1], t * c[1], t * s[1], c[3], s[3]]
    high = [np.ones_like(t), c[2], s[2], t * c[2], t * s[2], t, c[1], s[1]]
    told = f"it swings sideways with a period of {2.0 * np.pi / omega:.3f} s"
    error, numbers = _error((along, x), (high, y)), len(along) + len(high) + 1
    reach = fit_circle(x, y)[2]
    if error > FINE and len(t) <= LONGEST_SWING:
        wide = fit_wide_swing(t, x, y, omega)
        if wide.error < error:
            error, numbers, omega, reach = wide.error, WIDE_NUMBERS, wide.omega, wide.reach
    return _Curve("pendulum", error, numbers, (0, len(t)), told, scale=reach * omega**2 / GRAVITY)


def _fall(t: Row, x: Row, y: Row) -> _Curve | None:
    """A throw: one parabola up to the first bounce, judged on all frames."""
    ends = _bounces(t, y)
    end = find_first_bounce(t, y)
    if end < LEAST_THROW:
        return None
    one = np.ones_like(t)
    (_, _, half), _ = fit_robustly([one[:end], t[:end], t[:end] ** 2], y[:end])
    error = _error(([one[:end], t[:end]], x[:end]), ([one[:end], t[:end], t[:end] ** 2], y[:end]))
    sagitta = 0.25 * float(half) * float(t[end - 1] - t[0]) ** 2
    if sagitta < BENDS * max(error, FINE):
        return None
    missed = _error(([one, t], x), ([one, t, t**2], y)) if ends else error
    told = f"it falls with {2.0 * half:.0f} px/s^2 until {t[end - 1]:.2f} s, off by {error:.2f} px"
    return _Curve("throw", missed, 5, (0, end), told, scale=2.0 * float(half) / GRAVITY)


def _bounces(t: Row, y: Row) -> list[int]:
    """Return the bounces that an arc of enough frames and height follows."""
    found = find_bounces(t, y)
    kept = []
    for at, after in pairwise([*found, len(t)]):
        if after - at <= ARC or float(y[at] - y[at:after].min()) < RISE:
            break
        kept.append(at)
    return kept


def find_arcs(t: Row, y: Row) -> list[tuple[int, int]]:
    """Find the arcs of free flight between bounces; frames next to a bounce belong to none.

    Args:
        t: (n,), times [s].
        y: (n,), rows [px].

    Returns:
        First frame and last + 1 of each arc.
    """
    ends = _bounces(t, y)
    if not ends:
        return [(0, find_first_bounce(t, y))]
    further = [at for at in find_bounces(t, y) if at > ends[-1]]
    until = further[0] - 1 if further else len(t)
    borders = [-2, *ends, until]
    arcs = [(low + 2, high - 1 if high < until else high) for low, high in pairwise(borders)]
    return [(low, high) for low, high in arcs if high - low >= ARC] or [(0, ends[0] - 1)]


def _bounce(t: Row, x: Row, y: Row) -> _Curve | None:
    """Arcs of one acceleration between bounces."""
    ends = _bounces(t, y)
    if not ends:
        return None
    further = [at for at in find_bounces(t, y) if at > ends[-1]]
    until = further[0] if further else len(t)
    borders = [0, *(at + 1 for at in ends), until]
    if min(high - low for low, high in pairwise(borders[:2])) < ARC - 1:
        return None
    columns, rows = list[Row](), list[Row]()
    count = len(borders) - 1
    for k, (low, high) in enumerate(pairwise(borders)):
        inside = np.zeros(until)
        inside[low:high] = 1.0
        columns += [inside, inside * (t[:until] - t[low])]
        rows += [inside, inside * (t[:until] - t[low])]
        if k == 0:
            bend = np.zeros(until)
        bend[low:high] = (t[low:high] - t[low]) ** 2
    # Frames next to a bounce are between two arcs.
    far = np.ones(until, bool)
    for at in ends:
        far[max(0, at - 1) : at + 2] = False
    if until < LEAST_SHARE * len(t):
        return None
    table = [each[far] for each in rows]
    error = _error(([each[far] for each in columns], x[:until][far]), ([*table, bend[far]], y[:until][far]))
    times = "once" if count == 2 else f"{count - 1} times"
    told = f"it falls and bounces {times}, off by {error:.2f} px"
    return _Curve("bounces", error, 4 * count + 1, (0, until), told, count - 1)


def _slide(t: Row, x: Row, y: Row) -> _Curve | None:
    """A straight path across the image, with a speed that falls evenly until it stops."""
    if np.ptp(x) < 4.0 * max(np.ptp(y), 1.0) or len(t) < LEAST_THROW:
        return None
    one, best = np.ones_like(t), (np.inf, len(t))
    for end in range(LEAST_THROW, len(t) + 1):
        since = np.minimum(t, t[end - 1]) - t[end - 1]
        table = [one, since**2] if end < len(t) else [one, t, t**2]
        error = _error((table, x), ([one, x], y))
        best = min(best, (error, end))
    told = f"it moves straight across the image by {np.ptp(x):.0f} px and slows down, off by {best[0]:.2f} px"
    return _Curve("slide", best[0], 5, (0, len(t)), told)
