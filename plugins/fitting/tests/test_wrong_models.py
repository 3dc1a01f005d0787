"""A model that cannot be right is seen to be wrong, and one that is right is left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from toy_scenes import START, TRUTH, noisy, toy_scene

from diffloom_fitting.experiment import Experiment
from diffloom_fitting.fits import fit
from diffloom_fitting.targets import Target, synthesise
from diffloom_fitting.trust.displacement import displacement
from diffloom_fitting.trust.linearised import linearise
from diffloom_fitting.trust.sight import misfit
from diffloom_fitting.unknowns import Unknown


def measured(scene, target, start):
    experiment = Experiment(scene, target, tuple(Unknown(name, value) for name, value in start.items()))
    objective, z = experiment.objective(), experiment.start()
    return displacement(objective, linearise(objective, z))


def test_noise_moves_nothing():
    scene = toy_scene(steps=20)
    assert measured(scene, noisy(synthesise(scene, TRUTH), 0.02), TRUTH).times < 1.5


def test_an_object_beside_its_image_is_found_as_far_away_as_it_is():
    scene = toy_scene(steps=20)
    video = synthesise(scene, TRUTH)
    frames = video.frames.clone()
    frames[::2] = 0.5 * (frames[::2] + frames[::2].roll(1, dims=2))  # half a pixel to the right
    moved = measured(scene, noisy(replace(video, frames=frames), 0.002), TRUTH)
    assert moved.pixels == pytest.approx(0.5 * 0.5**0.5, rel=0.25)
    assert moved.times > 2.0


@pytest.mark.parametrize(("pixels", "alarming"), [(0.05, False), (0.5, True)])
def test_the_place_of_a_matte_is_known_to_a_tenth_of_a_pixel(pixels, alarming):
    scene = toy_scene(steps=20)
    video = synthesise(scene, TRUTH)
    frames = video.frames.clone()
    frames[::2] = (1.0 - pixels) * frames[::2] + pixels * frames[::2].roll(1, dims=2)
    video = noisy(replace(video, frames=frames), 0.0005)
    video = replace(video, synthetic=False, step=1.0 / 255.0, confidence=torch.ones(len(video), dtype=torch.float64))
    experiment = Experiment(scene, video, tuple(Unknown(name, value) for name, value in TRUTH.items()))
    objective = experiment.objective()
    end = linearise(objective, experiment.start())
    inverse = torch.linalg.inv(end.unit @ end.unit.T)
    found = displacement(objective, end, inverse=inverse)
    assert found.pixels == pytest.approx(pixels * 0.5**0.5, rel=0.25)
    assert (found.times > 2.0) == alarming
    # No displacement of that size shifts the estimate farther: here is one, a constant.
    drawn = objective.views(end.z, gradient=False)[""]
    beside = objective.loss.residuals(drawn, replace(video, frames=video.frames.roll(1, dims=2)))
    shift = inverse @ (end.unit @ (beside - end.fields[0]).reshape(-1)) * found.pixels
    assert found.shift is not None
    assert bool((shift.abs() < 1.2 * found.shift).all())
    assert bool((found.shift > 0.0).all())
    assert measured(scene, replace(video, synthetic=True), TRUTH).times > 2.0, "a renderer errs by no place"
    assert measured(scene, replace(video, confidence=None), TRUTH).times > 2.0, "nothing was cut out"


@pytest.mark.parametrize("level", [0.0, 0.005])
def test_a_wrong_model_is_not_green(level):
    scene = toy_scene(steps=20)
    video = synthesise(scene, TRUTH)
    video = noisy(video, level) if level else video
    right = fit(scene, video, START)
    assert right.verdict.level == "green", str(right.verdict)
    # Without drag another gravity follows the video as well as it can.
    still = replace(scene, params=scene.params.replace(drag=torch.tensor(0.0, dtype=torch.float64)))
    wrong = fit(still, video, {"gravity": START["gravity"]})
    assert wrong.verdict.converged.level == "green"
    assert wrong.verdict.explained.level == "amber", str(wrong.verdict)
    assert "the model errs" in wrong.verdict.explained.text
    assert all(estimate.caveat for estimate in wrong.estimates)


def test_what_is_left_at_the_object_is_compared_with_what_is_left_elsewhere():
    alpha = torch.zeros(8, 20, 20, dtype=torch.float64)
    alpha[:, 5:12, 5:12] = 1.0
    left = 1e-4 * torch.randn(alpha.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64).square()
    video = Target(torch.arange(8.0), torch.zeros(8, 20, 20, 3), synthetic=True)
    assert misfit(video, left, alpha, 1e-8) == pytest.approx(1.0, abs=0.1)
    assert misfit(video, left + 9e-4 * alpha, alpha, 1e-8) == pytest.approx(10.0**0.5, rel=0.1)
    exact = torch.zeros_like(left)
    assert misfit(video, exact, alpha, 1e-8) == 0.0
    assert misfit(video, exact + 1e-6 * alpha, alpha, 1e-8) == pytest.approx(10.0), "in units of what may be left"
    assert misfit(replace(video, synthetic=False), left + 9e-4 * alpha, alpha, 1e-8) == 0.0, "a camera's noise varies"
    assert misfit(video, left, torch.ones_like(alpha), 1e-8) == 0.0, "nowhere to compare with"
