"""Searches that are driven together find what each finds alone, to the last bit, with fewer, larger simulations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import diffloom
import diffloom_fitting as fitting
from diffloom.interfaces import SimulationError
from diffloom.plugins import get_model, get_renderer
from diffloom_fitting import Evaluate, Evaluation, Problem, run_search, run_searches
from diffloom_fitting.driver import Driver, pose
from diffloom_fitting.landscape import Axis, evaluate_grid
from diffloom_fitting.loop import MultiStart, advance, begin
from diffloom_fitting.objective import Objective
from diffloom_fitting.optimisers import CmaEs, LineScan
from diffloom_fitting.scene import batches
from diffloom_fitting.trust.hamiltonian import sample
from diffloom_fitting.trust.linearised import linearise
from diffloom_fitting.trust.posterior import make_energy


def experiment(stages=None, **more):
    model = get_model("springs").chain(count=4, height=0.02)
    view = fitting.Orbit(distance=3, elevation=10, size=(20, 24))
    params = model.params(torch.float64, rest_length=0.2)
    scene = fitting.Scene(model, get_renderer("softras")(), view, params, dt=1e-3, steps=60)
    video = fitting.synthesise(scene, {"stiffness": 120.0, "mass": 0.2}, rate=33)
    chosen = stages or (fitting.Stage(fitting.GaussNewton(), 4, stop=fitting.Stop(loss=1e-26)),)
    return fitting.Experiment(scene, video, {"stiffness": 100.0, "mass": 0.1}, stages=chosen, **more)


@pytest.fixture
def simulated(monkeypatch):
    """Sizes of the simulated batches."""
    sizes = []
    whole = diffloom.simulate

    def counting(model, params, **how):
        if not torch._C._are_functorch_transforms_active():
            sizes.append(params.batch or 1)
        return whole(model, params, **how)

    monkeypatch.setattr(batches, "simulate", counting)
    monkeypatch.setattr(diffloom, "simulate", counting)
    return sizes


class Squares(Problem):
    """The square of a number below 7, which has no residuals; each call is noted as it comes."""

    layout, enough = None, None

    def __init__(self):
        self.rounds = []

    def evaluate_batch(self, questions):
        self.rounds.append([float(point) for _, request in questions for point in request.points])
        if questions[0][1].want == "residuals":
            return [ValueError(f"no {point}") for _, request in questions for point in request.points[:1]]
        return [[Evaluation(float(point) ** 2) for point in request.points] for _, request in questions]


def test_searches_meet_at_each_request():
    problem = Squares()

    def search(first, count):
        total = 0.0
        for k in range(count):
            (seen,) = yield Evaluate([torch.tensor(first + k)])
            total += seen.value
        return total

    found = run_searches([pose(problem, search(*given)) for given in ((1, 2), (4, 1), (2, 3))])
    assert found == [5, 16, 29]
    assert problem.rounds == [[1, 4, 2], [2, 3], [4]]


def test_an_error_is_raised_where_the_request_was_made():
    problem = Squares()

    def search(careful):
        yield Evaluate([torch.tensor(1)])
        try:
            yield Evaluate([torch.tensor(7)], "residuals")
        except ValueError as error:
            if careful:
                return str(error)
            raise

    assert run_search(problem, search(True)) == "no 7"
    driver = Driver([pose(problem, search(careful)) for careful in (True, False)])
    with pytest.raises(ValueError, match="no 7"):
        driver.run()
    assert [member.result for member in driver.members] == ["no 7", None]


def test_searches_that_fell_out_of_step_meet_at_the_next_differentiable_loss():
    problem = Squares()

    def search(first, others):
        for k in range(others):
            yield Evaluate([torch.tensor(10 * first + k)])
        (seen,) = yield Evaluate([torch.tensor(first)], differentiable=True)
        return seen.value

    assert run_searches([pose(problem, search(k, 2 - k)) for k in range(3)]) == [0, 1, 4]
    assert problem.rounds == [[0, 10], [1], [0, 1, 2]]


def test_answers_of_what_is_known_need_no_round():
    given = experiment()
    objective, rounds = given.objective(), []

    def search():
        (seen,) = yield Evaluate([given.start()], differentiable=True)
        assert seen.gradient is None
        (residuals,) = yield Evaluate([seen], "residuals")
        (late,) = yield Evaluate([seen], "gradient")
        (again,) = yield Evaluate([late], "gradient")
        assert again is late
        return late, residuals

    posed = pose(objective, search())
    driver = Driver([posed])
    while not driver.members[0].ended:
        rounds.append(driver.members[0].question[1].want)
        driver.round()
    late, residuals = driver.members[0].result
    assert rounds == ["value", "gradient"]
    assert torch.equal(late.gradient, objective.evaluate(given.start()).gradient)
    assert torch.equal(residuals, objective.residuals(given.start()))


def gradients_at(objective, *places):
    def search(z):
        (seen,) = yield Evaluate([z], "gradient")
        return seen

    return run_searches([pose(objective, search(z)) for z in places])


def test_gradients_of_many_places_are_the_same_bits(simulated):
    given = experiment()
    objective, places = given.objective(), [given.start() + 0.1 * k for k in range(5)]
    simulated.clear()
    alone = [objective.evaluate(z) for z in places]
    assert simulated == [1] * 5
    simulated.clear()
    (tried,) = objective.evaluate_batch([(objective, Evaluate(places, differentiable=True))])
    assert [one.value for one in tried] == [one.value for one in alone]
    assert simulated == [5]
    for one, other in zip(gradients_at(objective, *places), alone, strict=True):
        assert one.value == other.value
        assert torch.equal(one.gradient, other.gradient)
    assert simulated == [5, 5]


def test_a_gradient_that_comes_late_is_the_same():
    given = experiment()
    objective, places = given.objective(), [given.start() + 0.1 * k for k in range(2)]

    def search():
        tried = yield Evaluate(places, differentiable=True)
        (first,) = yield Evaluate(tried[:1], "gradient")
        (second,) = yield Evaluate(tried[1:], "gradient")
        return first, second

    for late, z in zip(run_search(objective, search()), places, strict=True):
        assert torch.equal(late.gradient, objective.evaluate(z).gradient)


def test_a_place_that_fails_fails_alone(simulated):
    given = experiment()
    objective, start = given.objective(), given.start()
    far = start + torch.tensor([30.0, 0.0], dtype=start.dtype)
    fine, lost = gradients_at(objective, start, far)
    assert torch.equal(fine.gradient, objective.evaluate(start).gradient)
    assert not lost.finite
    simulated.clear()
    assert not objective.value(far).finite
    assert simulated == [1]

    def columns(z):
        return (yield Evaluate([z], "residuals"))

    driver = Driver([pose(objective, columns(z)) for z in (start, far)])
    with pytest.raises(SimulationError):
        driver.run()
    assert torch.equal(driver.members[0].result[0], objective.residuals(start))


STARTS = tuple({"stiffness": torch.tensor(60.0 + 30.0 * k), "mass": torch.tensor(0.3)} for k in range(3))


def followed(given, step):
    state, records = begin(given), []
    while not state.finished:
        state, record = step(state)
        records.append(replace(record, seconds=0.0))
    return replace(state, seconds=(0.0, 0.0), progress=None), records


@pytest.mark.parametrize("more", [{}, {"probe": 2}, {"enough": 1e-30}, {"enough": 1e-1}])
def test_starts_run_together_and_are_told_one_after_the_other(simulated, more):
    given = experiment(starts=STARTS, **more)
    simulated.clear()
    alone, history = followed(given, lambda state: advance(given, state))
    count = len(simulated)
    simulated.clear()
    found, told = followed(given, MultiStart(given).advance)
    assert told == history
    assert torch.equal(found.z, alone.z)
    assert [(o.start, o.value, o.reason) for o in found.outcomes] == [
        (o.start, o.value, o.reason) for o in alone.outcomes
    ]
    assert len({o.start for o in found.outcomes}) == (1 if more == {"enough": 1e-1} else 4)
    if "enough" in more:  # a start that is enough ends the fit, so each waits for the one before
        assert simulated == [size for size in simulated if size <= 2]
        assert len(simulated) == count
    else:
        assert max(simulated) == 8
        assert len(simulated) < 0.6 * count


def test_chains_of_draws_run_together(simulated):
    given = experiment()
    objective, z = given.objective(), given.start()
    root, starts = 1e-3 * torch.eye(2, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64)
    law = make_energy(objective, z, root, 1.0, 10)
    simulated.clear()
    apart = sample(law, starts, 3, 2, 1, together=False)
    count = len(simulated)
    simulated.clear()
    joined = sample(law, starts, 3, 2, 1)
    assert torch.equal(apart.places, joined.places)
    assert (apart.accepted, apart.evaluations) == (joined.accepted, joined.evaluations)
    assert len(simulated) < 0.6 * count
    assert sum(simulated) == count


def test_generations_lines_grids_and_verdicts_are_simulated_as_batches(simulated):
    given = experiment()
    objective, z = given.objective(), given.start()

    def step(optimiser):
        here = run_search(objective, optimiser.begin(objective, z, 0))
        simulated.clear()
        run_search(objective, optimiser.step(objective, here, 1.0))
        return list(simulated)

    assert step(CmaEs(population=6)) == [6]
    assert step(LineScan(trials=5))[0] == 5
    simulated.clear()
    objective.evaluate(z)
    assert replace(objective, differences=True).evaluate(z).finite
    assert simulated == [1, 2]  # the value itself is remembered
    simulated.clear()
    evaluate_grid(given, [Axis("stiffness", np.linspace(90.0, 150.0, 5)), Axis("mass", np.linspace(0.1, 0.3, 2))])
    assert simulated == [10]
    simulated.clear()
    linearise(objective, z)
    assert simulated[0] == 4  # the place itself is remembered; a step to either side of it in each unknown
    assert sum(simulated) <= 4 + 1 + 6 * 4  # the gradient, and places farther off where one shows a jump


def test_a_fit_simulates_its_end_once(simulated):
    """Estimate, loss, holdout and verdict share one simulation."""
    base = experiment()
    target = base.target
    given = replace(base, target=target.select([1]), holdout=target.select([0]))
    objective, z = given.objective(), given.start()
    simulated.clear()
    losses = [objective.value(z).value, given.last_objective().value(z).value]
    losses.append(given.objective(given.holdout).value(z).value)
    assert simulated == [1]
    fresh = replace(given, seed=1)
    assert losses[0] == fresh.objective().value(z).value
    assert losses[2] == replace(fresh, seed=2).objective(fresh.holdout).value(z).value


def test_no_gradient_is_taken_where_no_step_follows(monkeypatch):
    taken = []
    whole = Objective.backward
    monkeypatch.setattr(Objective, "backward", lambda self, *given: taken.append(1) or whole(self, *given))
    stages = tuple(fitting.Stage(fitting.GaussNewton(), 9, stop=fitting.Stop(loss=enough)) for enough in (1e-12, 1.0))
    result = fitting.run_fit(experiment(stages), sure=False)
    assert result.loss < 1e-12
    stepped = [record for record in result.history if record.stage == 0]
    assert len(taken) == len(stepped) - 1
    assert [record.gradient for record in result.history][-2:] == [None, None]
