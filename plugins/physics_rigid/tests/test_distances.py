"""Signed distances of shapes: exact ones against formulas, meshes against exact ones, and the transpose."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from diffloom_geometry import compute_winding_numbers
from diffloom_mechanics.contact.distance_grid import distance_grid
from diffloom_mechanics.contact.kernels import may_touch, shape_distance, shape_distance_adjoint
from diffloom_physics_rigid.model import RigidModel
from diffloom_physics_rigid.pairs import pack_shapes
from diffloom_physics_rigid.shapes import SHAPES

Array = NDArray[np.float64]


def arrays(*tables: dict[str, object]) -> tuple[NDArray[np.generic], ...]:
    """Return the ``shapes`` of the kernels: the arrays without the bounding boxes."""
    found = pack_shapes(RigidModel(list(tables)).bodies).arrays
    return (*found[:2], *found[4:])


def box_distance(p: Array, half: Array) -> float:
    d = np.abs(p) - half
    return float(np.linalg.norm(np.maximum(d, 0.0)) + min(d.max(), 0.0))


def test_exact_shapes() -> None:
    shapes = arrays(
        {"shape": "sphere", "radius": 0.4}, {"shape": "box", "size": [1.0, 0.6, 0.4]},
        {"shape": "capsule", "radius": 0.2, "length": 1.0},
    )  # fmt: skip
    rng = np.random.default_rng(0)
    for p in rng.uniform(-0.8, 0.8, (200, 3)):
        along = np.clip(p[1], -0.5, 0.5)
        expected = [
            np.linalg.norm(p) - 0.4, box_distance(p, np.array([0.5, 0.3, 0.2])),
            np.linalg.norm(p - [0.0, along, 0.0]) - 0.2,
        ]  # fmt: skip
        for b, distance in enumerate(expected):
            found, normal = shape_distance(b, tuple(p), shapes)
            assert found == pytest.approx(distance, abs=1e-14)
            assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-14)
            ahead, _ = shape_distance(b, tuple(p + 1e-6 * np.array(normal)), shapes)
            assert ahead - found == pytest.approx(1e-6, rel=1e-6)


@pytest.mark.parametrize("name", ["star", "bowl", "torus", "chair", "banana"])
def test_grids_know_inside_from_outside(name: str) -> None:
    shape = SHAPES[name]()
    grid = distance_grid(shape.vertices, shape.faces, cells=16, margin=0.1)
    axes = [grid.origin[k] + grid.cell * np.arange(grid.size[k]) for k in range(3)]
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    clear = np.abs(grid.values) > 1e-9
    inside = compute_winding_numbers(nodes, shape.vertices, shape.faces) > 0.5
    np.testing.assert_array_equal(inside[clear], (grid.values < 0.0)[clear])
    nearest = np.linalg.norm(nodes[:, None] - shape.vertices[None], axis=2).min(axis=1)
    assert (np.abs(grid.values) <= nearest + 1e-12).all()


def test_a_box_as_a_mesh_has_the_exact_distances() -> None:
    box = SHAPES["box"]()
    grid = distance_grid(box.vertices, box.faces, cells=16, margin=0.2)
    axes = [grid.origin[k] + grid.cell * np.arange(grid.size[k]) for k in range(3)]
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    half = np.array([0.5, 0.5, 0.5])
    np.testing.assert_allclose(grid.values, [box_distance(p, half) for p in nodes], atol=1e-14)


def test_the_spline_is_exact_on_flat_sides_and_close_elsewhere() -> None:
    mesh = SHAPES["box"]()
    shapes = arrays({"vertices": mesh.vertices, "faces": mesh.faces, "grid": 24}, {"shape": "box"})
    rng = np.random.default_rng(1)
    for x, z in rng.uniform(-0.3, 0.3, (50, 2)):
        p = (x, 0.5 - 0.05 * rng.uniform(), z)
        found, normal = shape_distance(0, p, shapes)
        assert found == pytest.approx(p[1] - 0.5, abs=1e-13)
        np.testing.assert_allclose(normal, [0.0, 1.0, 0.0], atol=1e-12)
    cell = float(shapes[5][0])
    for p in rng.uniform(-0.55, 0.55, (200, 3)):
        assert shape_distance(0, tuple(p), shapes)[0] == pytest.approx(box_distance(p, np.full(3, 0.5)), abs=0.6 * cell)


def test_points_left_out_early_are_truly_far() -> None:
    shapes = arrays({"shape": "bowl"}, {"shape": "sphere"})
    rng = np.random.default_rng(2)
    skipped = 0
    for p in rng.uniform(-0.6, 0.6, (3000, 3)):
        if not may_touch(0, tuple(p), shapes, 0.05):
            skipped += 1
        if may_touch(0, tuple(p), shapes, 10.0) and not may_touch(0, tuple(p), shapes, 0.05):
            assert shape_distance(0, tuple(p), shapes)[0] >= 0.05
    assert skipped > 300


@pytest.mark.parametrize("b", range(4))
def test_transpose(b: int) -> None:
    shapes = arrays({"shape": "sphere"}, {"shape": "box"}, {"shape": "capsule"}, {"shape": "torus"})
    rng = np.random.default_rng(3)
    for p in rng.uniform(-0.45, 0.45, (40, 3)):
        a_distance, a_normal = rng.normal(), rng.normal(size=3)

        def total(x: Array, a_distance: float = a_distance, a_normal: Array = a_normal) -> float:
            distance, normal = shape_distance(b, tuple(x), shapes)
            return float(a_distance * distance + a_normal @ normal)

        found = shape_distance_adjoint(b, tuple(p), shapes, a_distance, tuple(a_normal))
        h = 1e-5
        differences = [
            (8 * (total(p + h * e) - total(p - h * e)) - (total(p + 2 * h * e) - total(p - 2 * h * e))) / (12 * h)
            for e in np.eye(3)
        ]
        np.testing.assert_allclose(found, differences, rtol=1e-6, atol=1e-6 * np.linalg.norm(found))
