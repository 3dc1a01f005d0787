"""First guesses of unknowns from the tracks of a video: bounces, pendulums, throws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom_fitting.scene import Scene
from diffloom_fitting.targets import Target, get_tracks
from diffloom_video.free_swing import frequency
from diffloom_video.wide_swing import fit_wide_swing

__all__ = ["GUESSES", "WINDOWS", "measure_colour", "measure_sighting"]

Row = NDArray[np.float64]


@dataclass(frozen=True)
class Sighting:
    """Tracks of the frames that show the object, with the camera's constants.

    Args:
        times: (n,), times of the simulation [s].
        tracks: (3, n), column, row and radius [px].
        focal: Focal length of the camera [px].
        height: Height of its images [px].
        width: Width of its images [px].
        elevation: Elevation of the camera [rad].
    """

    times: Row
    tracks: Row
    focal: float
    height: int
    width: int
    elevation: float = 0.0

    def upright(self, radius: float) -> tuple[Row, Row, float]:
        """Reconstruct the path of a ball in the vertical plane across the view.

        Args:
            radius: Known radius of the ball [m].

        Returns:
            x and y (n,) [m] from the point that the camera aims at, and the camera's distance from it [m].
        """
        column, row, wide = self.tracks
        right, up = (column - 0.5 * self.width) / self.focal, (0.5 * self.height - row) / self.focal
        sine, cosine = float(np.sin(self.elevation)), float(np.cos(self.elevation))
        y = up / (cosine + up * sine)  # in units of the distance, which is still unknown
        distance = float(np.median(self.focal * radius / wide / (1.0 - y * sine)))
        return right * (1.0 - y * sine) * distance, y * distance, distance

    def place(self, scale: float, column: float, row: float) -> dict[str, float]:
        """Return the orbit camera that shows the world's origin at a pixel, with ``scale`` pixels per metre there."""
        return {
            "camera.distance": self.focal / scale,
            "camera.target.x": (0.5 * self.width - column) / scale,
            "camera.target.y": (row - 0.5 * self.height) / scale,
        }


def fit_robustly(columns: list[Row], values: Row, rounds: int = 4) -> tuple[Row, float]:
    """Fit ``values`` by ``columns`` with iteratively reweighted least squares (Cauchy weights).

    Args:
        columns: Columns (n,) of the design matrix.
        values: (n,), samples.
        rounds: Number of iterations.

    Returns:
        The coefficients, and the weighted mean square residual relative to the variance of the values.
    """
    table = np.stack(columns, axis=1)
    weight = np.ones(len(values))
    for _ in range(rounds):
        root = np.sqrt(weight)
        found = np.asarray(np.linalg.lstsq(table * root[:, None], values * root, rcond=None)[0], np.float64)
        rest = values - table @ found
        size = 1.4826 * float(np.median(np.abs(rest))) + 1e-9
        weight = 1.0 / (1.0 + (rest / (3.0 * size)) ** 2)
    left = float((weight * rest**2).sum() / weight.sum())
    return found, left / max(float(values.var()), 1e-12)


#: Key of a guess that holds the times [s] at which windows after the first begin.
WINDOWS = "windows"
LEAST_ARC = 3  # smallest number of frames of an arc
BEFORE = 1  # whole frames between the beginning of a window and its bounce


def guess_bounces(seen: Sighting, *, radius: float = 0.03, count: int = 3) -> dict[str, float | list[float]]:
    """Guess the starts of one ball of the model "rigid" that bounces on its ground, moving across the view.

    Windows begin shortly before each of the first ``count`` bounces except the first one, so that each may have a
    restitution of its own. The camera aims at a point above the origin, which lies on the ground.

    Args:
        seen: Tracks of the ball.
        radius: Radius of the ball [m], which sets the scale.
        count: Number of bounces.

    Returns:
        Starts of unknowns by name, and the windows.
    """
    ends = find_bounces(seen.times, seen.tracks[1])
    if len(ends) < count:
        raise InputError(
            f"guess 'bounces': got count = {count}, but the track shows {len(ends)} bounces; lower count, or read more "
            "(target.duration)"
        )
    x, y, distance = seen.upright(radius)
    arcs = _arcs(seen.times, x, y, [-1, *ends[: count + 1], len(x)][: count + 2])
    meet = [_find_meeting_time(before, after) for before, after in pairwise(arcs)]
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
        "angular_velocity.z": [
            _guess_angular_velocity(float(before[0][0]), float(after[0][0]), radius) for before, after in pairwise(arcs)
        ],
        "camera.distance": distance,
        "camera.target.y": -ground,
    }


