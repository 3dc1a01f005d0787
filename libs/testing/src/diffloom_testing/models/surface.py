"""Checks of a model's surface: a valid mesh in every frame, with the right gradient."""

from __future__ import annotations

from collections import Counter

import torch
from torch import Tensor

from diffloom.interfaces import NoGradient, Surface, Trajectory
from diffloom_testing.comparisons import (
    describe_worst,
    flatten_coordinates,
    require_finite,
    require_matching_gradients,
    unflatten_trajectory,
)
from diffloom_testing.results import Skip, check, require
from diffloom_testing.subjects import ModelSubject


def run_and_build_surface(subject: ModelSubject) -> tuple[Trajectory, Surface]:
    """Return the example's motion and its surface."""
    params = subject.params()
    path = subject.roll(params, gradient=NoGradient())
    return path, subject.model.surface(path, params)


@check("surface")
def valid(subject: ModelSubject) -> str:
    """The surface has one frame for each state, finite vertices of the motion's dtype, and faces of three vertices."""
    path, surface = run_and_build_surface(subject)
    require(isinstance(surface, Surface), f"surface returns {type(surface).__name__}; expected a Surface")
    require(len(surface) == len(path), f"the surface has {len(surface)} frames for {len(path)} states")
    dtype = flatten_coordinates(path).dtype
    require(surface.vertices.dtype == dtype, f"vertices are {surface.vertices.dtype} of {dtype} states")
    require(len(surface.faces) > 0, "the surface has no faces: nothing would be drawn")
    require_finite("vertices", surface.vertices)
    a, b, c = surface.faces.unbind(1)
    flat = ((a == b) | (b == c) | (c == a)).nonzero().reshape(-1).tolist()
    require(not flat, f"faces {flat[:5]} name a vertex twice")
    if surface.colours is not None:
        inside = bool(((surface.colours >= 0.0) & (surface.colours <= 1.0)).all())
        require(inside, "colours are not all between 0 and 1")
    return f"{surface.vertices.shape[1]} vertices, {len(surface.faces)} faces"


@check("surface")
def outward(subject: ModelSubject) -> str:
    """A closed surface is wound counter-clockwise seen from outside: its volume is positive."""
    _, surface = run_and_build_surface(subject)
    sides = Counter((int(f[i]), int(f[(i + 1) % 3])) for f in surface.faces for i in range(3))
    if any(sides[b, a] != n for (a, b), n in sides.items()):
        raise Skip("the surface is not closed, or its faces do not agree on a side")
    points = surface.vertices[0][surface.faces]
    volume = float(torch.linalg.det(points).sum()) / 6.0
    require(volume > 0.0, f"the closed surface holds a volume of {volume:.3g}: its faces are wound inwards")
    return f"volume {volume:.3g} m^3"


@check("surface")
def gradient(subject: ModelSubject) -> str:
    """Vertices, and colours that change over time, have the right gradient by the state."""
    path, _ = run_and_build_surface(subject)
    params = subject.params()

    def list_values(q: Tensor) -> Tensor:
        surface = subject.model.surface(unflatten_trajectory(path, q), params)
        changing = [] if surface.colours is None or surface.colours.dim() < 3 else [surface.colours]
        changing += [] if surface.texture is None or surface.texture.image.dim() < 4 else [surface.texture.image]
        return torch.cat([value.reshape(-1) for value in (surface.vertices, *changing)])

    found = require_matching_gradients(list_values, {"q": flatten_coordinates(path)}, tolerance=1e-7)
    require(
        not all(c.silent for c in found),
        "neither vertices nor colours depend on the state: nothing could be fitted to a video",
    )
    return describe_worst(found)


CHECKS = (valid, outward, gradient)
