"""Draws from posteriors whose law is known, and profiles of the likelihood."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from toy_scenes import START, TRUTH, noisy, toy_scene

from diffloom.interfaces import InputError
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.fits import fit, run_fit
from diffloom_fitting.landscape import Axis, evaluate_grid, profile
from diffloom_fitting.priors import Gaussian
from diffloom_fitting.results import result_data
from diffloom_fitting.targets import synthesise
from diffloom_fitting.trust.hamiltonian import sample
from diffloom_fitting.unknowns import Unknown


def normal(place):
    """Two numbers of deviations 1 and 2 and correlation 0.6, around (1, -1)."""
    covariance = torch.tensor([[1.0, 1.2], [1.2, 4.0]], dtype=torch.float64)
    pull = torch.linalg.solve(covariance, place - torch.tensor([1.0, -1.0], dtype=torch.float64))
    return 0.5 * float((place - torch.tensor([1.0, -1.0], dtype=torch.float64)) @ pull), pull


def banana(place):
    """x normal, y - x^2 normal: curved, so that no covariance describes it. The mean of y is 1, its variance 3."""
    bent = float(place[1] - place[0] ** 2)
    slope = torch.stack([place[0] - 2.0 * place[0] * bent, torch.tensor(bent, dtype=place.dtype)])
    return 0.5 * float(place[0] ** 2) + 0.5 * bent**2, slope


def known(energy):
    """The search for an energy that takes no evaluation."""

    def search(place):
        yield from ()
        return energy(place)

    return search


def test_draws_have_the_moments_of_a_normal_law():
    drawn = sample(known(normal), torch.zeros((4, 2), dtype=torch.float64), 400, 60, seed=3)
    flat = drawn.places.reshape(-1, 2)
    # Six standard errors of what these draws are worth.
    error = 6.0 * flat.std(dim=0) / drawn.effective().sqrt()
    assert bool(((flat.mean(dim=0) - torch.tensor([1.0, -1.0])).abs() < error).all())
    assert flat.std(dim=0).tolist() == pytest.approx([1.0, 2.0], rel=0.15)
    assert float(torch.corrcoef(flat.T)[0, 1]) == pytest.approx(0.6, abs=0.1)
    assert float(drawn.agreement().max()) < 1.05
    assert drawn.diverged == 0
    assert 0.6 < drawn.accepted < 0.99


def test_draws_follow_a_curved_law():
    drawn = sample(known(banana), torch.zeros((4, 2), dtype=torch.float64), 800, 100, seed=5)
    flat = drawn.places.reshape(-1, 2)
    error = 6.0 * flat.std(dim=0) / drawn.effective().sqrt()
    assert abs(float(flat[:, 1].mean()) - 1.0) < float(error[1])
    assert float(flat[:, 1].var()) == pytest.approx(3.0, rel=0.3)


def test_chains_that_do_not_meet_are_seen():
    far = torch.tensor([[-50.0], [50.0]], dtype=torch.float64)
    law = known(lambda x: (0.0 if abs(float(x)) > 40.0 else math.inf, torch.zeros_like(x)))
    drawn = sample(law, far, 30, 0, seed=1)
    assert float(drawn.agreement().max()) > 1.1


def test_the_same_seed_gives_the_same_draws():
    start = torch.zeros((2, 2), dtype=torch.float64)
    first, second, other = (sample(known(normal), start, 20, 10, seed).places for seed in (7, 7, 8))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


def test_a_posterior_agrees_with_the_curvature_where_the_law_is_normal():
    scene = toy_scene(steps=20)
    video = noisy(synthesise(scene, TRUTH))
    plain, drawn = (fit(scene, video, START, uncertainty=method) for method in ("laplace", "posterior"))
    assert drawn.verdict.level == "green", str(drawn.verdict)
    for near, far in zip(plain.estimates, drawn.estimates, strict=True):
        assert float(far.deviation) == pytest.approx(float(near.deviation), rel=0.35)
        low, high = far.interval
        assert low < far.found < high
        assert float(high - low) == pytest.approx(3.92 * float(far.deviation), rel=0.35)
    told = {e["name"]: e["interval"] for e in result_data(drawn)["estimates"]}
    assert told["gravity"][0] < 6.0 < told["gravity"][1]
    assert "95 % of the posterior: gravity from " in str(drawn)


def test_a_sharp_prior_sharpens_the_posterior():
    scene = toy_scene(steps=20)
    video = noisy(synthesise(scene, TRUTH), 0.05)
    unknowns = [Unknown(name, value) for name, value in START.items()]
    wide = run_fit(Experiment(scene, video, unknowns))
    prior = Gaussian({"drag": 0.8}, {"drag": 0.001}, noise=0.05)
    sharp = run_fit(Experiment(scene, video, unknowns, gaussian=prior, uncertainty="posterior"))
    assert sharp.iterations < 15, "a prior's residuals are no pixels that jump"
    assert float(sharp.estimates[1].deviation) == pytest.approx(0.001, rel=0.4)
    assert float(sharp.estimates[1].deviation) < 0.5 * float(wide.estimates[1].deviation)


def test_a_profile_is_as_wide_as_the_curvature_says():
    scene = toy_scene(steps=20)
    experiment = Experiment(scene, noisy(synthesise(scene, TRUTH)), [Unknown(n, v) for n, v in START.items()])
    result = run_fit(experiment)
    found, deviation = float(result["gravity"]), float(result.estimates[0].deviation)
    axis = Axis.parse(f"gravity={found - 4.0 * deviation}:{found + 4.0 * deviation}:9")
    seen = profile(experiment, result, [axis])
    low, high = seen.interval()
    assert high - low == pytest.approx(2.0 * 1.96 * deviation, rel=0.25)
    # Without refitting drag the loss rises faster: the two trade off.
    held = replace(experiment, target=replace(experiment.target, truth={"drag": result["drag"]}))
    assert (evaluate_grid(held, [axis]).losses >= seen.grid.losses - 1e-12).all()
    short = profile(experiment, result, [Axis.parse(f"gravity={found - 0.1 * deviation}:{found + 0.1 * deviation}:3")])
    assert short.interval() == (-math.inf, math.inf)


def test_unknowns_of_several_numbers_have_no_profile():
    scene = toy_scene(steps=10)
    experiment = Experiment(scene, noisy(synthesise(scene, TRUTH)), [Unknown("gravity", 7.0), Unknown("velocity")])
    with pytest.raises(InputError, match="velocity.*this is a vector, and an axis has one number; seek its components"):
        profile(experiment, run_fit(experiment, sure=False), [Axis.parse("velocity=0:1:3")])
