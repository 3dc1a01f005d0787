"""Scatter of the elbow's restitution: a regression over single impacts, cross-validated.

Impacts of one corner, with all other corners clear of the ground before and after, are found in tosses of the elbow.
Parabolas through the frames on either side give the corner's velocity before and after, and so its restitution and how
well that is known. What might explain it: speeds, the hinge's angle, the mass that the corner feels with the hinge
rigid and with the links free of each other, which link and corner, how near the next corner is, the impact's order.

    DIFFLOOM_REAL_DATA=FOLDER python experiments/elbow_impacts.py --tosses 0:200
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from diffloom_geometry.rotations import rotate_vectors
from diffloom_motion import Clip, load_motion

FILE = Path(__file__).parent / "real" / "real-elbow.toml"
Array = NDArray[np.float64]
HALF, HINGE, OFFSET = np.array([0.05, 0.025, 0.025]), np.array([-0.035, 0.06, 0.0]), np.array([0.035, 0.0, 0.0])
MASS = 0.37
INERTIA = np.diag([1.54e-4, 3.85e-4, 3.85e-4])  # inertia of a solid box
CLEAR, LOW, SPEED = 0.004, 0.008, 0.25  # [m], [m], [m/s]
KINDS = (
    ("line", 1, 1e-2), ("line", 1, 1e-1), ("parabola", 2, 1e-1), ("parabola", 2, 1.0), ("kernel", 0, 0.3),
    ("kernel", 0, 1.0), ("kernel", 0, 3.0),
)  # fmt: skip
SIGNS = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], float)


def turn_of(orientation: Array) -> Array:
    """(frames, 3, 3): rotation matrices."""
    axes = torch.eye(3, dtype=torch.float64)
    return np.stack(
        [rotate_vectors(torch.tensor(orientation), axes[i].expand(len(orientation), 3)).numpy() for i in range(3)], -1
    )


def about_y(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def corners_of(clip: Clip) -> Array:
    """(frames, 16, 3): eight corners of either link in the first link's axes, carried to the world."""
    turn = turn_of(clip.orientation)
    fore = np.stack([(SIGNS * HALF + OFFSET) @ about_y(a).T + HINGE for a in clip.joint_position[:, 0]])
    both = np.concatenate([np.broadcast_to(SIGNS * HALF, fore.shape), fore], axis=1)
    return np.einsum("fij,fkj->fki", turn, both) + clip.position[:, None]


