from dataclasses import replace

import fitting_toys as toys
import pytest
import torch
from toy_scenes import TRUTH, toy_scene

from diffloom.interfaces import InputError
from diffloom_fitting.driver import run_search
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.fits import fit, run_fit
from diffloom_fitting.losses import IoU, MultiScale, PixelError, SilhouetteError, StateError
from diffloom_fitting.objective import Objective
from diffloom_fitting.optimisers import Adam, BasinHopping, CmaEs, FitError, GaussNewton, Lbfgs, Sgd
from diffloom_fitting.problem import Evaluation, Problem
from diffloom_fitting.scene import Orbit, Policy, Scene, Sinusoids
from diffloom_fitting.stages import Schedule, Stage, Stop
from diffloom_fitting.targets import synthesise
from diffloom_fitting.unknowns import Unknown


@pytest.mark.parametrize(
    ("optimiser", "iterations", "bound"),
    [
        (GaussNewton(), 15, 1e-9),
        (GaussNewton(width=1e-3), 15, 1e-4),
        (BasinHopping(), 4, 1e-6),
        (Lbfgs(), 40, 1e-5),
        (Adam(rate=0.05), 120, 5e-2),
        (CmaEs(sigma=0.4), 20, 5e-2),
    ],
    ids=lambda v: type(v).__name__ if hasattr(v, "step") else "",
)
def test_every_optimiser_finds_the_truth(optimiser, iterations, bound):
    scene = toy_scene()
    target = synthesise(scene, TRUTH)
    result = fit(scene, target, {"gravity": 9.0, "drag": 0.4}, optimiser=optimiser, iterations=iterations,
                 stop=Stop())  # fmt: skip
    assert {e.name: e.truth.item() for e in result.estimates} == TRUTH
    assert max(e.error for e in result.estimates) < bound
    assert result.loss < result.start_loss


def test_gradient_descent_finds_one_number():
    scene = toy_scene()
    target = synthesise(scene, {"gravity": 6.0})
    result = fit(scene, target, {"gravity": 9.0}, optimiser=Sgd(rate=50.0, momentum=0.5), iterations=30, stop=Stop())
    assert result.estimates[0].error < 1e-3


@pytest.mark.parametrize("loss", [PixelError(), SilhouetteError(), IoU(), MultiScale(), StateError()],
                         ids=lambda loss: type(loss).__name__)  # fmt: skip
def test_every_loss_leads_to_the_truth(loss):
    scene = toy_scene()
    target = synthesise(scene, TRUTH)
    result = fit(scene, target, {"gravity": 7.0, "drag": 0.6}, loss=loss, optimiser=Lbfgs(), iterations=40, stop=Stop())
    assert max(e.error for e in result.estimates) < (2e-2 if isinstance(loss, IoU) else 1e-4)


def test_coarse_images_lead_farther():
    """Coarse images lead home a guess whose spots do not touch the target's; whole images lead it astray."""
    scene = replace(toy_scene(), renderer=toys.ToyRenderer(sigma=2.0), camera=Orbit(5.0, 10.0, size=(64, 64)))
    target = synthesise(scene, {"velocity": [2.5, 3.0, 0.0]}, rate=5)
    unknown = {"velocity": [0.5, 1.5, 0.0]}

    def error(loss):
        return fit(scene, target, unknown, loss=loss, iterations=20, stop=Stop()).estimates[0].error

    assert error(MultiScale(levels=2, first=3)) < 1e-8
    assert error(PixelError()) > 0.1
    with pytest.raises(InputError, match="first=-1"):
        MultiScale(first=-1)


def test_single_precision_reaches_its_own_limit():
    scene = toy_scene(torch.float32)
    result = fit(scene, synthesise(scene, TRUTH), {"gravity": 9.0, "drag": 0.4})
    assert max(e.error for e in result.estimates) < 2e-4
    assert result["gravity"].dtype == torch.float32


def test_per_point_velocities_shared_first():
    scene = toy_scene(count=3)
    truth = {"velocity": [[1.0, 2.0, 0.0], [0.5, 2.5, 0.0], [1.5, 1.5, 0.0]]}
    target = synthesise(scene, truth)
    stages = (
        Stage(GaussNewton(), 10, shared=("velocity",), stop=Stop(change=1e-3, patience=2)),
        Stage(GaussNewton(), 15),
    )
    unknown = Unknown("velocity", [0.8, 1.8, 0.1], each=True)
    result = run_fit(Experiment(scene, target, [unknown], stages=stages))
    assert result["velocity"].shape == (3, 3)
    assert result.estimates[0].error < 1e-6
    first = [r for r in result.history if r.stage == 0][-1]
    assert first.values["velocity"][0] == first.values["velocity"][1] == first.values["velocity"][2]


