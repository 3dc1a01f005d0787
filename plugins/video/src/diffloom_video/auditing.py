"""Does a track obey one physical law? Time that runs unevenly, frames that are missing, energy that grows.

The law of the most likely kind of motion is fitted with free acceleration and scale. A clock that errs by tau(t) moves
the object by tau times its velocity, so columns of velocity times polynomials, or times steps, show a clock that runs
unevenly or leaps. Constant and linear errors of the clock only change the scale and are left to the law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from diffloom_video.looking import UNSURE, Candidate, find_arcs, list_candidates
from diffloom_video.wide_swing import fit_swing_path

__all__ = ["Audit", "audit_track"]

Row = NDArray[np.float64]
#: Orders of the polynomials of a clock that runs unevenly.
ORDERS = (2, 3, 4)
#: Least significance of an uneven clock, a leap and growing energy, in deviations.
UNEVEN, LEAP, GROWTH = 6.0, 7.0, 4.0
#: Least change of the clock's rate, leap in frames, and growth of speed by a bounce or of the swing by a period.
RATE_CHANGE, LEAP_FRAMES, BOUNCE_GROWTH, SWING_GROWTH = 0.06, 0.5, 0.03, 0.003
#: Smallest number of frames of an arc after the first.
LEAST_ARC = 6
#: Least error of a track [px], and as a share of the extent of the motion; cameras and outlines are the cause.
FLOOR, FLOOR_SHARE = 0.04, 0.002
#: Most arcs of a bouncing ball; later ones are low.
MOST_ARCS = 4


@dataclass(frozen=True)
class Audit:
    """Judgement of a track.

    Args:
        kind: Kind of motion whose law was fitted.
        consistent: True if nothing contradicts the law.
        findings: Sentences on contradictions; one sentence on the law if there are none.
        error: Error of the law [px].
    """

    kind: str
    consistent: bool
    findings: tuple[str, ...]
    error: float

    def __str__(self) -> str:
        return f"{'consistent' if self.consistent else 'NOT CONSISTENT'}: {'; '.join(self.findings)}"


@dataclass(frozen=True)
class _Law:
    """A fitted law, linearised: residuals, slopes, velocities and times of its frames."""

    left: Row
    slopes: Row
    velocity: Row
    times: Row
    growth: tuple[tuple[str, float, float, float], ...]
    extent: float


def audit_track(t: Row, column: Row, row: Row) -> Audit:
    """Judge whether a track obeys one physical law.

    Args:
        t: (n,), times [s].
        column: (n,) [px].
        row: (n,), downwards [px].

    Returns:
        The judgement.
    """
    best = list_candidates(t, column, row)[0]
    if best.kind == UNSURE:
        return Audit(UNSURE, False, (f"no law of ours explains it: {best.sentence}",), best.error)
    inside = (t >= best.begin - 1e-9) & (t <= best.begin + best.duration + 1e-9)
    time, x, y = t[inside], column[inside], row[inside]
    law = {"pendulum": _pendulum_law, "slide": _slide_law}.get(best.kind, _flight_law)(time, x, y, best)
    sigma, inflation = _noise(law)
    found = [*_judge_clock(law, sigma, inflation), *_judge_growth(law, inflation)]
    error = float(np.sqrt(np.mean(law.left**2)))
    return Audit(best.kind, not found, tuple(found) or (f"a {best.kind} explains it to {error:.2f} px",), error)


def _stack(x: Row, y: Row) -> Row:
    return np.concatenate([x, y])


def _flight_law(t: Row, x: Row, y: Row, best: Candidate) -> _Law:
    """Arcs of one acceleration; frames next to a bounce are left out."""
    first, *later = find_arcs(t, y)
    later = later[: MOST_ARCS - 1] if best.kind != "throw" else []
    arcs = [first, *(arc for arc in later if arc[1] - arc[0] >= LEAST_ARC)]
    times = np.concatenate([t[low:high] for low, high in arcs])
    n, k = len(times), len(arcs)
    slopes, velocity, at = np.zeros((2 * n, 4 * k + 1)), np.zeros(2 * n), 0
    seen = _stack(
        np.concatenate([x[low:high] for low, high in arcs]), np.concatenate([y[low:high] for low, high in arcs])
    )
    middles = []
    for number, (low, high) in enumerate(arcs):
        rows = np.arange(at, at + high - low)
        since = t[low:high] - 0.5 * (t[low] + t[high - 1])
        middles.append(0.5 * (t[low] + t[high - 1]))
        slopes[rows, 4 * number], slopes[rows, 4 * number + 1] = 1.0, since
        slopes[n + rows, 4 * number + 2], slopes[n + rows, 4 * number + 3] = 1.0, since
        slopes[n + rows, 4 * k] = 0.5 * since**2
        at += high - low
    found: Row = np.asarray(np.linalg.lstsq(slopes, seen, rcond=None)[0], np.float64)
    at = 0
    for number, (low, high) in enumerate(arcs):
        rows = np.arange(at, at + high - low)
        velocity[rows] = found[4 * number + 1]
        velocity[n + rows] = found[4 * number + 3] + found[4 * k] * slopes[n + rows, 4 * number + 3]
        at += high - low
    growth = _bounce_growths(found, slopes, seen - slopes @ found, middles, k)
    return _in_perspective(seen, slopes, velocity, times, growth)


def _in_perspective(
    seen: Row, slopes: Row, velocity: Row, times: Row, growth: Sequence[tuple[str, float, float, float]]
) -> _Law:
    """Return a law in the image of a camera that looks at the plane of the motion from an angle, to first order."""
    n = len(times)
    middle = np.repeat([seen[:n].mean(), seen[n:].mean()], n)
    x, y = (seen - middle)[:n], (seen - middle)[n:]
    size = max(float(np.hypot(np.ptp(x), np.ptp(y))), 1.0)
    bent = np.stack([_stack(x * x, x * y), _stack(x * y, y * y)], axis=1) / size
    slopes = np.concatenate([slopes, bent], axis=1)
    return _Law(
        seen - slopes @ np.linalg.lstsq(slopes, seen, rcond=None)[0], slopes, velocity, times, tuple(growth), size
    )


def _bounce_growths(
    found: Row, slopes: Row, left: Row, middles: Sequence[float], k: int
) -> list[tuple[str, float, float, float]]:
    """Return name, growth of the vertical speed, its deviation and the least growth that counts, for each bounce."""
    spread = np.linalg.pinv(slopes.T @ slopes) * float(left @ left) / max(1, len(left) - slopes.shape[1])
    told = []
    for number in range(k - 1):

        def restitution(p: Row, number: int = number) -> float:
            """Speed after the bounce over that before, at the time when both arcs are at one height."""
            g = p[4 * k]
            (y0, v0), (y1, v1) = p[4 * number + 2 : 4 * number + 4], p[4 * number + 6 : 4 * number + 8]
            m0, m1 = middles[number], middles[number + 1]
            # Both arcs have acceleration g, so that their difference is linear in time.
            slope = (v0 - g * m0) - (v1 - g * m1)
            level = (y0 - v0 * m0 + 0.5 * g * m0**2) - (y1 - v1 * m1 + 0.5 * g * m1**2)
            at = -level / slope if slope else 0.5 * (m0 + m1)
            return float(-(v1 + g * (at - m1)) / (v0 + g * (at - m0)))

        here = restitution(found)
        ways = np.array([(restitution(found + step) - here) / step.sum() for step in 1e-5 * np.eye(len(found))])
        deviation = float(np.sqrt(max(ways @ spread @ ways, 0.0)))
        told.append((f"energy grows at bounce {number + 1}: speed by", here - 1.0, deviation, BOUNCE_GROWTH))
    return told


def _slide_law(t: Row, x: Row, y: Row, best: Candidate) -> _Law:
    """A straight slide that slows down evenly until it stops; the time of the stop is the one that fits best."""
    n, tries = len(t), []
    for end in range(5, n + 1):
        since = np.minimum(t, t[end - 1]) - t[end - 1]
        table = np.stack([np.ones(n), since**2] if end < n else [np.ones(n), since, since**2], axis=1)
        found = np.linalg.lstsq(table, x, rcond=None)[0]
        tries.append((float(np.sum((x - table @ found) ** 2)), end, found, table, since))
    _, end, found, table, since = min(tries, key=lambda each: each[0])
    bend = float(found[-1])
    speed = 2.0 * bend * since + (0.0 if end < n else float(found[1]))
    across = np.stack([np.ones(n), x], axis=1)
    drift = np.linalg.lstsq(across, y, rcond=None)[0]
    slopes = np.zeros((2 * n, table.shape[1] + 3))
    slopes[:n, : table.shape[1]], slopes[:n, -1], slopes[n:, -3:-1] = table, speed, across
    slopes[n:, -1] = drift[1] * speed
    left = _stack(x - table @ found, y - across @ drift)
    spread = np.linalg.pinv(slopes.T @ slopes) * float(left @ left) / max(1, len(left) - slopes.shape[1])
    way = float(np.sign(x[-1] - x[0]))
    span = max(float(np.abs(speed).max()), 1e-9)
    growth = 2.0 * bend * way * float(t[end - 1] - t[0]) / span
    deviation = 2.0 * float(np.sqrt(spread[table.shape[1] - 1, table.shape[1] - 1])) * float(t[end - 1] - t[0]) / span
    told = ("energy grows along the slide: speed by", growth, deviation, 0.1)
    return _Law(left, slopes, _stack(speed, drift[1] * speed), t, (told,), float(np.ptp(x)))


def _pendulum_law(t: Row, x: Row, y: Row, best: Candidate) -> _Law:
    """A damped pendulum of any amplitude in a squeezed and tilted image."""
    path = fit_swing_path(t, x, y)
    spread = np.linalg.pinv(path.slopes.T @ path.slopes)
    spread = spread * float(path.left @ path.left) / max(1, len(path.left) - path.slopes.shape[1])
    period = 2.0 * np.pi / path.omega
    growth, deviation = (
        -0.5 * path.damping * period,
        0.5 * float(np.sqrt(spread[path.damping_at, path.damping_at])) * period,
    )
    told = ("energy grows along the swing: its amplitude, each period, by", growth, deviation, SWING_GROWTH)
    return _Law(path.left, path.slopes, path.velocity, t, (told,), float(np.hypot(np.ptp(x), np.ptp(y))))


def _noise(law: _Law) -> tuple[float, float]:
    """Return the error of a sample [px] beside the law, an uneven clock and the strongest leap of it, and the factor by
    which alike neighbours widen deviations.
    """
    basis = np.linalg.qr(law.slopes)[0]
    at = _strongest_leap(law, law.left - basis @ (basis.T @ law.left), basis, 1.0)[0]
    leap = law.velocity * np.tile(law.times >= at, 2)
    table = np.concatenate([law.slopes, _clock_columns(law), leap[:, None]], axis=1)
    rest = law.left - table @ np.linalg.lstsq(table, law.left, rcond=None)[0]
    n = len(law.times)
    free = max(1, len(rest) - table.shape[1])
    sigma = max(float(np.sqrt(rest @ rest / free)), FLOOR, FLOOR_SHARE * law.extent)
    pairs = [float(part[1:] @ part[:-1]) / max(float(part @ part), 1e-12) for part in (rest[:n], rest[n:])]
    alike = float(np.clip(np.mean(pairs), 0.0, 0.8))
    return sigma, float(np.sqrt((1.0 + alike) / (1.0 - alike)))


def _clock_columns(law: _Law) -> Row:
    """Return velocity times the polynomials of an uneven clock, (2n, orders)."""
    s = 2.0 * (law.times - law.times[0]) / (law.times[-1] - law.times[0]) - 1.0
    curves = [legendre.legval(s, np.eye(order + 1)[order]) for order in ORDERS]
    return np.stack([law.velocity * np.tile(curve, 2) for curve in curves], axis=1)


def _judge_clock(law: _Law, sigma: float, inflation: float) -> list[str]:
    """Judge whether the clock runs evenly: against polynomials, then against single leaps."""
    columns = _clock_columns(law)
    basis = np.linalg.qr(law.slopes)[0]
    left = law.left - basis @ (basis.T @ law.left)
    inner = columns - basis @ (basis.T @ columns)
    found, *_ = np.linalg.lstsq(inner, left, rcond=None)
    explained = float(np.sum((inner @ found) ** 2))
    strength = np.sqrt(explained) / (sigma * inflation)
    span = float(law.times[-1] - law.times[0])
    s = np.linspace(-0.9, 0.9, 19)
    rate = sum(
        c * legendre.legval(s, legendre.legder(np.eye(order + 1)[order]))
        for c, order in zip(found, ORDERS, strict=True)
    )
    change = float(np.ptp(np.asarray(rate))) * 2.0 / span
    at, size, single = _strongest_leap(law, left, basis, sigma * inflation)
    step = float(np.median(np.diff(law.times)))
    if single > LEAP and abs(size) > LEAP_FRAMES * step and single > 0.9 * strength:
        kind = "frames are missing" if size > 0.0 else "frames are repeated"
        return [f"{kind} at {at:.2f} s: the clock leaps by {abs(size) / step:.1f} frames ({single:.0f} deviations)"]
    if strength > UNEVEN and change > RATE_CHANGE:
        return [
            f"g changes along the clip: its clock's rate varies by {100.0 * change:.0f} % ({strength:.0f} deviations)"
        ]
    return []


def _strongest_leap(law: _Law, left: Row, basis: Row, sigma: float) -> tuple[float, float, float]:
    """Return time, size [s] and strength in deviations of the leap of the clock that explains most."""
    best, n = (0.0, 0.0, 0.0), len(law.times)
    for k in range(3, n - 3):
        late = np.tile(np.arange(n) >= k, 2)
        column = law.velocity * late
        column = column - basis @ (basis.T @ column)
        length = float(np.sqrt(column @ column))
        if length < 1e-9:
            continue
        strength = float(column @ left) / length / sigma
        if abs(strength) > best[2]:
            best = (float(law.times[k]), strength * sigma / length, abs(strength))
    return best


def _judge_growth(law: _Law, inflation: float) -> list[str]:
    """Judge whether energy grows somewhere."""
    return [
        f"{name} {100.0 * value:.1f} %"
        for name, value, deviation, least in law.growth
        if value > least and value > GROWTH * inflation * deviation
    ]
