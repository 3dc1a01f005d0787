"""Searches in lockstep find what each finds alone, to the last bit, with fewer and larger simulations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import diffloom_fitting as fitting
from diffloom.interfaces import SimulationError
from diffloom.plugins import get_model, get_renderer
from diffloom_fitting import many_views, together
from diffloom_fitting.landscape import Axis, evaluate_grid
from diffloom_fitting.lockstep import in_lockstep
from diffloom_fitting.loop import advance, begin
from diffloom_fitting.objective import Objective
from diffloom_fitting.optimisers import CmaEs, LineScan
from diffloom_fitting.starts_together import StartsTogether
from diffloom_fitting.together import answer
from diffloom_fitting.trust.hamiltonian import sample
from diffloom_fitting.trust.linearised import linearise
from diffloom_fitting.trust.posterior import energy_of


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
    """How many scenes each simulation had."""
    from diffloom import simulation

    sizes = []
    whole = simulation.simulate

    def counting(model, params, **how):
        if not torch._C._are_functorch_transforms_active():
            sizes.append(params.batch or 1)
        return whole(model, params, **how)

    monkeypatch.setattr(many_views, "simulate", counting)
    monkeypatch.setattr(simulation, "simulate", counting)
    return sizes


def test_searches_meet_at_each_question():
    rounds = []

    def told(requests):
        rounds.append(list(requests))
        return [10 * r if r < 7 else ValueError(f"no {r}") for r in requests]

    def search(first, count):
        def run(ask):
            return sum(ask([first + k])[0] for k in range(count))

        return run

    assert in_lockstep([search(1, 2), search(4, 1), search(2, 3)], told) == [30, 40, 90]
    assert rounds == [[1, 4, 2], [2, 3], [4]]
    with pytest.raises(ValueError, match="no 7"):
        in_lockstep([search(6, 2), search(1, 5)], told)


def test_gradients_of_many_places_are_the_same_bits(simulated):
    given = experiment()
    objective, places = given.objective(), [given.start() + 0.1 * k for k in range(5)]
    simulated.clear()
    alone = [objective.evaluate(z) for z in places]
    assert simulated == [1] * 5
    simulated.clear()
    trials = together.trials([(objective, z) for z in places])
    assert [trial.loss.value for trial in trials] == [one.value for one in alone]
    assert simulated == [5]

    def search(k):
        return lambda ask: objective.asking(ask).evaluate(places[k])

    for one, other in zip(in_lockstep([search(k) for k in range(5)], answer), alone, strict=True):
        assert one.value == other.value
        assert torch.equal(one.gradient, other.gradient)
    assert simulated == [5, 5]


def test_a_gradient_that_comes_late_is_the_same():
    given = experiment()
    objective, places = given.objective(), [given.start() + 0.1 * k for k in range(2)]
    first, second = together.trials([(objective, z) for z in places])
    assert torch.equal(first.evaluation().gradient, objective.evaluate(places[0]).gradient)
    assert torch.equal(second.evaluation().gradient, objective.evaluate(places[1]).gradient)


def test_a_place_that_fails_fails_alone():
    given = experiment()
    objective, start = given.objective(), given.start()
    far = start + torch.tensor([30.0, 0.0], dtype=start.dtype)

    def search(z):
        return lambda ask: objective.asking(ask).evaluate(z)

    fine, lost = in_lockstep([search(start), search(far)], answer)
    assert torch.equal(fine.gradient, objective.evaluate(start).gradient)
    assert not lost.finite

    def columns(z):
        return lambda ask: list(objective.asking(ask).residuals_at([z]))

    with pytest.raises(SimulationError):
        in_lockstep([columns(start), columns(far)], answer)


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
    starts = StartsTogether(given)
    found, told = followed(given, starts.advance)
    starts.close()
    assert told == history
    assert torch.equal(found.z, alone.z)
    assert [(o.start, o.value, o.reason) for o in found.outcomes] == [
        (o.start, o.value, o.reason) for o in alone.outcomes
    ]
    assert len({o.start for o in found.outcomes}) == (1 if more == {"enough": 1e-1} else 4)
    if "enough" in more:  # a start that is enough makes the others needless, so that each waits
        assert simulated == [size for size in simulated if size <= 2]
        assert len(simulated) == count
    else:
        assert max(simulated) == 8
        assert len(simulated) < 0.6 * count


def test_chains_of_draws_run_together(simulated):
    given = experiment()
    objective, z = given.objective(), given.start()
    root, starts = 1e-3 * torch.eye(2, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64)
    law = energy_of(objective, z, root, 1.0, 10)
    simulated.clear()
    apart = sample(law, starts, 3, 2, 1)
    count = len(simulated)
    simulated.clear()
    joined = sample(law, starts, 3, 2, 1, answer)
    assert torch.equal(apart.places, joined.places)
    assert (apart.accepted, apart.evaluations) == (joined.accepted, joined.evaluations)
    assert len(simulated) < 0.6 * count
    assert sum(simulated) == count


def test_generations_lines_grids_and_verdicts_are_simulated_as_batches(simulated):
    given = experiment()
    objective, z = given.objective(), given.start()

    def step(optimiser):
        here = optimiser.begin(objective, z, 0)
        simulated.clear()
        optimiser.step(objective, here, 1.0)
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
    """What was found, its loss, the frames kept aside and the verdict are of one simulation."""
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