def _guess_angular_velocity(before: float, after: float, radius: float) -> float:
    """Return the rotation rate [rad/s] about the view by which a ball that sticks changes its sideways speed so.

    Sticking takes 2/7 of the speed of the lowest point from the centre of a solid ball: v' = v - 2/7 (v + w R).
    """
    return (5.0 * before - 7.0 * after) / (2.0 * radius)


def _speed(arc: tuple[Row, Row], at: float) -> float:
    """Return the upward speed of an arc at a time [m/s]."""
    return float(np.polyval(np.polyder(arc[1]), at))


def find_bounces(t: Row, row: Row) -> list[int]:
    """Return the frames in which the ball is lowest, one for each bounce."""
    found, first = list[int](), 0
    while (further := find_first_bounce(t[first:], row[first:])) < len(row) - first:
        found.append(first + further)
        first += further
    return found


def _arcs(t: Row, x: Row, y: Row, ends: list[int]) -> list[tuple[Row, Row]]:
    """Fit x by a line and y by a parabola in time between the bounces; coefficients from the highest power on."""
    arcs = []
    for first, last in pairwise(ends):
        part = slice(first + 1, last)
        time = t[part]
        if len(time) < LEAST_ARC:
            raise InputError(
                f"guess 'bounces': {len(time)} frames between two bounces, expected {LEAST_ARC}; lower count"
            )
        one = np.ones_like(time)
        across, _ = fit_robustly([time, one], x[part])
        along, _ = fit_robustly([time**2, time, one], y[part])
        arcs.append((across, along))
    return arcs


def _find_meeting_time(before: tuple[Row, Row], after: tuple[Row, Row]) -> float:
    """Return the time [s] at which two arcs have the same height, the first falling and the second rising."""
    for root in np.roots(before[1] - after[1]):
        if _speed(before, root.real) < 0.0 < _speed(after, root.real):
            return float(root.real)
    raise InputError("guess 'bounces': two arcs of the track do not meet; check the masks, or lower count")


def _between_frames(t: Row, at: float, before: int) -> float:
    """Return the midpoint between two frames, ``before`` frames before a time."""
    k = int(np.clip(np.searchsorted(t, at) - before, 1, len(t) - 1))
    return float(0.5 * (t[k - 1] + t[k]))


#: Sine of the amplitude from which on a swing is wide, and most frames of a track of which a wide one is fitted.
WIDE, LONGEST_SWING = 0.35, 450


def guess_pendulum(
    seen: Sighting, *, gravity: float = 9.81, bob: float = 0.02, round: bool = False
) -> dict[str, float | list[float]]:
    """Guess the starts of the builder "pendulum" with its pivot in the origin, swinging in the image plane.

    The period gives the length, L = g / omega^2; of a wide swing, the equation of motion does. The arc of the swing,
    with sagitta x^2 / (2 R), gives the radius R in pixels, and so the scale.

    Args:
        seen: Tracks of the bob.
        gravity: Strength of gravity [m/s^2].
        bob: Radius [m] of the ball that the model draws, for appearance.size.
        round: True if the bob may leave the plane: its joint has two angles, the second one starting at 0.

    Returns:
        Starts of unknowns by name.
    """
    t, (column, row, radius) = seen.times, seen.tracks
    omega, _ = frequency(t, column)
    cosine, sine = np.cos(omega * t), np.sin(omega * t)
    (middle, a, b, _, _), _ = fit_robustly([np.ones_like(t), cosine, sine, t * cosine, t * sine], column)
    swing = float(np.hypot(a, b))
    wide = fit_wide_swing(t, column, row, omega) if len(t) <= LONGEST_SWING else None
    if wide is not None and swing > WIDE * wide.reach:
        length, scale = gravity / wide.omega**2, wide.reach * wide.omega**2 / gravity
        return {
            "length": length,
            "joint_position": [wide.angle, 0.0] if round else wide.angle,
            "joint_velocity": [wide.rate, 0.0] if round else wide.rate,
            "appearance.size": float(np.median(radius)) / scale / bob,
            **seen.place(scale, wide.column, wide.row),
        }
    arc = _arc(column - middle, row, swing)
    lowest, bow = float(arc[0]), float(arc[1])
    if not 1.0 / (200.0 * swing) < bow < 1.0 / (1.2 * swing):
        # The arc is too flat to be measured: assume a swing of a tenth of a radian.
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
    """Return the lowest row, half the inverse radius of the arc, and the slope from a tilt of the image."""
    found, _ = fit_robustly([np.ones_like(across), -(across**2), across], row)
    return found


#: Smallest number of frames of a throw.
LEAST_THROW = 5


