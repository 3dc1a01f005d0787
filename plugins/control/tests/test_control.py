"""Goals, policies of open and closed loop, and what controls cost."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from fitting_toys import ToySteps
from PIL import Image
from toy_scenes import toy_scene

from diffloom.interfaces import Checkpointed, Control, InputError, NoGradient, ParamSpec, StoreAll
from diffloom.plugins import get_model
from diffloom_control.goals import Goal, make_goal_target, make_pose_goal
from diffloom_control.networks import (
    Network,
    find_control_rows,
    list_driven_numbers,
    load_policy,
    make_network_policy,
    save_policy,
)
from diffloom_control.observations import ImageObservation, SplineFeatures, StateObservation
from diffloom_fitting import (
    ControlCosts,
    Evaluation,
    Experiment,
    PixelError,
    Problem,
    RegionLoss,
    Stage,
    Stop,
    Unknown,
    run_fit,
    run_search,
)
from diffloom_fitting.fits import fit
from diffloom_fitting.goal_outcome import GoalOutcome, measure_goal, measure_goal_at_half_step
from diffloom_fitting.losses import CentreError, Moments
from diffloom_fitting.objective import Objective
from diffloom_fitting.optimisers import Adam, Lbfgs, LineScan, Progress
from diffloom_fitting.optimisers.line_scan import shortest_step
from diffloom_fitting.results import decode_result, result_data
from diffloom_fitting.scene import Policy, Scene, View
from diffloom_fitting.targets import Target, synthesise
from diffloom_fitting.trust.goal_verdict import list_limits
from diffloom_fitting.unknowns import resolve
from diffloom_studio.report import write_report


def policy_scene(network: Network, steps: int = 10, gradient=None) -> Scene:
    scene = toy_scene()
    policy = make_network_policy(scene.model, scene.params, network, 0.04 * steps, seed=3)
    return Scene(
        scene.model, scene.renderer, scene.camera, scene.params, 0.04, steps, ToySteps(), gradient or StoreAll(),
        appearance=scene.appearance, policy=policy,
    )  # fmt: skip


def central_difference(objective: Objective, z: torch.Tensor, along: torch.Tensor, h: float = 1e-6) -> float:
    return (objective.value(z + h * along).value - objective.value(z - h * along).value) / (2.0 * h)


def aim() -> Target:
    """The last image of another throw."""
    return replace(synthesise(toy_scene(), {"velocity": [3.0, 2.0, 0.0]}).select([-1]), goal=True)


STATE = Network("push", "state", every=3, hidden=(4,), scale=2.0)
IMAGE = Network("push", "image", every=4, channels=(3, 4), image_size=(16, 16), scale=2.0)


IMAGES = replace(IMAGE, frames=3, every=2)
MOMENTS = Network("push", "image", every=4, reads="moments", hidden=(4,), image_size=(16, 12), frames=2, scale=2.0)


@pytest.mark.parametrize("network", [STATE, IMAGE, IMAGES, MOMENTS], ids=["state", "image", "images", "moments"])
@pytest.mark.parametrize("gradient", [StoreAll(), Checkpointed()], ids=["stored", "checkpointed"])
def test_gradients_of_closed_loops_are_those_of_finite_differences(network, gradient):
    scene = policy_scene(network, gradient=gradient)
    goal = aim()
    layout = resolve([Unknown("policy"), Unknown("drag", 0.4)], scene)
    objective = Objective(scene, goal, PixelError(), layout, costs=ControlCosts(1e-3, 1e-4))
    z = layout.start()
    found = objective.evaluate(z).gradient
    generator = torch.Generator().manual_seed(0)
    for _ in range(3):
        along = torch.randn(z.numel(), generator=generator, dtype=z.dtype)
        along /= along.norm()
        wanted = central_difference(objective, z, along)
        assert abs(float(found @ along) - wanted) < 1e-6 * max(1e-3, float(found.norm()))
    # The observation matters: blind to the state, another start would be driven alike.
    other = scene.rollout({"velocity": torch.tensor([0.5, 2.0, 0.0]).double()}, [10], NoGradient()).control["push"]
    assert not torch.equal(other, scene.rollout({}, [10], NoGradient()).control["push"])


@pytest.mark.parametrize("network", [STATE, IMAGES], ids=["state", "images"])
def test_a_closed_loop_is_the_same_whichever_way_it_is_kept(network):
    runs = {}
    for name, gradient in {"stored": StoreAll(), "segments": Checkpointed(), "short": Checkpointed(3)}.items():
        scene = policy_scene(network, 11, gradient)
        weights = {k: v.clone().requires_grad_() for k, v in scene.policy.weights(torch.float64).items()}
        made = scene.rollout(weights, [0, 4, 11])
        made.trajectory.q.square().sum().backward()
        runs[name] = (made.trajectory.q.detach(), made.control["push"].detach(), [w.grad for w in weights.values()])
        assert made.trajectory.times.tolist() == pytest.approx([0.0, 0.16, 0.44])
        assert made.control["push"].shape == (11, 1)
    for name in ("segments", "short"):
        assert torch.equal(runs[name][0], runs["stored"][0])
        assert torch.equal(runs[name][1], runs["stored"][1])
        for one, other in zip(runs[name][2], runs["stored"][2], strict=True):
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)


def test_checkpoints_keep_little_for_the_way_back():
    kept = {}
    for name, gradient in {"stored": StoreAll(), "segments": Checkpointed()}.items():
        scene = policy_scene(STATE, 300, gradient)
        weights = {k: v.clone().requires_grad_() for k, v in scene.policy.weights(torch.float64).items()}
        sizes = {}

        def keep(value, sizes=sizes):
            sizes[value.data_ptr()] = value.numel()
            return value

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value):
            made = scene.rollout(weights, [300])
        kept[name] = sum(sizes.values())
        made.trajectory.q.square().sum().backward()
        assert all(bool(w.grad.any()) for w in weights.values())
    assert kept["segments"] < 0.1 * kept["stored"]


def test_a_policy_holds_its_action_between_observations():
    class Brake(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = torch.nn.Parameter(torch.tensor([2.0]))

        def forward(self, seen):
            return -self.gain * seen[:, 3:4]  # the speed along x

    scene = replace(policy_scene(STATE), policy=Policy("push", Brake(), observe=StateObservation(), every=5))
    made = scene.rollout({}, [0, 5, 10], NoGradient())
    speed = made.trajectory.u[:, 0, 0]
    assert torch.equal(made.control["push"][:5, 0], (-2.0 * speed[0]).expand(5))
    assert torch.equal(made.control["push"][5:, 0], (-2.0 * speed[1]).expand(5))


def test_an_image_policy_observes_the_camera_image():
    scene = policy_scene(IMAGE)
    state = scene.model.initial_state(scene.params)
    seen = ImageObservation((16, 16)).observe(scene, state, scene.params, {})
    assert seen.shape == (1, 4, 16, 16)
    assert 0.0 < float(seen[0, 3].mean()) < 1.0
    with pytest.raises(InputError, match="policy: got every=0"):
        replace(scene, policy=replace(scene.policy, every=0))


def test_splines_are_smooth_and_sum_to_one():
    basis = SplineFeatures(6, 2.0)(torch.linspace(0.0, 2.0, 101, dtype=torch.float64))
    torch.testing.assert_close(basis.sum(dim=1), torch.ones(101, dtype=torch.float64))
    assert float(basis.min()) >= 0.0
    assert float(basis.diff(n=2, dim=0).abs().max()) < 2e-3  # no kink anywhere
    with pytest.raises(InputError, match="3 knots"):
        SplineFeatures(3, 1.0)


def test_one_number_for_a_control_holds_for_all_steps():
    scene = toy_scene()
    constant = Unknown("control.push", 0.0)
    experiment = Experiment(scene, aim(), [constant], stages=(Stage(Lbfgs(), 6),))
    assert experiment.layout.slots[0].shape == ()
    assert scene.make_control({"control.push": torch.tensor(0.3).double()}, 4)["push"].shape == (4, 1)
    result = run_fit(experiment, sure=False)
    assert result.loss < result.start_loss


def test_costs_of_controls_are_mean_squares():
    rows = torch.tensor([[0.0], [1.0], [3.0]], dtype=torch.float64)
    assert float(ControlCosts(2.0, 0.0).value({"push": rows}, 0.5)) == pytest.approx(2.0 * 10.0 / 3.0)
    assert float(ControlCosts(0.0, 3.0).value({"push": rows}, 0.5)) == pytest.approx(3.0 * (4.0 + 16.0) / 2.0)
    with pytest.raises(InputError, match=r"control.effort: got -1"):
        ControlCosts(-1.0)


def test_effort_is_saved_where_it_costs():
    scene = policy_scene(Network("push", scale=20.0))
    goal = aim()
    efforts = []
    for weight in (0.0, 1e-4):
        costs = ControlCosts(weight)
        stages = (Stage(Lbfgs(), 10),)
        result = run_fit(Experiment(scene, goal, [Unknown("policy")], stages=stages, costs=costs), sure=False)
        efforts.append(result.goal.effort)
    assert 0.0 < efforts[1] < 0.8 * efforts[0]


def test_goals_are_images_masks_states_and_poses(tmp_path):
    scene = toy_scene()
    pose = make_pose_goal(scene, {"velocity": torch.tensor([0.0, 0.0, 0.0]).double()}, 0.2)
    assert make_goal_target([pose], scene).goal
    pixels = (pose.image[..., :3] * 255.0).round().to(torch.uint8).numpy()
    Image.fromarray(pixels).save(tmp_path / "goal.png")
    Image.fromarray((pose.mask * 255.0).round().to(torch.uint8).numpy()).save(tmp_path / "mask.png")
    read = make_goal_target([Goal(0.4, tmp_path / "goal.png"), Goal(0.2, tmp_path / "goal.png")], scene)
    assert read.times.tolist() == [0.2, 0.4]
    assert read.source == "goal.png"
    assert float((read.frames[0] - pose.image[..., :3]).abs().max()) <= 0.5 / 255.0 + 1e-6
    masked = make_goal_target([Goal(0.4, mask=tmp_path / "mask.png")], scene)
    assert masked.frames is None
    assert masked.masks.shape == (1, *scene.size)
    with pytest.raises(InputError, match="1 of 2 have a mask"):
        make_goal_target([Goal(0.1, mask=tmp_path / "mask.png"), Goal(0.2, q=pose.q)], scene)
    with pytest.raises(InputError, match="got neither image, mask nor states"):
        make_goal_target([Goal(0.1)], scene)


def test_a_region_sees_only_its_part():
    scene = toy_scene()
    with torch.no_grad():
        view = scene.render({}, torch.tensor([0.2], dtype=torch.float64), ("rgba",), NoGradient())
    frames = view.image.rgba.clone()
    target = Target(view.times, frames)
    half = frames.shape[2] // 2
    frames[:, :, half:] += 0.25
    changed = Target(view.times, frames)
    left, right = RegionLoss((0.0, 0.0, 0.5, 1.0)), RegionLoss((0.5, 0.0, 1.0, 1.0))
    assert float(left.value(view, target)) == 0.0
    assert float(left.value(view, changed)) == 0.0
    assert float(right.value(view, changed)) == pytest.approx(0.0625)
    with pytest.raises(InputError, match="expected left < right"):
        RegionLoss((0.5, 0.0, 0.2, 1.0))


def test_moments_pull_from_any_distance():
    def shown(column):
        alpha = torch.zeros(1, 8, 64, dtype=torch.float64)
        alpha[0, 3:5, column : column + 2] = 1.0
        return alpha

    class Seen:
        alpha = shown(2)

    losses = []
    for column in (10, 20, 30, 40, 50):
        target = Target(torch.zeros(1, dtype=torch.float64), masks=shown(column))
        losses.append(float(Moments().value(View(Seen(), None, None, target.times), target)))
    assert losses == sorted(losses)
    assert losses[-1] == pytest.approx((48.0 / 64.0) ** 2 / 3.0, rel=1e-3)


def test_a_scan_along_the_gradient_never_rises():
    scene = policy_scene(Network("push", scale=30.0))
    goal = aim()
    stage = Stage(LineScan(rate=0.05, trials=10), 6, stop=Stop())
    result = run_fit(Experiment(scene, goal, [Unknown("policy")], loss=Moments(), stages=(stage,)), sure=False)
    losses = [record.loss for record in result.history]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.1 * losses[0]
    with pytest.raises(InputError, match="line_scan: got rate=0"):
        LineScan(rate=0.0)


class Misleading(Problem):
    """z^2, with a gradient that points uphill, as that of a ripple may."""

    layout, enough = None, None

    def evaluate_batch(self, questions):
        return [[Evaluation(float(z.square().sum()), -z) for z in request.points] for _, request in questions]


def test_a_scan_that_is_stuck_tries_random_directions():
    start, problem = torch.full((5,), 1.0, dtype=torch.float64), Misleading()
    ends = {}
    for scan in (LineScan(), LineScan(scatter=True)):
        progress = Progress(start, 5.0, -start, {"seed": 3, "draws": 0})
        path = []
        for _ in range(12):
            if progress.done is None:
                progress = run_search(problem, scan.step(problem, progress, 1.0))
            path.append(progress)
        assert [p.value for p in path] == sorted((p.value for p in path), reverse=True)
        ends[scan.scatter] = path
    assert ends[False][-1].value == 5.0 and ends[False][-1].done == "no lower loss along the gradient"
    assert ends[True][-1].value < 2.0
    # From what a run keeps it goes on to the same bits.
    again = ends[True][5]
    for wanted in ends[True][6:]:
        again = run_search(problem, LineScan(scatter=True).step(problem, again, 1.0))
        assert torch.equal(again.z, wanted.z) and again.evaluations == wanted.evaluations


def test_each_residual_is_mended_by_a_gradient_of_its_own():
    scene = policy_scene(Network("push", scale=30.0))
    layout = resolve([Unknown("policy"), Unknown("velocity", [1.0, 1.0, 0.0])], scene)
    objective = Objective(scene, aim(), Moments(), layout)
    z = layout.start()
    residuals, rows = objective.jacobian(z)
    assert rows.shape == (3, layout.size)
    generator = torch.Generator().manual_seed(0)
    along = torch.randn(z.numel(), generator=generator, dtype=z.dtype)
    wanted = (objective.residuals(z + 1e-6 * along) - objective.residuals(z - 1e-6 * along)) / 2e-6
    assert float((rows @ along - wanted).abs().max()) < 1e-6 * float(wanted.abs().max())
    # The shortest of all steps that mend what can be mended: the rest is what the images hardly show.
    step = shortest_step(residuals, rows)
    left = residuals + rows @ step
    assert float(left.norm()) < 0.1 * float(residuals.norm())
    with pytest.raises(InputError, match="each needs a gradient"):
        replace(objective, loss=PixelError()).jacobian(z)
    stage = Stage(LineScan(rate=0.05, trials=10, each=True), 6, stop=Stop())
    goal = aim()
    result = run_fit(Experiment(scene, goal, [Unknown("policy")], loss=Moments(), stages=(stage,)), sure=False)
    losses = [record.loss for record in result.history]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.1 * losses[0]


def test_groups_of_numbers_are_driven_as_one():
    driven = torch.tensor([[1.0, 2.0]], dtype=torch.float64)
    assert find_control_rows(driven, (2, 2), ((0, 3), (1,))).tolist() == [[[1.0, 2.0], [0.0, 1.0]]]
    beam = get_model("fem")("beam", cells=(4, 1, 1), regions={"half": {"box": [[0, -1, -1], [0.5, 1, 1]]}})
    (half,) = list_driven_numbers("policy.only", beam, "activation", ["half"])
    assert list(half) == [k for k, inside in enumerate(beam.regions["half"].tets) if inside] and len(half) == 10
    assert list_driven_numbers("policy.only", beam, "activation", [3, (4, 5)]) == ((3,), (4, 5))
    for wrong, told in (
        (["hal"], "there is no region 'hal'"), ([half[0], "half"], f"{half[0]} is driven twice"),
        ([99], "expected different numbers of a row, 0 to 19"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=told):
            list_driven_numbers("policy.only", beam, "activation", wrong)


def test_weights_are_kept_and_are_nothing_but_weights(tmp_path):
    scene = policy_scene(STATE)
    values = {name: value + 1.0 for name, value in scene.policy.weights(torch.float64).items()}
    save_policy(tmp_path / "policy.pt", scene.policy, values)
    loaded = load_policy(tmp_path / "policy.pt", scene.policy)
    for name, value in loaded.weights(torch.float64).items():
        assert torch.equal(value, values[name])
    assert not torch.equal(scene.policy.weights(torch.float64)["policy.0.weight"], values["policy.0.weight"])
    with pytest.raises(InputError, match="of another policy"):
        load_policy(tmp_path / "policy.pt", policy_scene(Network("push")).policy)
    torch.save({"0.weight": print}, tmp_path / "code.pt")
    with pytest.raises(InputError, match="these are no weights"):
        load_policy(tmp_path / "code.pt", scene.policy)


def test_how_a_goal_was_met_in_words():
    assert GoalOutcome(0.97, None, 0.0).words(12) == "reached the goal, IoU 0.97, in 12 iterations"
    assert GoalOutcome(0.1, 2.0, 0.0).words(1) == "did not reach the goal, IoU 0.10, 2 m away, in 1 iteration"
    assert GoalOutcome(0.5, None, 0.0).words(3).startswith("came near the goal")
    assert GoalOutcome(None, 0.01, 0.0).words(3).startswith("reached the goal, 0.01 m away")


def test_the_report_of_a_control_run_shows_the_motion(tmp_path):
    scene = policy_scene(STATE)
    goal = aim()
    experiment = Experiment(scene, goal, [Unknown("policy")], stages=(Stage(Adam(), 3),))
    result = run_fit(experiment)
    assert result.goal == measure_goal(experiment, result.z)
    page = write_report(tmp_path, experiment, result).read_text()
    assert (tmp_path / "motion.mp4").stat().st_size > 1000
    assert "<h2>Motion</h2>" in page
    assert "push over time" in page
    assert result.verdict.level in page
    assert result.goal.text in result.verdict.explained.text
    assert f"IoU {result.goal.iou:.2f}" in page


def test_centres_are_of_places():
    assert float(CentreError().value(_at([1.0, 0.0, 0.0]), _wanted([1.0, 0.0, 0.0]))) == 0.0
    assert float(CentreError().value(_at([1.0, 0.0, 0.0]), _wanted([4.0, 0.0, 0.0]))) == pytest.approx(3.0)
    with pytest.raises(InputError, match="expected positions"):
        CentreError().value(_at([1.0, 2.0]), _wanted([1.0, 2.0]))


def _at(place):
    q = torch.tensor([[place, place]], dtype=torch.float64)
    return View(None, q, None, torch.zeros(1), Control())


def _wanted(place):
    return Target(torch.zeros(1), q=torch.tensor([[place]], dtype=torch.float64), goal=True)


def test_a_goal_that_is_reached_is_green_and_has_no_deviation():
    scene = toy_scene()
    goal = replace(synthesise(scene, {"velocity": [3.0, 2.0, 0.0]}).select([-1]), goal=True)
    found = fit(scene, goal, {"velocity": [2.8, 2.1, 0.0]})
    verdict = found.verdict
    assert verdict.level == "green", str(verdict)
    assert found.estimates[0].deviation is None
    assert not found.estimates[0].caveat
    assert verdict.explained.text.startswith("yes: reached the goal, IoU 1.00")
    assert str(found).startswith("verdict: green")
    read = decode_result(json.loads(json.dumps(result_data(found))))
    assert read.verdict == verdict
    assert read.goal == found.goal


def test_a_goal_that_is_missed_is_red_and_its_search_is_judged():
    away = replace(synthesise(toy_scene(), {"velocity": [-5.0, 2.0, 0.0]}).select([-1]), goal=True)
    found = fit(toy_scene(), away, {"drag": 0.4})
    assert found.verdict.level == "red", str(found.verdict)
    assert found.verdict.explained.text.startswith("no: did not reach the goal, IoU 0.")
    assert found.verdict.converged.text.startswith("yes: no step along the gradient lowers the loss")
    early = fit(toy_scene(), aim(), {"velocity": [2.2, 2.0, 0.0]}, optimiser=Adam(rate=1e-3), iterations=1)
    assert "run more iterations" in early.verdict.converged.text


def test_what_a_goal_leaves_open_is_said():
    class Heavy(type(toy_scene().model)):
        @property
        def specs(self):
            return (*super().specs, ParamSpec("mass", 1.0, "kg", "inertia", (), (0.0, None)))

    model = Heavy()
    scene = replace(toy_scene(), model=model, params=model.params(torch.float64))
    found = fit(scene, aim(), {"velocity": [2.9, 2.1, 0.0], "mass": 2.0})
    assert found.verdict.identifiable.level == "amber"
    assert "the goal does not depend on mass" in found.verdict.identifiable.text
    both = fit(toy_scene(), aim().select([-1]), {"velocity": [2.9, 2.1, 0.0], "gravity": 9.0})
    assert (
        "so other values reach it as well" in both.verdict.identifiable.text or "all" in both.verdict.identifiable.text
    )


def test_a_control_at_its_largest_size_is_named():
    scene = toy_scene()
    rows = torch.ones(scene.steps, dtype=torch.float64)
    rows[: scene.steps // 2] = 0.1
    held = replace(scene, control={"push": torch.stack([5.0 * rows, 0.0 * rows, 0.0 * rows], dim=1)})
    experiment = Experiment(held, aim(), [Unknown("drag", 0.4), Unknown("gravity", 9.999, bounds=(1.0, 10.0))])
    told = list_limits(experiment, experiment.start())
    assert told[0] == "gravity is at its limit 10"
    assert told[1].startswith("push is at its largest size, 5, in ")


def test_a_goal_that_holds_for_one_step_alone_is_amber():
    """A stiff spring that the step resolves badly: half the step ends elsewhere."""
    scene = replace(toy_scene(), dt=0.04)
    stiff = replace(scene, params=scene.model.params(torch.float64, drag=40.0))
    goal = replace(synthesise(stiff, {"velocity": [3.0, 2.0, 0.0]}).select([-1]), goal=True)
    experiment = Experiment(stiff, goal, [Unknown("velocity", [3.0, 2.0, 0.0])])
    half = measure_goal_at_half_step(experiment, experiment.start())
    whole = measure_goal(experiment, experiment.start())
    assert whole.iou == pytest.approx(1.0)
    assert half.iou < whole.iou
