"""Box, sphere, cylinder, cone, capsule and torus: axes of revolution along y, origin in the middle."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from diffloom_geometry import integrate_capsule, integrate_sphere
from diffloom_physics_rigid.shapes.shape import RigidShape, orient_outwards
from diffloom_physics_rigid.shapes.solids import lathe


def box(size: Sequence[float] | float = (1.0, 1.0, 1.0)) -> RigidShape:
    """Return a box of 8 vertices.

    Args:
        size: Edge lengths along x, y, z [m], or one for a cube.
    """
    half = 0.5 * np.broadcast_to(np.asarray(size, dtype=np.float64), (3,))
    vertices = np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * half
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    faces = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    return RigidShape(vertices, orient_outwards(vertices, faces), "box", tuple(float(h) for h in half))


def sphere(radius: float = 0.5, subdivisions: int = 2) -> RigidShape:
    """Return an icosahedron divided ``subdivisions`` times, with 12, 42 or 162 vertices, and the exact ball.

    Args:
        radius: Radius [m].
        subdivisions: 0, 1, 2, ...
    """
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=subdivisions, radius=radius)
    vertices, faces = np.array(ball.vertices), np.array(ball.faces, dtype=np.int64)
    outward, surface = orient_outwards(vertices, faces), 4.0 * math.pi * radius**2
    return RigidShape(vertices, outward, "sphere", (radius,), integrate_sphere(radius), surface)


def cylinder(radius: float = 0.5, height: float = 1.0, segments: int = 24) -> RigidShape:
    """Return a cylinder of two rings of vertices and the middles of the lids.

    Args:
        radius: Radius [m].
        height: Height [m].
        segments: Vertices of a ring.
    """
    h = 0.5 * height
    mesh = lathe(((0.0, -h), (radius, -h), (radius, h), (0.0, h)), segments)
    return replace(mesh, surface=2.0 * math.pi * radius * (radius + height))


def cone(radius: float = 0.5, height: float = 1.0, segments: int = 24) -> RigidShape:
    """Return a cone with its tip up and its origin half way up.

    Args:
        radius: Radius of the base [m].
        height: Height [m].
        segments: Vertices of the base's ring.
    """
    h = 0.5 * height
    mesh = lathe(((0.0, -h), (radius, -h), (0.0, h)), segments)
    return replace(mesh, surface=math.pi * radius * (radius + math.hypot(radius, height)))


def capsule(radius: float = 0.25, length: float = 0.5, segments: int = 16, rings: int = 4) -> RigidShape:
    """Return a cylinder with half a ball on either end, and the exact capsule.

    Args:
        radius: Radius [m].
        length: Length of the straight part [m].
        segments: Vertices of a ring.
        rings: Rings of each half ball.
    """
    h = 0.5 * length
    quarter = [0.5 * math.pi * k / rings for k in range(rings + 1)]
    profile = [(radius * math.cos(a), h + radius * math.sin(a)) for a in quarter[:-1]] + [(0.0, h + radius)]
    mesh = lathe([(r, -y) for r, y in reversed(profile)] + profile, segments)
    surface = 2.0 * math.pi * radius * (2.0 * radius + length)
    return RigidShape(mesh.vertices, mesh.faces, "capsule", (radius, h), integrate_capsule(radius, h), surface)


def torus(radius: float = 0.4, tube: float = 0.15, segments: int = 20, around: int = 10) -> RigidShape:
    """Return a ring that lies flat, of ``segments * around`` vertices.

    Args:
        radius: Radius of the tube's centre line [m].
        tube: Radius of the tube [m].
        segments: Vertices along the ring.
        around: Vertices around the tube.
    """
    big = np.arange(segments) * (2.0 * math.pi / segments)
    small = np.arange(around) * (2.0 * math.pi / around)
    a, b = (v.reshape(-1) for v in np.meshgrid(big, small, indexing="ij"))
    out = radius + tube * np.cos(b)
    vertices = np.stack([out * np.cos(a), tube * np.sin(b), out * np.sin(a)], axis=1)
    i, j = (v.reshape(-1) for v in np.meshgrid(np.arange(segments), np.arange(around), indexing="ij"))
    p, q = i * around + j, (i + 1) % segments * around + j
    r, s = (i + 1) % segments * around + (j + 1) % around, i * around + (j + 1) % around
    faces = np.concatenate([np.stack([p, q, r], axis=1), np.stack([p, r, s], axis=1)])
    return RigidShape(vertices, orient_outwards(vertices, faces))
