"""Schedules, fixed cameras, clips and images: small parts, each with what it refuses."""

import dataclasses

import numpy as np
import pytest
import torch
from PIL import Image

from diffloom.interfaces import InputError
from diffloom_fitting import MovingCamera, Orbit, Schedule
from diffloom_fitting.scene.placement import make_camera
from diffloom_motion.clips import Clip
from diffloom_studio import write_frames
from diffloom_studio.report.control_page import draw_heat_map


def test_schedules_go_from_first_to_last():
    assert [Schedule(1.0, 3.0).at(k, 5) for k in range(5)] == [1.0, 1.5, 2.0, 2.5, 3.0]
    assert [Schedule(1.0, 16.0, "exponential").at(k, 5) for k in range(5)] == pytest.approx([1.0, 2.0, 4.0, 8.0, 16.0])
    assert [Schedule(0.0, 1.0, "steps", count=2).at(k, 4) for k in range(4)] == [0.0, 0.0, 1.0, 1.0]
    assert [Schedule(0.0, 1.0, over=0.5).at(k, 5) for k in range(5)] == [0.0, 0.5, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"shape": "stairs"}, "linear, exponential, steps"),
        ({"shape": "exponential", "last": 0.0}, "positive ends"),
        ({"over": 0.0}, "above 0 and at most 1"),
        ({"count": 1}, "2 or more steps"),
    ],
)
def test_wrong_schedules_are_refused(given, words):
    with pytest.raises(InputError, match=words):
        Schedule(**{"first": 1.0, "last": 2.0, **given})


def test_a_fixed_camera_is_not_sought_and_a_moving_one_needs_times():
    camera = Orbit(distance=2.0, size=(8, 8)).camera(torch.float64)
    assert make_camera(camera, torch.float64, {}) is camera
    with pytest.raises(InputError, match=r"camera\.distance is an unknown, but the camera is fixed"):
        make_camera(camera, torch.float64, {"distance": torch.tensor(1.0)})
    with pytest.raises(InputError, match="make the camera with dtype=torch.float32"):
        make_camera(camera, torch.float32, {})
    moving = dataclasses.replace(
        camera, eye=torch.stack([camera.eye, camera.eye + 1.0]), rotation=camera.rotation.expand(2, 3, 3)
    )
    tracked = MovingCamera(moving, torch.tensor([0.0, 1.0], dtype=torch.float64))
    with pytest.raises(InputError, match="give the times"):
        make_camera(tracked, torch.float64, {})
    later = make_camera(tracked, torch.float64, {}, torch.tensor([1.0], dtype=torch.float64))
    torch.testing.assert_close(later.eye.reshape(3), camera.eye + 1.0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"orientation": np.zeros((4, 3))}, "orientation has shape"),
        ({"weight": -np.ones(4)}, "a weight of at least 0"),
        ({"weight": np.array([0.0, 1.0, 1.0, 1.0])}, "first frame is missing"),
        ({"rate": 0.0}, "frames per second"),
    ],
)
def test_wrong_clips_are_refused(given, words):
    with pytest.raises(InputError, match=words):
        Clip(
            **{
                "name": "toss",
                "rate": 10.0,
                "position": np.zeros((4, 3)),
                "orientation": None,
                "weight": np.ones(4),
                **given,
            }
        )


def test_windows_begin_at_samples_and_are_not_too_short():
    weight = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    clip = Clip("toss", 10.0, np.arange(21.0).reshape(7, 3), None, weight)
    assert [(piece.name, len(piece)) for piece in clip.windows(4, 2)] == [("toss@0", 4), ("toss@4", 3)]
    with pytest.raises(InputError, match="at least 2 and 1"):
        clip.windows(1, 1)


def test_frames_are_written_in_rows(tmp_path):
    frames = torch.zeros(5, 2, 3, 4)
    frames[..., 0] = torch.linspace(0.0, 1.0, 5)[:, None, None]
    for given, size in (({}, (15, 2)), ({"columns": 2}, (6, 6)), ({"rows": 2}, (9, 4))):
        image = Image.open(write_frames(tmp_path / "new" / "frames.png", frames, **given))
        assert image.size == size
    assert np.asarray(image)[0, :, 0].tolist() == [0] * 3 + [64] * 3 + [128] * 3
    for wrong in (frames[0], frames[:0], frames[..., :2], "frames"):
        with pytest.raises(InputError, match="write_frames: got"):
            write_frames(tmp_path / "frames.png", wrong)


def test_a_heat_map_is_blue_white_and_orange():
    image = draw_heat_map(torch.tensor([[-2.0, 0.0, 2.0]]), 2.0)
    assert image[0].tolist() == [[31, 95, 168], [255, 255, 255], [217, 99, 43]]
    assert draw_heat_map(torch.zeros(300, 900), 0.0).shape == (240, 720, 3)