def test_rows_that_move_together_keep_their_ratios():
    scene = toy_scene(count=3, push=[1.0, 2.0, 3.0])
    target = synthesise(scene, {"push": [1.5, 3.0, 4.5]})
    unknown = Unknown("push", [1.0, 2.0, 3.0], each=True, space="log")
    stages = (Stage(GaussNewton(), 12, together=("push",)),)
    result = run_fit(Experiment(scene, target, [unknown], stages=stages))
    assert result.estimates[0].error < 1e-8
    for record in result.history:
        first, second, third = record.values["push"]
        assert second / first == pytest.approx(2.0)
        assert third / first == pytest.approx(3.0)


def test_a_kept_curvature_saves_simulations():
    scene = toy_scene(count=5)
    target = synthesise(scene, {"velocity": [[1.0 + 0.1 * k, 2.0, 0.0] for k in range(5)]})
    unknown = Unknown("velocity", [0.9, 1.9, 0.05], each=True)

    def run(keep):
        stage = Stage(GaussNewton(keep=keep), 25, stop=Stop(loss=1e-16))
        return run_fit(Experiment(scene, target, [unknown], stages=(stage,)))

    kept, fresh = run(0.7), run(0.0)
    assert kept.estimates[0].error < 1e-5
    assert fresh.estimates[0].error < 1e-5
    assert kept.evaluations < 0.8 * fresh.evaluations


def test_gauss_newton_asks_for_nothing_twice(monkeypatch):
    """No gradient of a step that does not lower the loss, no residuals of a place that was seen."""
    scene = toy_scene()
    experiment = Experiment(scene, synthesise(scene, TRUTH), [Unknown("gravity", 9.0), Unknown("drag", 0.4)])
    objective = experiment.objective()
    backwards, asked, seen = [], [], []
    backward, evaluate_batch = Objective.backward, Objective.evaluate_batch

    def evaluate(self, questions):
        asked.extend(request for _, request in questions)
        return evaluate_batch(self, questions)

    monkeypatch.setattr(Objective, "backward", lambda self, *given: backwards.append(1) or backward(self, *given))
    monkeypatch.setattr(Objective, "evaluate_batch", evaluate)
    optimiser = GaussNewton(damping=1e-12)
    here = run_search(objective, optimiser.begin(objective, experiment.start(0), 0))
    assert torch.equal(here.residuals, objective.residuals(here.z))
    asked.clear()
    while here.done is None:
        before = here
        seen.append(here.z)
        here = run_search(objective, optimiser.step(objective, here, 1.0))
    columns = [z for request in asked if request.want == "residuals" for z in request.points if torch.is_tensor(z)]
    assert len(columns) == 2 * (len(seen) - 1)
    assert not any(torch.equal(z, place) for z in columns for place in seen)
    assert len(backwards) < before.evaluations
    assert before.value <= objective.rounding
    assert here.done == "the loss is rounding error"


class Cells(Problem):
    """A saw of 20 teeth beside a parabola with its minimum at 0.3: downhill leads to the edge of one's own tooth."""

    layout, enough = None, None

    def evaluate_batch(self, questions):
        known = self._residuals if questions[0][1].want == "residuals" else self._evaluation
        return [[known(z) for z in request.points] for _, request in questions]

    def _residuals(self, z):
        return torch.stack([z[0] - 0.3, 0.5 * torch.remainder(20.0 * (z[0] - 0.3), 1.0)])

    def _evaluation(self, z):
        along, tooth = self._residuals(z)
        return Evaluation(float(along**2 + tooth**2) / 2.0, torch.stack([along + 10.0 * tooth]))


def test_basin_hopping_cross_jumps():
    start, cells = torch.tensor([0.93], dtype=torch.float64), Cells()
    basin_hopping, downhill = BasinHopping(step_size=0.5), GaussNewton()
    found, stuck = (run_search(cells, method.begin(cells, start, 1)) for method in (basin_hopping, downhill))
    for _ in range(60):
        found = run_search(cells, basin_hopping.step(cells, found, 1.0))
        stuck = stuck if stuck.done else run_search(cells, downhill.step(cells, stuck, 1.0))
    assert stuck.value > 0.1
    assert found.value < 1e-10


def test_a_stage_may_move_only_some_unknowns():
    scene = toy_scene()
    target = synthesise(scene, TRUTH)
    stages = (Stage(GaussNewton(), 4, only=("gravity",)), Stage(GaussNewton(), 10))
    result = run_fit(Experiment(scene, target, [Unknown("gravity", 9.0), Unknown("drag", 0.4)], stages=stages))
    holdout = [r.values["drag"] for r in result.history if r.stage == 0]
    assert len(set(holdout)) == 1
    assert max(e.error for e in result.estimates) < 1e-8


