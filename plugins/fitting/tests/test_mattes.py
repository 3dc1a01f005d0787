"""Edges as a camera makes them: mixed in light, blurred by motion, beside a shadow."""

import numpy as np
import pytest
import torch

from diffloom.interfaces import InputError
from diffloom_fitting.segmentation import BackgroundPlate, segment
from diffloom_fitting.segmentation.mattes import motions
from diffloom_fitting.segmentation.shares import shares
from diffloom_fitting.targets import Target
from diffloom_fitting.targets.resize import scale_frame

HEIGHT, WIDTH, RADIUS, GAMMA = 120, 70, 14.0, 2.2
WALL, BALL = np.array((0.85, 0.75, 0.65)), np.array((0.05, 0.35, 0.15))
ROWS = [30.0, 42.0, 54.0, 66.0, 78.0]


def coverage(row, blur):
    """A disc that falls by ``blur`` pixels while it is exposed."""
    y, x = np.indices((HEIGHT, WIDTH)) + 0.5
    each = [
        np.clip(RADIUS - np.hypot(x - 35.0, y - row - shift) + 0.5, 0, 1) for shift in np.linspace(-0.5, 0.5, 25) * blur
    ]
    return np.mean(each, axis=0)


def video(blur, shadow=False):
    """Frames in which light is mixed, and then encoded."""
    frames = []
    for row in ROWS:
        alpha = coverage(row, blur)[..., None]
        behind = np.broadcast_to(WALL**GAMMA, (HEIGHT, WIDTH, 3)).copy()
        if shadow:
            y, x = np.indices((HEIGHT, WIDTH)) + 0.5
            behind *= 1.0 - 0.4 * (np.hypot(x - 45.0, y - row + 9.0) < 16.0)[..., None]
        frames.append((alpha * BALL**GAMMA + (1.0 - alpha) * behind) ** (1.0 / GAMMA))
    return Target(torch.arange(len(ROWS)) / 30.0, torch.from_numpy(np.array(frames, np.float32)))


def plate():
    return np.broadcast_to(WALL, (HEIGHT, WIDTH, 3)).astype(np.float32)


@pytest.mark.parametrize("blur", [0.0, 9.0])
def test_a_ball_keeps_its_size_while_it_moves(blur):
    cleaning = {"edge": 0.4, "soft": 0.15, "exposure": 0.9, "gamma": GAMMA}
    found = segment(video(blur), BackgroundPlate(plate(), cleaning=cleaning))
    assert np.abs(found.tracks[1:-1, 2].numpy() - RADIUS).max() < 0.2
    assert np.abs(found.tracks[1:-1, 1].numpy() - np.array(ROWS[1:-1])).max() < 0.2
    if blur:
        encoded = segment(video(blur), BackgroundPlate(plate(), cleaning=cleaning | {"gamma": 1.0}))
        assert float((RADIUS - encoded.tracks[1:-1, 2]).min()) > 0.5, "a dark ball shrinks where numbers are mixed"


def test_a_shadow_beside_the_object_is_none_of_it():
    cleaning = {"edge": 0.4, "soft": 0.3, "gamma": GAMMA}
    kept, left_out = (
        segment(video(0.0, shadow=True), BackgroundPlate(plate(), cleaning=cleaning | {"shade": shade}))
        for shade in (False, True)
    )
    off = [float((each.tracks[:, 1] - torch.tensor(ROWS)).abs().max()) for each in (kept, left_out)]
    assert off[1] < 0.25 < 0.5 < off[0]


def test_shares_of_known_mixtures():
    a, s = np.array([0.0, 0.3, 0.8, 1.0])[:, None], np.array([1.0, 0.6, 0.9, 1.0])[:, None]
    mixed = (a * BALL**GAMMA + (1.0 - a) * s * WALL**GAMMA) ** (1.0 / GAMMA)
    ball, wall = (np.broadcast_to(colour, mixed.shape) for colour in (BALL, WALL))
    assert shares(mixed, ball, wall, GAMMA, shade=True) == pytest.approx(a[:, 0], abs=1e-5)
    # A grey object cannot be told from a shade of a grey wall: no shade is sought.
    grey = np.full((1, 3), 0.5)
    assert shares(grey, np.full((1, 3), 0.1), np.full((1, 3), 0.8), 1.0, shade=True) == pytest.approx(3.0 / 7.0)


def test_light_is_what_a_coarser_sensor_averages():
    frame = np.zeros((4, 4, 3), np.uint8)
    frame[:, 2:] = 200
    whole = scale_frame(frame, (1, 1), torch.float64, 2.2)
    assert float(whole[0, 0, 0]) == pytest.approx(200 / 255 * 0.5 ** (1 / 2.2), rel=1e-4)
    assert float(scale_frame(frame, (1, 1), torch.float64)[0, 0, 0]) == pytest.approx(100 / 255, abs=0.01)


def test_motions_are_told_where_they_are_seen():
    masks = [np.zeros((20, 20), bool) for _ in range(4)]
    for k, row in enumerate((2, 5, 8)):
        masks[k][row : row + 3, 4:7] = True
    assert motions(masks) == [(3.0, 0.0), (3.0, 0.0), (3.0, 0.0), (0.0, 0.0)]
    with pytest.raises(InputError, match="exposure=2"):
        BackgroundPlate(cleaning={"exposure": 2})
