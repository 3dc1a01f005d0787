"""Study of the auditor: share of altered clips that it finds, and of unaltered clips that it blames.

Tracks are those of the made clips of `made_clips.py`, as their cameras see them at 240 pixels, with the errors that
`made_mattes.py` finds of mattes: 0.05 px that is new in each frame and 0.04 px that neighbouring frames share. Frames
are altered as editors do: played with an uneven speed, backwards, with frames cut out, or with energy added by the
law. A throw backwards is a throw, so it is not counted.

    python experiments/audit_study.py                # seeds for development
    python experiments/audit_study.py --unseen       # seeds that were looked at once
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from made_clips import GRAVITY, HEIGHT, WIDTH, Clip, draw_clip
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from diffloom_video.auditing import audit_track

Array = NDArray[np.float64]
KINDS = ("throw-size", "bounce", "pendulum", "slide")
SCALE = 240.0 / WIDTH
WHITE, SHARED, ALIKE = 0.05, 0.04, 0.7
ALTERED = ("warped", "backwards", "cut", "energy")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--count", type=int, default=20, help="clips of each kind")
    given = parser.parse_args()
    first = 91_000 if given.unseen else 500
    tally: dict[tuple[str, str], list[bool]] = {}
    for kind in given.kinds:
        for seed in range(first, first + given.count):
            for how in ("as made", *ALTERED):
                track = altered(draw_clip(kind, seed), how, np.random.default_rng(seed + 17))
                if track is None:
                    continue
                found = audit_track(*track)
                tally.setdefault((kind, how), []).append(not found.consistent)
                if found.consistent == (how != "as made"):
                    print(f"{kind} {seed}, {how}: {found}")
    for (kind, how), blamed in tally.items():
        print(f"{kind}, {how}: {sum(blamed)} of {len(blamed)} called inconsistent")
    for name, wanted in (("false alarms", {"as made"}), ("altered clips found", set(ALTERED))):
        flags = [flag for (_, how), blamed in tally.items() if how in wanted for flag in blamed]
        print(f"{name}: {sum(flags)} of {len(flags)}, {100.0 * np.mean(flags):.1f} %")


def altered(clip: Clip, how: str, random: np.random.Generator) -> tuple[Array, Array, Array] | None:
    """Return times, columns and rows of a clip after an alteration; None where the alteration is no contradiction."""
    if how == "energy":
        clip_or_none = with_energy(clip, random)
        if clip_or_none is None:
            return None
        clip = clip_or_none
    if how == "backwards" and clip.kind.startswith("throw"):
        return None
    t, x, y = track_of(clip, random)
    n = len(t)
    shown = np.arange(n)
    if how == "backwards":
        shown = shown[::-1]
    elif how == "cut":
        gap, at = int(random.integers(3, 7)), int(random.uniform(0.3, 0.7) * n)
        shown = np.delete(shown, np.arange(at, at + gap))
    elif how == "warped":
        depth = random.uniform(0.2, 0.4) * (1.0 if random.random() < 0.5 else -1.0)
        s = np.linspace(0.0, 1.0, n)
        shown = np.clip(np.round((n - 1) * (s + depth * np.sin(2.0 * np.pi * s) / (2.0 * np.pi))), 0, n - 1).astype(int)
    return t[: len(shown)], x[shown], y[shown]


def track_of(clip: Clip, random: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return times and the track of the frames in which the whole object is in the image."""
    t = np.arange(int(clip.duration * clip.rate) + 1) / clip.rate
    seen = np.array([clip.lens.image_of(place) for place in clip.place(t)])
    radius = clip.lens.focal * clip.half[0] / seen[:, 2]
    inside = (seen[:, 0] > radius) & (seen[:, 0] < WIDTH - radius) & (seen[:, 1] > radius)
    inside &= seen[:, 1] < HEIGHT - radius
    noise = np.zeros((len(t), 2))
    for k in range(1, len(t)):
        noise[k] = ALIKE * noise[k - 1] + SHARED * np.sqrt(1.0 - ALIKE**2) * random.standard_normal(2)
    noise += WHITE * random.standard_normal(noise.shape)
    track = SCALE * seen[:, :2] + noise
    return t[inside] - t[inside][0], track[inside, 0], track[inside, 1]


def with_energy(clip: Clip, random: np.random.Generator) -> Clip | None:
    """Return a clip whose law adds energy: a bounce that is faster than the fall, a swing that grows."""
    made: dict[str, Callable[[Array], Array]] = {}
    if clip.kind == "bounce":
        made["bounce"] = springy(clip, random.uniform(1.08, 1.3))
    elif clip.kind == "pendulum":
        made["pendulum"] = growing(clip, random.uniform(0.03, 0.1))
    return replace(clip, place=made[clip.kind]) if clip.kind in made else None


def springy(clip: Clip, gain: float) -> Callable[[Array], Array]:
    """Return the path of a ball whose second bounce multiplies its speed by ``gain``."""
    start, kept, radius = clip.place(np.zeros(1))[0], clip.truth["restitution"], clip.truth["radius"]
    fall = float(np.sqrt(2.0 * (start[1] - radius) / GRAVITY))
    times, speeds = [fall], [GRAVITY * fall * kept]
    for factor in (gain, kept):
        times.append(times[-1] + 2.0 * speeds[-1] / GRAVITY)
        speeds.append(speeds[-1] * factor)

    def place(t: Array) -> Array:
        s = np.maximum(t, 0.0)
        y = start[1] - 0.5 * GRAVITY * s**2
        for begin, up in zip(times, speeds, strict=True):
            later = s - begin
            y = np.where(later > 0.0, radius + up * later - 0.5 * GRAVITY * later**2, y)
        return np.stack([start[0] + clip.truth["velocity.x"] * s, y, 0.0 * s], axis=-1)

    return place


def growing(clip: Clip, gain: float) -> Callable[[Array], Array]:
    """Return the path of a pendulum with negative damping [1/s]."""
    start, length = clip.place(np.zeros(1))[0], clip.truth["length"]

    def slope(t: float, s: Array) -> list[float]:
        return [s[1], -GRAVITY / length * np.sin(s[0]) + gain * s[1]]

    angle = float(np.arcsin(np.hypot(start[0], start[2]) / length))
    found = solve_ivp(slope, (0.0, clip.duration + 1.0), [0.8 * angle, 0.0], rtol=1e-9, dense_output=True)
    way = np.array([start[0], start[2]]) / np.hypot(start[0], start[2])

    def place(t: Array) -> Array:
        turned = found.sol(np.maximum(t, 0.0))[0]
        across = length * np.sin(turned)
        return np.stack([way[0] * across, -length * np.cos(turned), way[1] * across], axis=-1)

    return place


if __name__ == "__main__":
    main()
