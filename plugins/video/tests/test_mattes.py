"""Edges as a camera makes them: mixed in light, blurred by motion, beside a shadow."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from diffloom.interfaces import InputError
from diffloom_fitting.losses.track import measure_outline_tracks
from diffloom_fitting.targets import Target
from diffloom_fitting.targets.tracks import measure_across_motion, measure_tracks
from diffloom_video.images import average_areas, scale_frame
from diffloom_video.mattes import estimate_coverage, estimate_motions
from diffloom_video.segmentation import BackgroundPlate, segment

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


def test_a_ball_that_is_blurred_throughout_is_not_taken_for_all_that_it_sweeps():
    # It moves by more than its diameter from frame to frame: if it were exposed all that time, nothing would be sharp.
    rows = [20.0, 52.0, 84.0]
    frames = [coverage(row, 14.0)[..., None] for row in rows]
    mixed = [(a * BALL**GAMMA + (1.0 - a) * WALL**GAMMA) ** (1.0 / GAMMA) for a in frames]
    cleaning = {"edge": 0.4, "soft": 0.15, "exposure": 1.0, "gamma": GAMMA}
    found = segment(
        Target(torch.arange(3) / 30.0, torch.from_numpy(np.array(mixed, np.float32))),
        BackgroundPlate(plate(), cleaning=cleaning), ruler="across",
    )  # fmt: skip
    by_area = measure_tracks(found.masks.numpy(), np.ones(3))
    assert np.abs(by_area[:, 2].numpy() - RADIUS).max() < 0.3
    assert np.abs(found.tracks[:, 2].numpy() - RADIUS).max() < 0.3


def test_a_radius_across_the_motion_knows_neither_blur_nor_a_fringe_along_it():
    blurred = np.stack([coverage(row, 12.0) for row in ROWS]).astype(np.float32)
    fringed = np.maximum(blurred, 0.3 * np.stack([coverage(row - 12.0, 8.0) for row in ROWS]).astype(np.float32))
    for mattes, most in ((blurred, 0.05), (fringed, 0.25)):
        tracks, across = measure_across_motion(mattes, measure_tracks(mattes, np.ones(len(ROWS))))
        assert np.abs(across) == pytest.approx([1.0, 0.0], abs=1e-6)
        assert np.abs(tracks[:, 2].numpy() - RADIUS).max() < most
    assert float(measure_tracks(fringed, np.ones(len(ROWS)))[:, 2].min()) > RADIUS + 0.5


def test_an_outline_is_measured_in_the_direction_of_its_track():
    angle = 2.0 * torch.pi * torch.arange(720, dtype=torch.float64) / 720
    ellipse = torch.stack([5.0 + 3.0 * angle.cos(), 7.0 + 2.0 * angle.sin()], dim=1)[None].requires_grad_()
    for across, radius in (((1.0, 0.0), 3.0), ((0.0, 1.0), 2.0), ((0.6, 0.8), (9 * 0.36 + 4 * 0.64) ** 0.5)):
        assert measure_outline_tracks(ellipse, across).tolist()[0] == pytest.approx([5.0, 7.0, radius], rel=1e-4)
    few = ellipse[:, ::90].detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda points: measure_outline_tracks(points, (0.6, 0.8)), (few,), atol=1e-7)


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
    assert estimate_coverage(mixed, ball, wall, GAMMA, shade=True) == pytest.approx(a[:, 0], abs=1e-5)
    # A grey object cannot be told from a shade of a grey wall: no shade is sought.
    grey = np.full((1, 3), 0.5)
    assert estimate_coverage(grey, np.full((1, 3), 0.1), np.full((1, 3), 0.8), 1.0, shade=True) == pytest.approx(
        3.0 / 7.0
    )


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
    assert estimate_motions(masks) == [(3.0, 0.0), (3.0, 0.0), (3.0, 0.0), (0.0, 0.0)]
    with pytest.raises(InputError, match="exposure=2"):
        BackgroundPlate(cleaning={"exposure": 2})


@pytest.mark.parametrize(("shape", "size"), [((9, 12), (3, 4)), ((10, 7), (4, 3)), ((7, 5), (7, 3)), ((5, 5), (1, 1))])
def test_shrinking_is_the_exact_mean_over_each_pixel(shape, size):
    image = np.random.default_rng(0).random((*shape, 3))

    def shares(old, new):
        edges = np.linspace(0.0, old, new + 1)
        overlap = [[min(b, j + 1) - max(a, j) for j in range(old)] for a, b in pairwise(edges)]
        return np.maximum(overlap, 0.0) * new / old

    wanted = np.einsum("ij,jkc,lk->ilc", shares(shape[0], size[0]), image, shares(shape[1], size[1]))
    np.testing.assert_allclose(average_areas(image, size), wanted, rtol=0, atol=1e-14)


def test_frames_of_bytes_shrink_by_the_same_means():
    grey = np.random.default_rng(1).integers(0, 256, (9, 12, 3), dtype=np.uint8)
    shrunk = scale_frame(grey, (3, 4), torch.float64).numpy()
    np.testing.assert_allclose(shrunk, average_areas(grey / 255.0, (3, 4)), rtol=0, atol=1e-6)
