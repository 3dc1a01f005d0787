"""Signed distances of obstacles against formulas written down a second time, and their adjoints against differences."""

import numpy as np
import pytest
import trimesh

from diffloom_mechanics.contact import obstacle_kernels as kernels
from diffloom_mechanics.contact.distance_grid import distance_grid

NO_LAYOUT, NO_TABLE = np.zeros(1, np.int32), np.zeros(1)
HEIGHTS = np.array([[0.1 * np.sin(i) + 0.05 * j * np.cos(0.5 * i) for j in range(8)] for i in range(7)])
BALL = trimesh.creation.icosphere(subdivisions=2, radius=0.5)


def mesh_constants(mesh, cells=16, margin=0.25):
    grid = distance_grid(np.array(mesh.vertices), np.array(mesh.faces), cells, margin)
    return grid.size, np.concatenate([grid.origin, [grid.cell, margin], grid.values])


SHAPES = {
    "sphere": ([0.4], NO_LAYOUT, NO_TABLE),
    "box": ([0.3, 0.25, 0.4], NO_LAYOUT, NO_TABLE),
    "capsule": ([0.2, 0.3], NO_LAYOUT, NO_TABLE),
    "plane": ([0.6, 0.8, 0.0], NO_LAYOUT, NO_TABLE),
    "height": ([1.3], np.array(HEIGHTS.shape, np.int32), np.concatenate([[0.3, 0.25], HEIGHTS.reshape(-1)])),
    "mesh": ([1.2], *mesh_constants(BALL)),
}


def expected(name, p, size):
    """The distance by another way, for the shapes that have an exact one."""
    if name == "sphere":
        return np.linalg.norm(p) - size[0]
    if name == "box":
        d = np.abs(p) - size
        return np.linalg.norm(np.maximum(d, 0.0)) + min(d.max(), 0.0)
    if name == "capsule":
        ends = np.array([[0.0, -size[1], 0.0], [0.0, size[1], 0.0]])
        along = np.clip((p - ends[0]) @ (ends[1] - ends[0]) / (2.0 * size[1]) ** 2, 0.0, 1.0)
        return np.linalg.norm(p - ends[0] - along * (ends[1] - ends[0])) - size[0]
    return p @ size


@pytest.mark.parametrize("name", ["sphere", "box", "capsule", "plane"])
def test_exact_shapes_have_their_distance_and_a_normal_along_which_it_grows(name):
    size, layout, table = SHAPES[name]
    distance = getattr(kernels, f"{name}_distance")
    rows = np.array([size])
    for p in np.random.default_rng(0).uniform(-0.7, 0.7, (100, 3)):
        found, normal = distance(0, tuple(p), rows, layout, table)
        assert found == pytest.approx(expected(name, p, np.array(size)), abs=1e-14)
        assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-14)
        ahead, _ = distance(0, tuple(p + 1e-6 * np.array(normal)), rows, layout, table)
        assert ahead - found == pytest.approx(1e-6, rel=1e-6)


def test_the_ball_of_triangles_is_nearly_a_ball():
    size, layout, table = SHAPES["mesh"]
    for p in np.random.default_rng(1).uniform(-0.7, 0.7, (100, 3)):
        found, normal = kernels.mesh_distance(0, tuple(p), np.array([size]), layout, table)
        if np.linalg.norm(p) > 0.2:
            assert found == pytest.approx(np.linalg.norm(p) - 0.6, abs=0.03)
            assert np.array(normal) @ p / np.linalg.norm(p) > 0.97


def test_outside_its_grid_a_mesh_is_never_nearer_than_it_says():
    size, layout, table = SHAPES["mesh"]
    outside = 0
    for p in np.random.default_rng(2).uniform(-3.0, 3.0, (500, 3)):
        found, _ = kernels.mesh_distance(0, tuple(p), np.array([size]), layout, table)
        if np.abs(p).max() > 1.2:
            outside += 1
            assert 0.0 < found <= np.linalg.norm(p) - 0.55
    assert outside > 300


def test_a_sloping_height_field_is_the_plane_it_samples():
    heights = np.array([[0.2 * i - 0.3 * j for j in range(6)] for i in range(6)])
    layout, table = np.array([6, 6], np.int32), np.concatenate([[0.5, 0.5], heights.reshape(-1)])
    normal = np.array([-0.4, 1.0, 0.6]) / np.linalg.norm([-0.4, 1.0, 0.6])
    for p in np.random.default_rng(3).uniform(-0.9, 0.9, (50, 3)):
        found, way = kernels.height_distance(0, tuple(p), np.ones((1, 1)), layout, table)
        middle = heights[2:4, 2:4].mean()
        assert found == pytest.approx((p - [0.0, middle, 0.0]) @ normal, abs=1e-12)
        np.testing.assert_allclose(way, normal, atol=1e-12)
    beside, _ = kernels.height_distance(0, (1.3, -5.0, 0.0), np.ones((1, 1)), layout, table)
    assert beside > 1e20


@pytest.mark.parametrize("name", SHAPES)
def test_adjoints_of_distance_and_normal_by_the_point_and_by_the_sizes(name):
    size, layout, table = SHAPES[name]
    distance, adjoint = getattr(kernels, f"{name}_distance"), getattr(kernels, f"{name}_distance_adjoint")
    rng = np.random.default_rng(4)
    for p in rng.uniform(-0.6, 0.6, (40, 3)):
        a_distance, a_normal = rng.normal(), rng.normal(size=3)

        def total(values, a_distance=a_distance, a_normal=a_normal):
            d, n = distance(0, tuple(values[:3]), values[None, 3:].copy(), layout, table)
            return a_distance * d + a_normal @ np.array(n)

        at = np.array([*p, *size])
        adj_size = np.zeros((1, len(size)))
        adj_p = adjoint(0, tuple(p), np.array([size]), layout, table, a_distance, tuple(a_normal), adj_size)
        found = np.array([*adj_p, *adj_size[0]])
        h = 1e-5
        differences = [
            (8 * (total(at + h * e) - total(at - h * e)) - (total(at + 2 * h * e) - total(at - 2 * h * e))) / (12 * h)
            for e in np.eye(len(at))
        ]
        np.testing.assert_allclose(found, differences, rtol=1e-6, atol=1e-6 * np.linalg.norm(found))
