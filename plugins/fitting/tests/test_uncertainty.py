"""Uncertainty of fits against their errors."""

from dataclasses import replace

import fitting_toys as toys
import pytest
import torch
from torch.nn.functional import avg_pool2d, conv2d

from diffloom_fitting.fits import fit
from diffloom_fitting.losses import MultiScale
from diffloom_fitting.scene import Appearance, Orbit, Scene
from diffloom_fitting.targets import synthesise
from diffloom_fitting.trust.blocks import widen_by_student
from diffloom_fitting.trust.correlated_noise import CorrelatedNoise

TRUTH = {"gravity": 6.0, "drag": 0.8}
BLUR, MEMORY = 5, 0.7


def scene_of(frames):
    model = toys.ToyModel()
    return Scene(
        model, toys.ToyRenderer(sigma=2.0), Orbit(5.0, 10.0, size=(16, 16)), model.params(torch.float64),
        0.4 / (frames - 1), frames - 1, toys.ToySteps(), appearance=Appearance((0.9, 0.6, 0.3)),
    )  # fmt: skip


def lasting_blotches(shape, seed, memory=MEMORY):
    """Noise of unit variance: blurred over BLUR pixels, alike in all channels, remembered from frame to frame."""
    generator = torch.Generator().manual_seed(seed)
    frames, height, width, _ = shape
    white = torch.randn(frames, 1, height + BLUR - 1, width + BLUR - 1, generator=generator, dtype=torch.float64)
    fresh = BLUR * avg_pool2d(white, BLUR, stride=1)[:, 0]
    lasting = [fresh[0]]
    for frame in fresh[1:]:
        lasting.append(memory * lasting[-1] + (1.0 - memory**2) ** 0.5 * frame)
    return torch.stack(lasting)[..., None].expand(shape)


def test_deviations_hold_when_pixels_err_together():
    """The errors of 30 fits with lasting blotches scatter as much as each predicts; for independent pixels the
    prediction would be a twelfth."""
    scene = scene_of(21)
    clean = synthesise(scene, TRUTH)
    errors, inflations = [], []
    for seed in range(30):
        noisy = clean.frames + 0.02 * lasting_blotches(clean.frames.shape, seed)
        result = fit(scene, replace(clean, frames=noisy), TRUTH)
        told = [e for e in result.estimates if e.deviation is not None]
        errors += [float((e.found - e.truth) / e.deviation) for e in told]
        inflations.append(result.uncertainty.inflation)
    assert len(errors) > 50  # in a few videos the drag is lost in the noise, and ± withheld
    found = torch.tensor(errors)
    assert float(found.square().mean().sqrt()) == pytest.approx(1.0, abs=0.3)
    assert 0.5 < float((found.abs() < 1.0).double().mean()) < 0.85
    assert float((found.abs() < 2.0).double().mean()) > 0.85
    assert min(inflations) > 5.0


def test_the_correlation_is_measured():
    noise = CorrelatedNoise.of(lasting_blotches((200, 24, 24, 1), 3))
    assert len(noise.in_time) > 5
    assert noise.in_time[:3].tolist() == pytest.approx([1.0, MEMORY, MEMORY**2], abs=0.05)
    middle = noise.in_space.shape[2] // 2
    beside = noise.in_space[0, 0, middle, middle:] / noise.in_space[0, 0, middle, middle]
    assert beside[:4].tolist() == pytest.approx([1.0, 0.8, 0.6, 0.4], abs=0.05)
    white = CorrelatedNoise.of(
        torch.randn(50, 16, 16, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    )
    assert len(white.in_time) == 1
    assert white.in_space.shape == (3, 3, 1, 1)


def test_the_scatter_of_a_sum_is_that_of_many_draws():
    """Sums over fixed slopes of 400 noisy videos scatter as the covariance predicts."""
    shape = (8, 10, 12, 2)
    slopes = torch.randn(2, *shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    slopes[:, :, :3] = 0.0
    slopes[1] = slopes[1].abs()
    sums = torch.stack([(slopes * lasting_blotches(shape, seed)).sum(dim=(1, 2, 3, 4)) for seed in range(400)])
    truly = sums.T @ sums / len(sums)
    said = CorrelatedNoise.of(lasting_blotches((400, *shape[1:]), 7)).scatter(slopes)
    assert (said.diagonal() / truly.diagonal()).tolist() == pytest.approx([1.0, 1.0], rel=0.25)


@pytest.mark.parametrize("reach", [1, 4, 9])
def test_sums_over_lags_are_those_of_a_direct_convolution(reach):
    """The scatter is right if lags reach beyond the pixels with slopes."""
    generator = torch.Generator().manual_seed(2)
    slopes = torch.randn(2, 3, 6, 7, 2, generator=generator, dtype=torch.float64)
    in_space = torch.randn(2, 2, 2 * reach - 1, 2 * reach - 1, generator=generator, dtype=torch.float64)
    said = CorrelatedNoise(torch.tensor([1.0], dtype=torch.float64), in_space).scatter(slopes)
    videos = slopes.permute(0, 1, 4, 2, 3)
    summed = torch.stack([conv2d(video, in_space, padding=reach - 1) for video in videos])
    direct = videos.reshape(2, -1) @ summed.reshape(2, -1).T
    assert torch.allclose(said, 0.5 * (direct + direct.T), rtol=1e-12, atol=1e-12)


def test_other_residuals_count_as_independent():
    scene = scene_of(6)
    target = synthesise(scene, TRUTH)
    noisy = replace(target, frames=target.frames + 0.02 * lasting_blotches(target.frames.shape, 0))
    assert fit(scene, noisy, TRUTH, loss=MultiScale()).uncertainty.inflation == 1.0


def test_a_fit_that_has_not_come_to_rest_is_told():
    scene = scene_of(6)
    target = synthesise(scene, TRUTH, levels=255)
    rested, hasty = (fit(scene, target, {"gravity": 9.0, "drag": 0.4}, iterations=n) for n in (20, 1))
    assert rested.uncertainty.unrest < 0.1
    assert hasty.uncertainty.unrest > 1.0
    assert (rested.verdict.level, hasty.verdict.converged.level) == ("green", "red")
    assert "converged: no: one more step would change an unknown" in str(hasty)
    assert "±" not in str(hasty).replace("(± withheld)", "")
    assert [e.caveat for e in hasty.estimates] == ["± withheld", "± withheld"]


@pytest.mark.parametrize(("frames", "quantile"), [(6, 4.303), (8, 3.182), (16, 2.365), (60, 2.365)])
def test_few_windows_widen_as_students_law_says(frames, quantile):
    assert widen_by_student([torch.zeros(frames, 2, 2)]) == pytest.approx(quantile / 1.96, rel=1e-3)