def test_only_some_rows_are_sought():
    scene = toy_scene(count=3, push=[0.0, 1.0, 2.0])
    target = synthesise(scene, {"push": [0.0, 3.0, 2.0]})
    result = fit(scene, target, [Unknown("push", [0.5], only=(1,))])
    assert result["push"].shape == (1,)
    assert result["push"].item() == pytest.approx(3.0, rel=1e-8)
    assert result.estimates[0].error < 1e-8


def test_the_camera_and_the_colour_can_be_sought():
    scene = toy_scene()
    target = synthesise(scene, {"camera.distance": 5.5, "appearance.colour": [0.8, 0.5, 0.4]})
    result = fit(scene, target, ["camera.distance", "appearance.colour"])
    assert max(e.error for e in result.estimates) < 1e-6


def test_controls_and_policies_are_found():
    scene = toy_scene(steps=10)
    wanted = torch.linspace(0.0, 8.0, 10, dtype=torch.float64)[:, None]
    target = synthesise(scene, {"control.push": wanted})
    result = fit(scene, target, ["control.push"], optimiser=Lbfgs(), iterations=60, stop=Stop())
    assert result.loss < 1e-6 * result.start_loss

    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Tanh())
    with_policy = Scene(
        scene.model, scene.renderer, scene.camera, scene.params, 0.04, 10, toys.ToySteps(), appearance=scene.appearance,
        policy=Policy("push", module, Sinusoids(4, 2.0)),
    )  # fmt: skip
    goal = synthesise(scene, {"push": 0.9}).select([-1])
    guided = fit(with_policy, goal, ["policy"], optimiser=Lbfgs(), iterations=40, stop=Stop())
    assert {e.name for e in guided.estimates} == {"policy.0.weight", "policy.0.bias"}
    assert guided.loss < 1e-4 * guided.start_loss


def test_schedules_of_blur_and_horizon():
    scene = toy_scene()
    target = synthesise(scene, TRUTH)
    stage = Stage(
        Lbfgs(), 30, horizon=Schedule(0.3, 1.0, "steps", count=3, over=0.5),
        renderer={"sigma": Schedule(4.0, 2.0, "steps", count=3, over=0.5)},
    )  # fmt: skip
    result = run_fit(Experiment(scene, target, [Unknown("gravity", 15.0), Unknown("drag", 0.2)], stages=(stage,)))
    assert max(e.error for e in result.estimates) < 1e-4
    assert result.history[1].renderer == {"sigma": 4.0}
    assert result.history[-1].renderer == {"sigma": 2.0}
    assert [result.history[1].horizon, result.history[-1].horizon] == [0.3, 1.0]


def test_a_stage_may_see_another_known_parameter():
    """The first stage, with a drag that is wrong, ends elsewhere than the second, with the right one."""
    scene = toy_scene()
    target = synthesise(scene, TRUTH)
    right = scene.with_params({"drag": float(TRUTH["drag"])})
    eased = Stage(GaussNewton(), 12, params={"drag": Schedule(3.0, 3.0)})
    experiment = Experiment(right, target, [Unknown("gravity", 9.0)], stages=(eased, Stage(GaussNewton(), 12)))
    result = run_fit(experiment)
    assert result.estimates[0].error < 1e-6
    (first,) = [r for r in result.history if r.stage == 1 and r.iteration == 0]
    assert abs(float(torch.as_tensor(first.values["gravity"])) / float(TRUTH["gravity"]) - 1.0) > 1e-2
    assert result.history[0].renderer == {"params.drag": 3.0}
    with pytest.raises(InputError, match="'drag' is an unknown"):
        Experiment(scene, target, [Unknown("drag", 0.5)], stages=(eased,))
    wrong = Stage(GaussNewton(), params={"dragg": eased.rate})
    with pytest.raises(InputError, match="nothing called 'dragg'"):
        Experiment(scene, target, [Unknown("gravity", 9.0)], stages=(wrong,))


def test_the_best_of_several_starts_is_kept():
    scene = toy_scene()
    target = synthesise(scene, TRUTH)
    starts = tuple({"gravity": torch.tensor(g)} for g in (50.0, 7.0))
    for probe in (0, 2):
        experiment = Experiment(
            scene, target, [Unknown("gravity", 90.0), Unknown("drag", 0.5)],
            stages=(Stage(GaussNewton(longest=0.2), 8),), starts=starts, probe=probe,
        )  # fmt: skip
        result = run_fit(experiment)
        assert max(e.error for e in result.estimates) < 1e-6
        assert {r.start for r in result.history} == ({0, 1, 2, -1} if probe else {0, 1, 2})


