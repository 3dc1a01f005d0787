"""Shapes: closed, small, and with the volumes of the textbooks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from diffloom.interfaces import InputError
from diffloom_geometry import check_closed
from diffloom_physics_rigid.shapes import SHAPES, build_shape
from diffloom_physics_rigid.shapes.solids import blocks, lathe, prism


def test_there_are_enough_objects() -> None:
    assert len(SHAPES) >= 14


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_every_shape_is_a_small_closed_solid(name: str) -> None:
    shape = SHAPES[name]()
    check_closed(name, shape.vertices, shape.faces)
    assert 8 <= len(shape.vertices) <= 250
    assert 0.3 <= np.ptp(shape.vertices, axis=0).max() <= 1.2
    assert len(np.unique(shape.vertices.round(9), axis=0)) == len(shape.vertices)


def is_convex(name: str) -> bool:
    from scipy.spatial import ConvexHull

    shape = SHAPES[name]()
    return math.isclose(ConvexHull(shape.vertices).volume, shape.solid.volume, rel_tol=1e-6)


def test_several_shapes_are_not_convex() -> None:
    assert sum(not is_convex(name) for name in SHAPES) >= 10


@pytest.mark.parametrize(
    ("name", "sizes", "volume"),
    [
        ("box", {"size": [1.0, 2.0, 3.0]}, 6.0),
        ("sphere", {"radius": 0.7}, 4 / 3 * math.pi * 0.7**3),
        ("cylinder", {"radius": 0.3, "height": 2.0, "segments": 200}, math.pi * 0.09 * 2.0),
        ("cone", {"radius": 0.3, "height": 2.0, "segments": 200}, math.pi * 0.09 * 2.0 / 3),
        ("capsule", {"radius": 0.3, "length": 2.0}, math.pi * 0.09 * 2.0 + 4 / 3 * math.pi * 0.027),
        ("torus", {"radius": 0.8, "tube": 0.1, "segments": 120, "around": 60}, 2 * math.pi**2 * 0.8 * 0.01),
    ],
)
def test_volumes(name: str, sizes: dict[str, object], volume: float) -> None:
    shape = build_shape(name, sizes)
    found = shape.smooth.volume if shape.smooth is not None else shape.solid.volume
    assert found == pytest.approx(volume, rel=1e-12 if name in ("box", "sphere", "capsule") else 5e-3)


@pytest.mark.parametrize("name", ["sphere", "capsule"])
def test_exact_integrals_are_the_limit_of_fine_meshes(name: str) -> None:
    fine = SHAPES[name](subdivisions=5) if name == "sphere" else SHAPES[name](segments=160, rings=60)
    assert fine.smooth is not None
    np.testing.assert_allclose(fine.solid.volume, fine.smooth.volume, rtol=3e-3)
    np.testing.assert_allclose(fine.solid.inertia, fine.smooth.inertia, rtol=5e-3, atol=1e-6)


def test_stretching() -> None:
    ball = SHAPES["sphere"]().stretch(np.array([1.0, 2.0, 3.0]))
    assert (ball.kind, ball.smooth) == ("mesh", None)
    assert ball.solid.volume == pytest.approx(6.0 * SHAPES["sphere"]().solid.volume)
    assert SHAPES["sphere"]().stretch(np.full(3, 2.0)).dims == (1.0,)
    assert SHAPES["box"]().stretch(np.array([1.0, 2.0, 3.0])).dims == (0.5, 1.0, 1.5)


def test_wrong_names_and_sizes() -> None:
    with pytest.raises(InputError, match=r"got 'spere'; expected one of .*did you mean 'sphere'"):
        build_shape("spere", {})
    with pytest.raises(InputError, match=r"got raduis=1.*did you mean 'radius'"):
        build_shape("sphere", {"raduis": 1})
    with pytest.raises(InputError, match="expected positive numbers"):
        build_shape("box", {"size": [1.0, -1.0, 1.0]})
    with pytest.raises(InputError, match="use scale"):
        build_shape("banana", {"size": 2.0})


def test_makers_refuse_impossible_outlines() -> None:
    with pytest.raises(InputError, match="expected 0 at both ends"):
        lathe(((0.1, 0.0), (0.5, 0.5), (0.0, 1.0)))
    with pytest.raises(InputError, match="crosses itself or runs clockwise"):
        prism(((0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)), 0.1)
    touching = np.zeros((2, 2, 1), dtype=np.bool_)
    touching[0, 0, 0] = touching[1, 1, 0] = True
    with pytest.raises(InputError, match="meet in an edge only"):
        blocks(touching, ((0.0, 1.0, 2.0), (0.0, 1.0, 2.0), (0.0, 1.0)))
