"""Colours that pixels share, and what blur, brightness and lag of a camera are worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from toy_scenes import START, TRUTH, noisy, toy_scene

from diffloom.interfaces import Image
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.fits import fit, run_fit
from diffloom_fitting.losses.chroma import LUMA, brightness, with_shared_colour
from diffloom_fitting.targets import synthesise
from diffloom_fitting.trust.camera_error import _normal, _vary_recording, camera_shift
from diffloom_fitting.trust.linearised import linearise
from diffloom_fitting.unknowns import Unknown
from diffloom_studio.report.media import write_video
from diffloom_video import read_video


def test_only_colour_is_shared():
    difference = torch.randn((2, 5, 7, 4), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    seen = with_shared_colour(difference, 2)
    luma = torch.tensor(LUMA, dtype=torch.float64)
    assert torch.allclose(seen[..., :3] @ luma, difference[..., :3] @ luma)
    assert torch.equal(seen[..., 3], difference[..., 3])
    colour = seen[..., :3] - (seen[..., :3] @ luma)[..., None]
    assert torch.allclose(colour[:, 0, 0], colour[:, 1, 1])
    assert torch.allclose(colour[:, 4, 6], colour[:, 4, 6])
    assert torch.allclose(seen, with_shared_colour(seen, 2)), "sharing again changes nothing"
    assert with_shared_colour(difference, 1) is difference


@pytest.mark.parametrize(("size", "expected"), [(None, 2), ((32, 32), 1)])
def test_videos_say_how_many_pixels_share_a_colour(tmp_path, size, expected):
    frames = np.random.default_rng(0).integers(0, 256, (4, 64, 64, 3), dtype=np.uint8)
    write_video(tmp_path / "clip.mp4", frames, 20.0)
    assert read_video(tmp_path / "clip.mp4", size=size).chroma == expected


def end_of(target):
    scene = toy_scene(steps=20)
    experiment = Experiment(scene, target, [Unknown(name, value) for name, value in START.items()])
    objective, z = experiment.objective(), run_fit(experiment, sure=False).z
    end = linearise(objective, z)
    return camera_shift(objective, end, torch.eye(len(z), dtype=z.dtype), 0.0)[0] / end.size


def test_a_camera_that_lags_moves_what_is_found():
    target = synthesise(toy_scene(steps=20), TRUTH)
    frames = target.frames
    late = torch.cat([frames[:1], 0.7 * frames[1:] + 0.3 * frames[:-1]])
    assert float(end_of(replace(target, frames=late, step=1 / 255)).max()) > 1e-3
    assert float(end_of(replace(target, step=1 / 255)).max()) < 1e-6, "a camera without errors moves nothing"
    assert not bool(end_of(replace(target, frames=late)).any()), "only recorded videos have a camera"


def test_codecs_err_in_brightness_and_in_colour_apart():
    rgba = torch.rand((4, 6, 6, 4), dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    image = Image(rgba=rgba)
    whole = [made.rgba - rgba for made in _vary_recording(image, coded=False)]
    apart = [made.rgba - rgba for made in _vary_recording(image, coded=True)]
    assert len(apart) == 2 * len(whole)
    for change, grey, colour in zip(whole, apart[::2], apart[1::2], strict=True):
        assert torch.allclose(grey + colour, change)
        assert torch.allclose(grey[..., :3], grey[..., :1].expand(-1, -1, -1, 3))
        assert torch.allclose(brightness(colour), torch.zeros(()).double(), atol=1e-12)
        assert not bool(colour[..., 3].any()), "coverage goes with brightness"


def test_errors_that_last_and_that_drift_are_columns_of_unit_length():
    random = torch.Generator().manual_seed(3)
    rows, changes = (torch.randn((n, 5 * 12), dtype=torch.float64, generator=random) for n in (3, 2))
    cross, own, slope = _normal(rows, changes, frames=5)
    drift = torch.linspace(-1, 1, 5, dtype=torch.float64).repeat_interleave(12)
    columns = torch.cat([changes, changes * drift])
    columns = columns / columns.norm(dim=1, keepdim=True)
    assert torch.allclose(cross, rows[:-1] @ columns.T)
    assert torch.allclose(own, columns @ columns.T)
    assert torch.allclose(slope, columns @ rows[-1])
    assert _normal(rows, changes, frames=1)[1].shape == (2, 2), "one frame has no drift"


def test_noise_alone_is_not_taken_for_a_camera():
    """Fitting camera errors too moves the unknowns, over many noises, by the predicted amount."""
    scene = toy_scene(steps=20)
    target = replace(synthesise(scene, TRUTH), step=1 / 255)
    experiment = Experiment(scene, target, [Unknown(name, value) for name, value in TRUTH.items()])
    objective, z = experiment.objective(), experiment.start()
    end = linearise(objective, z)
    moved, kept = [], torch.eye(len(z), dtype=z.dtype)
    for seed in range(40):
        random = torch.Generator().manual_seed(seed)
        noise = 0.01 * torch.randn(end.residuals.shape, dtype=z.dtype, generator=random)
        beside = replace(end, residuals=noise, half=end.unit @ noise)
        shift, by_noise = camera_shift(objective, beside, kept, 0.01)
        moved.append(shift / by_noise)
    assert torch.stack(moved).square().mean().sqrt() == pytest.approx(1.0, abs=0.2)


def test_the_verdict_and_the_deviation_tell_of_the_camera():
    scene = toy_scene(steps=20)
    target = synthesise(scene, TRUTH)
    late = torch.cat([target.frames[:1], 0.5 * target.frames[1:] + 0.5 * target.frames[:-1]])
    true = noisy(replace(target, step=1 / 255), 0.002)
    exact, lagging = fit(scene, true, START), fit(scene, noisy(replace(true, frames=late), 0.002), START)
    assert exact.uncertainty.camera_bias < 2.0
    assert lagging.uncertainty.camera_bias > exact.uncertainty.camera_bias
    assert lagging.verdict.level != "green"
    for one, other in zip(exact.estimates, lagging.estimates, strict=True):
        assert lagging.uncertainty.deviation[other.name] > 2.0 * exact.uncertainty.deviation[one.name]
