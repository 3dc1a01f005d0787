"""Places of an objective that are simulated and drawn together are worth what each is worth alone."""

from __future__ import annotations

import math

import pytest
import torch

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer
from diffloom_fitting import run_search
from diffloom_fitting.gradient_check import check_gradient, check_wide_gradient
from diffloom_fitting.kinds import get_loss
from diffloom_fitting.optimisers.jacobian import jacobian
from diffloom_fitting.problem import Evaluation
from diffloom_fitting.scene import batches


def objective(unknowns, loss="mse", cameras=None):
    model = get_model("springs").chain(count=4, height=0.02)
    view = cameras or fitting.Orbit(distance=3, elevation=10, size=(20, 24))
    scene = fitting.Scene(
        model, get_renderer("softras")(), view, model.params(torch.float64, rest_length=0.2), dt=1e-3, steps=60
    )
    truth = {"stiffness": 120.0, "mass": 0.2}
    video = fitting.synthesise_views(scene, truth, rate=33) if cameras else fitting.synthesise(scene, truth, rate=33)
    stage = fitting.Stage(fitting.GaussNewton(), 1)
    experiment = fitting.Experiment(scene, video, unknowns, get_loss(loss)(), (stage,))
    return experiment.objective(), experiment.start()


TWO = {"front": fitting.Orbit(size=(20, 24)), "side": fitting.Orbit(azimuth=70.0, size=(16, 16))}


@pytest.fixture
def counted(monkeypatch):
    """Sizes of the batches that were simulated."""
    sizes = []
    simulate = batches.simulate

    def counting(model, params, **how):
        sizes.append(params.batch)
        return simulate(model, params, **how)

    monkeypatch.setattr(batches, "simulate", counting)
    return sizes


@pytest.mark.parametrize("loss", ["mse", "state"])
@pytest.mark.parametrize("cameras", [None, TWO])
def test_values_and_residuals_are_the_same_bits(counted, loss, cameras):
    seen, z = objective({"stiffness": 100.0, "mass": 0.1}, loss, cameras)
    places = [z + 0.1 * k for k in range(5)]
    together = seen.values_at(places)
    assert [one.value for one in together] == [seen.value(place).value for place in places]
    assert len({one.value for one in together}) == 5
    for row, place in zip(seen.residuals_at(places), places, strict=True):
        assert torch.equal(row, seen.residuals(place))
    assert counted == [5, 5]


def test_gradients_are_checked_together_to_the_same_bits(counted, monkeypatch):
    seen, z = objective({"stiffness": 100.0, "mass": 0.1})
    for check in (check_gradient, check_wide_gradient):
        assert check(seen, z, together=True) == check(seen, z)
    assert set(counted) == {4}
    failed = Evaluation(math.inf, None, "it fell apart")
    monkeypatch.setattr(type(seen), "values_at", lambda self, places: [failed for _ in places])
    with pytest.raises(fitting.FitError, match="fell apart"):
        check_gradient(seen, z, together=True)


def test_worlds_are_simulated_together(counted):
    world = get_model("world").example()
    view = fitting.Orbit(distance=1, size=(20, 24))
    scene = fitting.Scene(world, get_renderer("softras")(), view, world.params(torch.float64), dt=2.5e-4, steps=80)
    video = fitting.synthesise(scene, {"ball.mass": [0.4]}, rate=200)
    stage = fitting.Stage(fitting.GaussNewton(), 1)
    experiment = fitting.Experiment(scene, video, {"ball.mass": [0.3]}, get_loss("mse")(), (stage,))
    seen, z = experiment.objective(), experiment.start()
    places = [z + 0.1 * k for k in range(3)]
    values = [one.value for one in seen.values_at(places)]
    assert values == [seen.value(place).value for place in places]
    assert len(set(values)) == 3
    assert counted == [3]


def test_columns_of_a_jacobian_are_simulated_together(counted):
    seen, z = objective({"stiffness": 100.0, "mass": 0.1, "velocity": [0.0, 0.0, 0.0]})
    slopes = run_search(seen, jacobian(seen, z, seen.residuals(z), central=True, width=1e-3))
    assert counted == [10]
    for i in range(len(z)):
        step = torch.zeros_like(z)
        step[i] = 1e-3
        alone = 0.5 * (seen.residuals(z + step) - seen.residuals(z - step)) / 1e-3
        assert torch.equal(slopes[i], alone.to(slopes.dtype))


def test_a_place_that_fails_spoils_no_other(counted):
    seen, z = objective({"stiffness": 100.0})
    places = [z, z + 30.0, z + 0.1]
    values = [one.value for one in seen.values_at(places)]
    assert counted == [3]
    assert math.isinf(values[1])
    assert values[::2] == [seen.value(place).value for place in places[::2]]


def test_places_of_a_camera_are_looked_at_one_by_one(counted):
    seen, z = objective({"camera.azimuth": 10.0, "stiffness": 100.0})
    places = [z, z + 0.05]
    assert [one.value for one in seen.values_at(places)] == [seen.value(place).value for place in places]
    assert counted == []
