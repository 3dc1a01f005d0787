"""The one camera convention."""

from __future__ import annotations

import math

import pytest
import torch

from diffloom.interfaces import Camera, InputError
from diffloom_testing import check_gradient


def seen(camera: Camera, point) -> tuple[float, float, float]:
    """Column, row and depth of a world point, by the camera's documented formula."""
    c = camera.rotation @ (torch.as_tensor(point, dtype=camera.dtype) - camera.eye)
    column = camera.centre[0] + camera.focal[0] * c[0] / -c[2]
    row = camera.centre[1] - camera.focal[1] * c[1] / -c[2]
    return float(column), float(row), float(-c[2])


def test_the_target_is_in_the_middle():
    camera = Camera.look_at((3.0, 2.0, 5.0), (1.0, 1.0, 0.0), size=(48, 80), dtype=torch.float64)
    column, row, depth = seen(camera, (1.0, 1.0, 0.0))
    assert (column, row) == pytest.approx((40.0, 24.0))
    assert depth == pytest.approx(math.sqrt(4 + 1 + 25))


def test_right_is_right_and_up_is_up():
    camera = Camera.orbit(4.0, dtype=torch.float64)
    column, row, _ = seen(camera, (0.5, 0.25, 0.0))
    assert column > 128
    assert row < 128


@pytest.mark.parametrize(
    "elevation, azimuth, place",
    [(0, 0, (0, 0, 2)), (0, 90, (2, 0, 0)), (30, 0, (0, 1, math.sqrt(3))), (0, 180, (0, 0, -2))],
)
def test_orbit_places(elevation, azimuth, place):
    camera = Camera.orbit(2.0, elevation, azimuth, dtype=torch.float64)
    assert camera.eye.tolist() == pytest.approx(place, abs=1e-12)
    assert torch.allclose(camera.rotation @ camera.rotation.T, torch.eye(3, dtype=torch.float64))
    assert float(torch.linalg.det(camera.rotation)) == pytest.approx(1.0)


def test_the_field_of_view_is_vertical():
    camera = Camera.orbit(1.0, fov=90.0, size=(100, 300), dtype=torch.float64)
    assert seen(camera, (0.0, 1.0, 0.0))[1] == pytest.approx(0.0)


def test_look_at_is_differentiable():
    def pose(eye, target, fov):
        camera = Camera.look_at(eye, target, fov=fov, dtype=torch.float64)
        return torch.cat([camera.rotation.reshape(-1), camera.focal])

    inputs = {"eye": [1.0, 2.0, 3.0], "target": [0.1, 0.0, 0.2], "fov": 50.0}
    check_gradient(
        pose, {k: torch.tensor(v, dtype=torch.float64) for k, v in inputs.items()}, step=1e-4, tolerance=1e-6
    )


def test_one_camera_per_frame():
    eyes = torch.tensor([[0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
    assert tuple(Camera.look_at(eyes).rotation.shape) == (2, 3, 3)


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda: Camera.look_at((0, 1, 0)), "on one line"),
        (lambda: Camera.orbit(2.0, fov=180.0), "between 0 and 180"),
        (lambda: Camera.orbit(2.0, size=(0, 5)), "at least 1 x 1"),
        (lambda: Camera.orbit(2.0, near=2.0, far=1.0), "0 < near < far"),
        (lambda: Camera.orbit(torch.tensor(2.0), dtype=torch.float64), "never changed silently"),
    ],
)
def test_bad_cameras(make, said):
    with pytest.raises(InputError, match=said):
        make()