def guess_throw(
    seen: Sighting, *, radius: float = 0.03, gravity: float = 9.81, ruler: str = "size"
) -> dict[str, float]:
    """Guess the starts of one ball of the model "rigid" over its ground, moving in the image plane.

    The origin lies on the ground at the first bounce, or below the last position if there is none.

    Args:
        seen: Tracks of the ball.
        radius: Radius of the ball [m].
        gravity: Strength of gravity [m/s^2], used by the ruler "gravity".
        ruler: "size": the radius gives the scale, and gravity is guessed. "gravity": its strength gives the scale.

    Returns:
        Starts of unknowns by name.
    """
    if ruler not in ("size", "gravity"):
        raise InputError(f"guess 'throw': got ruler={ruler!r}; expected size or gravity")
    t, (column, row, wide) = seen.times, seen.tracks
    end = find_first_bounce(t, row)
    arc = slice(0, end)
    if end < LEAST_THROW:
        raise InputError(
            f"guess 'throw': the ball bounces after {end} frames, expected at least {LEAST_THROW}; change target.begin"
        )
    one = np.ones_like(t[arc])
    (x, vx), _ = fit_robustly([one, t[arc]], column[arc])
    (y, vy, half), _ = fit_robustly([one, t[arc], t[arc] ** 2], row[arc])
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


def guess_slide(seen: Sighting, *, sides: list[float], gravity: float = 9.81) -> dict[str, float]:
    """Starts for one box of the model "rigid" that slides over its level ground, moving across the view.

    sides: width, height and depth of the box [m], which are the ruler. gravity: strength [m/s^2]. The origin lies on
    the ground, below where the box is first seen.
    """
    t, (column, row, wide) = seen.times, seen.tracks
    speed = np.gradient(column, t)
    moving = np.abs(speed) > STOPPED * np.abs(speed).max()
    end = int(np.flatnonzero(moving)[-1]) + 1
    if end < LEAST_THROW:
        raise InputError(f"guess 'slide': the box stops after {end} frames; begin earlier")
    (x, vx, half), _ = fit_robustly([np.ones(end), t[:end], t[:end] ** 2], column[:end])
    scale = float(np.median(wide)) * float(np.sqrt(np.pi / (sides[0] * sides[1])))
    place = seen.place(scale, float(x), float(np.median(row)) + 0.5 * sides[1] * scale)
    slowing = -2.0 * float(half) * float(np.sign(vx)) / scale
    return {"friction": max(slowing / gravity, 0.01), "velocity.x": float(vx) / scale, **place}


#: Share of its largest speed below which a box has come to rest.
STOPPED = 0.1


def find_first_bounce(t: Row, row: Row) -> int:
    """Return the number of frames before the first bounce; all frames if there is none."""
    speed = np.diff(row) / np.diff(t)
    for k in range(1, len(speed)):
        # The step across an impact between two frames may be short: the next one counts as well.
        if speed[k - 1] > 0.0 > speed[k] and speed[k : k + 2].min() < -0.2 * speed[max(0, k - 2) : k].max():
            return k
    return len(row)


Guess = dict[str, float] | dict[str, float | list[float]]
GUESSES: Mapping[str, Callable[..., Guess]] = {
    "bounces": guess_bounces, "pendulum": guess_pendulum, "slide": guess_slide, "throw": guess_throw,
}  # fmt: skip


def measure_sighting(scene: Scene, target: Target) -> Sighting:
    """Collect the tracks of a target and the constants of the scene's camera.

    Args:
        scene: Scene with an orbit camera.
        target: Target with tracks or masks.

    Returns:
        The tracks of the frames that show the whole object.

    Raises:
        InputError: Fewer than six frames show the object, or a camera without field of view.
    """
    tracks = get_tracks(target).double().numpy()
    seen = tracks[:, 3] > 0.5
    if int(seen.sum()) < 6:
        raise InputError(f"guess: {int(seen.sum())} frames show the whole object; expected at least 6; check the masks")
    times = target.times.numpy() + scene.viewpoint.time_offset
    view = scene.viewpoint.camera
    fov = getattr(view, "fov", None)
    if fov is None:
        raise InputError('guess: the camera has no field of view; use an orbit (camera.kind = "orbit")')
    height, width = scene.size
    focal = 0.5 * height / float(np.tan(np.radians(0.5 * fov)))
    elevation = float(np.radians(getattr(view, "elevation", 0.0)))
    return Sighting(times[seen], tracks[seen, :3].T, focal, height, width, elevation)


def measure_colour(target: Target) -> dict[str, list[float]]:
    """Measure the mean colour of the object, where its mask is nearly 1.

    Args:
        target: Target with frames and masks.

    Returns:
        A start of "appearance.colour"; empty without frames, masks or pixels well inside.
    """
    if target.frames is None or target.masks is None:
        return {}
    inside = target.masks > 0.99
    if not bool(inside.any()):
        return {}
    colour = target.frames[..., :3][inside].double().mean(dim=0)
    return {"appearance.colour": colour.clamp(0.01, 0.99).tolist()}
