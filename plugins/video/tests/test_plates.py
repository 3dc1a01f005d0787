"""Background plates: from frames, arrays and files; and what differs from them."""

import numpy as np
import pytest
from PIL import Image

from diffloom.interfaces import InputError
from diffloom_video.segmentation import BackgroundPlate, background_plate, find_rough_masks, measure_differences


@pytest.fixture
def video():
    """A bright square that moves over a wall, from the third of nine frames on."""
    wall = np.linspace(0.2, 0.5, 24, dtype=np.float32)[None, :, None] * np.ones((16, 1, 3), np.float32)
    frames = np.repeat(wall[None], 9, axis=0)
    for k in range(3, 9):
        frames[k, 4:10, 2 * k : 2 * k + 5] = (0.9, 0.8, 0.1)
    return frames, wall


def test_the_plate_is_what_is_behind_the_object(video):
    frames, wall = video
    np.testing.assert_allclose(background_plate(frames, "first", first=3), wall)
    np.testing.assert_allclose(background_plate(frames), wall, atol=1e-6)
    np.testing.assert_array_equal(background_plate(frames, wall), wall)


def test_a_plate_from_a_file_is_brought_to_the_videos_size(video, tmp_path):
    frames, wall = video
    large = np.repeat(np.repeat((255 * wall).round().astype(np.uint8), 4, axis=0), 4, axis=1)
    Image.fromarray(large).save(tmp_path / "wall.png")
    found = background_plate(frames, str(tmp_path / "wall.png"))
    assert found.shape == wall.shape
    assert np.abs(found - wall).max() < 0.02


def test_wrong_plates_are_refused_in_words(video):
    frames, wall = video
    with pytest.raises(InputError, match=r"a plate of shape \(8, 24, 3\); expected \(16, 24, 3\)"):
        background_plate(frames, wall[:8])
    with pytest.raises(InputError, match="expected median, first, or an image file"):
        background_plate(frames, "midian")


def test_a_shadow_counts_little_and_an_object_in_full(video):
    _, wall = video
    shadow, red = 0.6 * wall, wall * np.array([1.6, 0.4, 0.4], np.float32)
    assert measure_differences(shadow, wall, True).mean() < 0.4 * measure_differences(shadow, wall, False).mean()
    assert measure_differences(red, wall, True).mean() > 0.6 * measure_differences(red, wall, False).mean()
    assert measure_differences(wall, wall, True).max() < 1e-6


def test_the_threshold_is_found_or_given(video):
    frames, wall = video
    apart = np.stack([measure_differences(image, wall, True) for image in frames])
    masks = find_rough_masks(apart, None)
    assert masks[3:].sum(axis=(1, 2)).tolist() == [30] * 6
    assert not masks[:3].any()
    assert not find_rough_masks(apart, 2.0).any()
    mattes = BackgroundPlate(plate="first", first=3).mattes(frames)
    assert mattes.shape == frames.shape[:3]
    assert mattes[5, 6, 12] > 0.9
    assert mattes[0].max() < 0.1