def felt_masses(turn: Array, angle: float, corner: int) -> tuple[float, float]:
    """The mass [kg] that a push along z meets at a corner: with a hinge that holds, and of its link alone."""
    fore = about_y(angle)
    centres = np.stack([np.zeros(3), HINGE + fore @ OFFSET])
    inertias = [INERTIA, fore @ INERTIA @ fore.T]
    place = SIGNS[corner % 8] * HALF if corner < 8 else HINGE + fore @ (SIGNS[corner % 8] * HALF + OFFSET)
    up = turn.T @ np.array([0.0, 0.0, 1.0])
    axis = np.array([0.0, 1.0, 0.0])

    def motion(point: Array, link: int) -> Array:
        """(3, 7): a point's velocity by those of the first link's frame and the hinge's rate."""
        swing = np.cross(axis, point - HINGE)[:, None] * link
        return np.concatenate([np.eye(3), -skew(point), swing], axis=1)

    whole = np.zeros((7, 7))
    for link in range(2):
        rate = np.concatenate([np.zeros((3, 3)), np.eye(3), axis[:, None] * link], axis=1)
        whole += MASS * motion(centres[link], link).T @ motion(centres[link], link) + rate.T @ inertias[link] @ rate
    push = up @ motion(place, corner // 8)
    arm = np.cross(place - centres[corner // 8], up)
    alone = 1.0 / MASS + arm @ np.linalg.solve(inertias[corner // 8], arm)
    return 1.0 / float(push @ np.linalg.solve(whole, push)), 1.0 / float(alone)


def skew(v: Array) -> Array:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def side_of(track: Array, frames: Array, at: float, rate: float) -> tuple[Array, float]:
    """(3,): velocity at frame ``at`` of a parabola through some frames, and its deviation along z by the residuals."""
    t = (frames - at) / rate
    design = np.stack([np.ones_like(t), t, t * t], axis=1)
    found, _, _, _ = np.linalg.lstsq(design, track[frames], rcond=None)
    left = track[frames] - design @ found
    noise = np.sqrt((left[:, 2] ** 2).sum() / max(len(t) - 3, 1))
    return found[1], float(noise * np.sqrt(np.linalg.inv(design.T @ design)[1, 1]))


def impacts_of(clip: Clip, side: int, skip: int) -> list[dict[str, float]]:
    """Single impacts of a toss. skip: frames next to an impact, over which a tracker's filter may smear it."""
    places, turn, found = corners_of(clip), turn_of(clip.orientation), []
    heights, last = places[..., 2], 0
    for k in range(side + 1, len(clip) - side - 2):
        c = int(heights[k].argmin())
        near = slice(k - 1, k + 2)
        if heights[k, c] > LOW or heights[k, c] > heights[near, c].min():
            continue
        others = np.delete(heights[k - side : k + side + 1], c, axis=1)
        if others.min() < CLEAR:
            continue
        before, off_before = side_of(places[:, c], np.arange(k - side, k - skip), k, clip.rate)
        after, off_after = side_of(places[:, c], np.arange(k + 1 + skip, k + side + 1), k, clip.rate)
        if before[2] > -SPEED:
            continue
        held, alone = felt_masses(turn[k], float(clip.joint_position[k, 0]), c)
        slide = before[:2] / max(float(np.linalg.norm(before[:2])), 1e-9)
        lever = (places[k, c] - clip.position[k])[:2]
        e = -after[2] / before[2]
        angle, sign = float(clip.joint_position[k, 0]), SIGNS[c % 8]
        found.append({
            "toss": float(clip.name.split("@")[0]), "e": e, "noise": np.hypot(off_after, e * off_before) / -before[2],
            "speed": -before[2], "sliding": float(np.linalg.norm(before[:2])), "angle sine": np.sin(angle),
            "angle cosine": np.cos(angle), "mass, rigid hinge": held, "mass, link alone": alone,
            "ratio of masses": alone / held, "link": float(c // 8), "sign x": sign[0], "sign y": sign[1],
            "sign z": sign[2], "along the lever": float(slide @ lever), "next corner": float(others[side].min()),
            "order": float(k - last), "frame": float(k), "lean": float(turn[k][2, 2]),
        })  # fmt: skip
        last = k
    return found


def explained(X: Array, y: Array, groups: Array, degree: int, ridge: float) -> float:
    """R^2 of predictions for tosses that the regression has not seen (ten parts): polynomials of ``degree``; 0: a
    kernel regression, whose width is half the median distance."""
    parts = np.unique(groups)
    predicted = np.zeros_like(y)
    for fold in range(10):
        out = np.isin(groups, parts[fold::10])
        mean, spread = X[~out].mean(0), X[~out].std(0) + 1e-12
        a, b = (X[~out] - mean) / spread, (X[out] - mean) / spread
        if degree == 0:
            away = np.linalg.norm(b[:, None] - a[None], axis=2)
            own = np.linalg.norm(a[:, None] - a[None], axis=2)
            width = 0.5 * np.median(own)
            weights = np.linalg.solve(
                np.exp(-0.5 * (own / width) ** 2) + ridge * np.eye(len(a)), y[~out] - y[~out].mean()
            )
            predicted[out] = y[~out].mean() + np.exp(-0.5 * (away / width) ** 2) @ weights
            continue
        pairs = [(i, j) for i in range(X.shape[1]) for j in range(i, X.shape[1])] if degree == 2 else []
        a, b = (
            np.concatenate([np.ones((len(v), 1)), v, *[(v[:, i] * v[:, j])[:, None] for i, j in pairs]], 1)
            for v in (a, b)
        )
        slope = np.linalg.solve(a.T @ a + ridge * len(a) * np.eye(a.shape[1]), a.T @ y[~out])
        predicted[out] = b @ slope
    return 1.0 - float(((y - predicted) ** 2).mean() / y.var())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tosses", default="0:200")
    given = parser.parse_args()
    whole = (
        f'clips.fit="{given.tosses}"',
        "clips.share=1.0",
        'clips.holdout="rest"',
        "clips.holdout_limit=1",
        "clips.windows=[121, 121]",
    )
    clips = load_motion(str(FILE), whole).scene.clips
    for side, skip in ((4, 0), (5, 0), (6, 0), (6, 1), (7, 1)):
        rows = [row for clip in clips for row in impacts_of(clip, side, skip)]
        rows = [row for row in rows if row["noise"] < 0.1]
        names = [name for name in rows[0] if name not in ("toss", "e", "noise")]
        X, y = np.array([[row[n] for n in names] for row in rows]), np.array([row["e"] for row in rows])
        groups, noise = np.array([row["toss"] for row in rows]), np.array([row["noise"] for row in rows])
        share = 100 * (noise**2).mean() / y.var()
        print(f"{side} frames on either side, {skip} left out: {len(y)} impacts, restitution {y.mean():.3f}, deviation "
              f"{y.std():.3f}; errors of the velocities are {share:.0f} % of the variance")  # fmt: skip
        # Could it be found? The same scatter, if half of it came from the masses and the speed.
        known = X[:, [names.index("ratio of masses"), names.index("speed")]]
        known = np.tanh((known - known.mean(0)) / known.std(0)).sum(axis=1)
        planted = known / known.std() + np.random.default_rng(0).standard_normal(len(y))
        for label, degree, ridge in KINDS:
            r, p = (explained(X, each, groups, degree, ridge) for each in (y, planted))
            print(f"   {label}, ridge {ridge:g}: R^2 {r:+.2f} (of a planted half: {p:+.2f})")
        single = {n: max(explained(X[:, [i]], y, groups, d, 1e-2) for d in (1, 2)) for i, n in enumerate(names)}
        print("   one at a time:", ", ".join(f"{n} {r:+.2f}" for n, r in sorted(single.items(), key=lambda p: -p[1])))


if __name__ == "__main__":
    main()