def test_one_good_start_makes_the_others_needless():
    scene = toy_scene()
    experiment = Experiment(
        scene,
        synthesise(scene, TRUTH),
        [Unknown("gravity", 7.0), Unknown("drag", 0.5)],
        stages=(Stage(GaussNewton(), 12),),
        starts=({"gravity": torch.tensor(50.0)},),
        enough=1e-12,
    )
    assert {r.start for r in run_fit(experiment).history} == {0}


def test_a_start_that_fails_leaves_the_others():
    scene = toy_scene()
    experiment = Experiment(
        scene,
        synthesise(scene, {"velocity": [1.5, 3.0, 0.0]}),
        [Unknown("velocity", [1e6, 0.0, 0.0])],
        stages=(Stage(Lbfgs(), 5), Stage(GaussNewton(), 12)),
        starts=({"velocity": torch.tensor([1.0, 2.0, 0.0])}, {"velocity": torch.tensor([0.0, -1e6, 0.0])}),
    )
    result = run_fit(experiment)
    assert result.estimates[0].error < 1e-6
    assert "flew away" in result.history[0].note


def test_a_solved_step_of_a_schedule_is_left_at_once():
    scene = toy_scene()
    stage = Stage(
        GaussNewton(),
        60,
        horizon=Schedule(0.3, 1.0, "steps", count=3, over=0.6),
        stop=Stop(loss=1e-16),
    )
    experiment = Experiment(
        scene, synthesise(scene, TRUTH), [Unknown("gravity", 9.0), Unknown("drag", 0.4)], stages=(stage,)
    )
    result = run_fit(experiment)
    horizons = [r.horizon for r in result.history]
    assert sorted(set(horizons)) == pytest.approx([0.3, 0.65, 1.0])
    assert len(horizons) < 25
    assert result.loss <= 1e-16


def test_steps_that_fly_away_are_retried_smaller():
    scene = toy_scene()
    tight = Scene(
        toys.ToyModel(limit=1.2), scene.renderer, scene.camera, scene.params, 0.04, 10, toys.ToySteps(),
        appearance=scene.appearance,
    )  # fmt: skip
    target = synthesise(scene, {"velocity": [1.5, 3.0, 0.0]})
    result = fit(tight, target, [Unknown("velocity", [0.1, 2.0, 0.0])], optimiser=Adam(rate=3.0), iterations=8,
                 stop=Stop())  # fmt: skip
    assert sum(r.rejected for r in result.history) > 0
    assert all(r.loss < float("inf") for r in result.history)


def test_a_start_that_cannot_be_simulated_is_told():
    scene = toy_scene()
    target = synthesise(scene, TRUTH)
    with pytest.raises(FitError, match="no finite loss at the start: step 0: the points flew away"):
        fit(scene, target, [Unknown("velocity", [1e6, 0.0, 0.0])])


def test_uncertainty_matches_the_scatter_of_noisy_fits():
    scene = toy_scene()
    clean = synthesise(scene, TRUTH)
    found = []
    noise = 0.02
    for seed in range(24):
        generator = torch.Generator().manual_seed(seed)
        frames = clean.frames + noise * torch.randn(clean.frames.shape, generator=generator, dtype=torch.float64)
        result = fit(scene, replace(clean, frames=frames), TRUTH)
        found.append(torch.stack([result["gravity"], result["drag"]]))
    scatter = torch.stack(found).std(dim=0)
    said = torch.stack([e.deviation for e in result.estimates])
    assert result.uncertainty.noise == pytest.approx(noise, rel=0.05)
    assert (said / scatter).tolist() == pytest.approx([1.0, 1.0], rel=0.35)


def test_what_cannot_be_seen_is_said():
    scene = toy_scene()
    result = fit(scene, synthesise(scene, TRUTH), {"bounce": 0.3})
    assert result.verdict.level == "red"
    assert result.verdict.identifiable.text.startswith("no: the images do not depend on bounce;")
    assert result.estimates[0].deviation is None


@pytest.mark.parametrize(
    ("unknown", "message"),
    [
        (Unknown("gravty"), "unknown 'gravty': the scene has nothing of this name; did you mean 'gravity'?"),
        (Unknown("gravity", 0.0), "got a start of 0, but it is searched in log space above 0"),
        (Unknown("bounce", 1.0), "strictly between"),
        (Unknown("size"), "no value in the scene"),
        (Unknown("gravity", [1.0, 2.0]), "expected a number"),
        (Unknown("push", only=(4,)), "expected rows 0 to 0"),
    ],
)
def test_bad_unknowns_are_explained(unknown, message):
    scene = toy_scene()
    with pytest.raises(InputError) as caught:
        fit(scene, synthesise(scene, TRUTH), [unknown])
    assert message in str(caught.value)
