"""Solids of revolution about y, and tubes along a curve: rings of vertices between two tips."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from diffloom.interfaces import InputError
from diffloom_geometry import Points
from diffloom_physics_rigid.shapes.shape import Shape, outwards


def lathe(profile: Sequence[tuple[float, float]], segments: int = 16) -> Shape:
    """Turn the line through ``profile``, points (radius, height) [m], about y.

    The line starts and ends on the axis (radius 0) and stays off it between: it may rise outside and fall inside,
    as that of a bowl.
    """
    radii = [r for r, _ in profile]
    if len(profile) < 3 or radii[0] != 0.0 or radii[-1] != 0.0 or min(radii[1:-1]) <= 0.0:
        raise InputError(f"lathe: got radii {radii}; expected 0 at both ends and positive numbers between")
    angle = np.arange(segments) * (2.0 * math.pi / segments)

    def ring(k: int) -> Points:
        r, y = profile[k]
        return np.stack([r * np.cos(angle), np.full(segments, y), r * np.sin(angle)], axis=1)

    tips = np.array([(0.0, profile[0][1], 0.0), (0.0, profile[-1][1], 0.0)])
    return skin([ring(k) for k in range(1, len(profile) - 1)], tips)


def tube(
    centre: Callable[[float], tuple[float, float, float]],
    radius: Callable[[float], float],
    rings: int,
    segments: int,
) -> Shape:
    """A tube around a curve in the plane z = 0: ``centre(s)`` and ``radius(s)`` [m] for s from 0 to 1.

    ``radius`` is positive between the ends, where the tube closes in tips.
    """
    angle = np.arange(segments) * (2.0 * math.pi / segments)

    def ring(s: float) -> Points:
        step = 1e-4
        along = np.subtract(centre(s + step), centre(s - step))
        along /= np.linalg.norm(along)
        across, up = np.array([-along[1], along[0], 0.0]), np.array([0.0, 0.0, 1.0])
        return np.array(centre(s)) + radius(s) * (np.outer(np.cos(angle), across) + np.outer(np.sin(angle), up))

    return skin([ring(k / (rings + 1)) for k in range(1, rings + 1)], np.array([centre(0.0), centre(1.0)]))


def skin(rings: Sequence[Points], tips: Points) -> Shape:
    """A closed mesh over ``rings`` of equally many vertices each, with a tip before the first and after the last."""
    segments, count = len(rings[0]), len(rings)
    vertices = np.concatenate([*rings, tips])
    j = np.arange(segments)
    k = (j + 1) % segments
    faces = [np.stack([np.full(segments, segments * count), k, j], axis=1)]
    for row in range(count - 1):
        a, b = row * segments, (row + 1) * segments
        faces += [np.stack([a + j, a + k, b + k], axis=1), np.stack([a + j, b + k, b + j], axis=1)]
    last = (count - 1) * segments
    faces.append(np.stack([last + j, last + k, np.full(segments, segments * count + 1)], axis=1))
    joined = np.concatenate(faces)
    return Shape(vertices, outwards(vertices, joined))
