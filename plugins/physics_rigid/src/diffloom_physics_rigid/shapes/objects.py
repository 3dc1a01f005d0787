"""Small objects, most of them not convex, about 1 m in size and of at most 250 vertices."""

from __future__ import annotations

import math

import numpy as np

from diffloom_physics_rigid.shapes.shape import RigidShape
from diffloom_physics_rigid.shapes.solids import blocks, lathe, prism, tube


def pear() -> RigidShape:
    """Return a pear: a belly below, a neck above."""
    belly = ((0.16, -0.46), (0.31, -0.36), (0.38, -0.18), (0.36, 0.0), (0.26, 0.16), (0.19, 0.3), (0.14, 0.42))
    return lathe(((0.0, -0.48), *belly, (0.0, 0.48)), 18)


def bowl() -> RigidShape:
    """Return an open bowl."""
    outside = ((0.2, -0.25), (0.36, -0.18), (0.47, -0.02), (0.5, 0.2))
    inside = ((0.45, 0.2), (0.42, 0.0), (0.31, -0.13))
    return lathe(((0.0, -0.25), *outside, *inside, (0.0, -0.18)), 20)


def goblet() -> RigidShape:
    """Return a goblet: a foot, a thin stem and a cup."""
    outside = ((0.28, -0.5), (0.28, -0.46), (0.06, -0.4), (0.06, -0.1), (0.24, 0.02), (0.32, 0.25), (0.3, 0.5))
    inside = ((0.25, 0.5), (0.27, 0.25), (0.18, 0.06))
    return lathe(((0.0, -0.5), *outside, *inside, (0.0, 0.02)), 16)


def hourglass() -> RigidShape:
    """Return an hourglass, narrow in the middle."""
    curve = [(0.35 * (0.25 + 0.75 * abs(math.sin(0.5 * math.pi * y / 0.5))), y) for y in np.linspace(-0.5, 0.5, 9)]
    return lathe([(0.0, -0.5), *[(float(r), float(y)) for r, y in curve], (0.0, 0.5)], 20)


def mushroom() -> RigidShape:
    """Return a mushroom: a stem under a cap."""
    stem = ((0.16, -0.5), (0.13, -0.3), (0.13, 0.05))
    cap = ((0.46, 0.0), (0.5, 0.1), (0.42, 0.3), (0.24, 0.44))
    return lathe(((0.0, -0.5), *stem, *cap, (0.0, 0.5)), 20)


def dumbbell() -> RigidShape:
    """Return a dumbbell: two discs on a bar."""
    half = ((0.32, 0.5), (0.35, 0.42), (0.35, 0.32), (0.32, 0.26), (0.08, 0.24))
    lower = tuple((r, -y) for r, y in half)
    return lathe(((0.0, -0.5), *lower, *reversed(half), (0.0, 0.5)), 18)


def star() -> RigidShape:
    """Return a plate with five points."""
    radii = (0.5, 0.2)
    angles = [0.5 * math.pi + math.pi * k / 5.0 for k in range(10)]
    return prism([(radii[k % 2] * math.cos(a), radii[k % 2] * math.sin(a)) for k, a in enumerate(angles)], 0.25)


def gear() -> RigidShape:
    """Return a wheel with twelve teeth."""
    outline = []
    for tooth in range(12):
        for part, radius in ((-0.34, 0.4), (-0.18, 0.5), (0.18, 0.5), (0.34, 0.4)):
            angle = (tooth + part) * 2.0 * math.pi / 12.0
            outline.append((radius * math.cos(angle), radius * math.sin(angle)))
    return prism(outline, 0.25)


def cross() -> RigidShape:
    """Return three bars of square section through one middle, along x, y and z."""
    filled = np.zeros((3, 3, 3), dtype=np.bool_)
    filled[1, 1, :] = filled[1, :, 1] = filled[:, 1, 1] = True
    line = (-0.5, -0.15, 0.15, 0.5)
    return blocks(filled, (line, line, line))


def ell() -> RigidShape:
    """Return the letter L."""
    return prism(((-0.3, -0.5), (0.4, -0.5), (0.4, -0.2), (0.0, -0.2), (0.0, 0.5), (-0.3, 0.5)), 0.3)


def tee() -> RigidShape:
    """Return the letter T."""
    return prism(
        ((-0.12, -0.5), (0.12, -0.5), (0.12, 0.2), (0.45, 0.2), (0.45, 0.5), (-0.45, 0.5), (-0.45, 0.2), (-0.12, 0.2)),
        0.24,
    )


def arrow() -> RigidShape:
    """Return an arrow that points along +x."""
    return prism(
        ((-0.5, -0.12), (0.05, -0.12), (0.05, -0.35), (0.5, 0.0), (0.05, 0.35), (0.05, 0.12), (-0.5, 0.12)), 0.2
    )


def banana() -> RigidShape:
    """Return a bent tube with thin ends."""

    def centre(s: float) -> tuple[float, float, float]:
        """Return a point of the centre line."""
        angle = math.pi * (1.15 + 0.7 * s)
        return (0.55 * math.cos(angle), 0.3 + 0.55 * math.sin(angle), 0.0)

    return tube(centre, lambda s: 0.03 + 0.1 * math.sin(math.pi * s) ** 0.6, rings=18, segments=10)


def table() -> RigidShape:
    """Return a table: a top on four legs."""
    filled = np.zeros((3, 2, 3), dtype=np.bool_)
    filled[:, 1, :] = True
    filled[::2, 0, ::2] = True
    return blocks(filled, ((-0.5, -0.4, 0.4, 0.5), (-0.35, 0.25, 0.35), (-0.35, -0.25, 0.25, 0.35)))


def chair() -> RigidShape:
    """Return a chair: a seat on four legs, and a back."""
    filled = np.zeros((3, 3, 3), dtype=np.bool_)
    filled[:, 1, :] = True
    filled[::2, 0, ::2] = True
    filled[:, 2, 0] = True
    line = (-0.25, -0.17, 0.17, 0.25)
    return blocks(filled, (line, (-0.5, -0.06, 0.02, 0.5), line))
