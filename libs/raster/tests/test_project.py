import pytest
import torch

from diffloom.interfaces import Camera, InputError
from diffloom_raster import count_frames, project


def camera(frames=1, dtype=torch.float64, **kw):
    eye = torch.tensor([[1.0, 2.0, 5.0], [3.0, 1.0, 4.0], [0.5, 3.0, 5.0]], dtype=dtype)[:frames]
    return Camera.look_at(eye if frames > 1 else eye[0], size=(48, 80), dtype=dtype, **kw)


def points(frames, dtype=torch.float64):
    return torch.rand((frames, 7, 3), generator=torch.Generator().manual_seed(1), dtype=dtype) - 0.5


def test_a_point_is_seen_where_the_camera_says():
    cam = camera()
    p = points(2)
    seen = (p - cam.eye) @ cam.rotation.T
    column = cam.centre[0] + cam.focal[0] * seen[..., 0] / -seen[..., 2]
    row = cam.centre[1] - cam.focal[1] * seen[..., 1] / -seen[..., 2]
    x, y, depth = project(p, cam).unbind(-1)
    assert torch.allclose(x + 40, column)
    assert torch.allclose(y + 24, row)
    assert torch.allclose(depth, -seen[..., 2])


def test_the_camera_target_is_in_the_middle():
    place = project(torch.zeros((1, 1, 3), dtype=torch.float64), camera())
    assert torch.allclose(place[0, 0, :2], torch.zeros(2, dtype=torch.float64), atol=1e-12)
    assert place[0, 0, 2] == pytest.approx(30.0**0.5)


def test_up_is_up_and_right_is_right():
    cam = Camera.look_at((0.0, 0.0, 5.0), dtype=torch.float64)
    x, y, _ = project(torch.tensor([[[1.0, 1.0, 0.0]]], dtype=torch.float64), cam)[0, 0]
    assert x > 0
    assert y < 0


@pytest.mark.parametrize("frames", [1, 3])
def test_frames_of_camera_and_surface_are_combined(frames):
    cam = camera(3)
    p = points(frames)
    seen = project(p, cam)
    assert seen.shape == (3, 7, 3)
    for k in range(3):
        one = Camera(cam.rotation[k], cam.eye[k], cam.focal, cam.centre, 48, 80)
        assert torch.equal(project(p[k % frames : k % frames + 1], one)[0], seen[k])


def test_gradients_of_every_input():
    cam = camera(3)
    inputs = (points(3), cam.rotation, cam.eye, cam.focal, cam.centre)
    inputs = tuple(t.detach().clone().requires_grad_() for t in inputs)
    assert torch.autograd.gradcheck(lambda p, r, e, f, c: project(p, Camera(r, e, f, c, 48, 80)), inputs)


def test_gradients_of_inputs_shared_by_all_frames():
    cam = camera(1)
    inputs = (points(3), cam.rotation, cam.eye, cam.focal, cam.centre)
    inputs = tuple(t.detach().clone().requires_grad_() for t in inputs)
    assert torch.autograd.gradcheck(lambda p, r, e, f, c: project(p, Camera(r, e, f, c, 48, 80)), inputs)


def test_points_behind_the_camera_stay_finite():
    cam = Camera.look_at((0.0, 0.0, 5.0), dtype=torch.float64)
    p = torch.tensor([[[1.0, 0.0, 5.0], [1.0, 0.0, 7.0], [0.0, 0.0, 0.0]]], dtype=torch.float64, requires_grad=True)
    seen = project(p, cam)
    seen.sum().backward()
    assert torch.isfinite(seen).all()
    assert torch.isfinite(p.grad).all()
    assert seen[0, 1, 2] == -2.0


def test_other_numbers_of_frames_are_refused():
    with pytest.raises(InputError, match=r"2 frames.*3 frames"):
        count_frames(points(2), camera(3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_precision_is_kept(dtype):
    assert project(points(2, dtype), camera(1, dtype)).dtype == dtype
