"""Scenes as Gymnasium environments."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from fitting_toys import ToySteps
from test_control import STATE, aim, policy_scene
from toy_scenes import toy_scene

from diffloom.interfaces import Control, InputError, SimulationError
from diffloom_control.goals import make_goal_target, make_pose_goal
from diffloom_control.networks import Network, make_network_policy
from diffloom_control.observations import ImageObservation
from diffloom_fitting import ControlCosts, Experiment, PixelError, Stage, Unknown
from diffloom_fitting.losses import Moments
from diffloom_fitting.objective import Objective
from diffloom_fitting.optimisers import Adam
from diffloom_fitting.targets import Targets, synthesise
from diffloom_fitting.unknowns import resolve

gymnasium = pytest.importorskip("gymnasium", reason="pip install 'diffloom[gym]'")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from diffloom_control.gym import ControlTask, SceneEnv  # noqa: E402
from diffloom_experiments import make_env  # noqa: E402

COSTS = ControlCosts(1e-2, 1e-3)


def task(network: Network = STATE, costs: ControlCosts = COSTS) -> ControlTask:
    """A thrown body to be pushed through three images at times that lie between steps."""
    target = synthesise(toy_scene(), {"velocity": [3.0, 2.0, 0.0]}).select([1, 3, -1])
    target = replace(target, times=torch.tensor([0.0, 0.13, 0.37], dtype=torch.float64), goal=True)
    return ControlTask(policy_scene(network), target, PixelError(), costs)


def played(env: SceneEnv, actions: Any) -> list[Any]:
    env.reset(seed=0)
    return [env.step(action) for action in actions]


@pytest.mark.parametrize("observe", ["state", "image", ImageObservation((16, 16), frames=2)], ids=str)
def test_gymnasium_finds_nothing_wrong(observe):
    name = "diffloom_experiments.environments:diffloom/Scene-v0"
    env = gymnasium.make(name, source=task(), observe=observe, render_mode="rgb_array").unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # States have no bounds, and pushes are in newtons: both are as they should be.
        for text in (".*observation space m[a-z]+imum value is -?infinity.*", ".*normalized.*"):
            warnings.filterwarnings("ignore", text)
        check_env(env, skip_render_check=False)


@pytest.mark.parametrize("loss", [PixelError(), Moments()], ids=["pixels", "moments"])
def test_the_return_is_minus_the_objective_of_a_fit(loss):
    made = replace(task(), loss=loss)
    env = SceneEnv(made, every=3)
    rng = np.random.default_rng(0)
    actions = [rng.uniform(-2.0, 2.0, env.action_space.shape) for _ in range(4)]
    steps = played(env, actions)
    assert [done for _, _, done, _, _ in steps] == [False, False, False, True]
    assert all(reward < 0.0 for _, reward, *_ in steps)
    rows = torch.tensor(np.repeat(actions, 3, axis=0)[:10])
    scene = replace(made.scene, policy=None, control=Control({"push": rows.reshape(10, *rows.shape[1:])}))
    objective = Objective(scene, made.target, loss, resolve([Unknown("drag", 0.4)], made.scene), costs=COSTS)
    scene_value = replace(objective, scene=scene).value(objective.layout.encode({"drag": scene.params["drag"]}))
    assert sum(reward for _, reward, *_ in steps) == pytest.approx(-scene_value.value, rel=1e-12)


def test_a_policy_acts_in_the_environment_as_in_a_fit():
    made = task()
    env = SceneEnv(made)
    assert (env.every, env.drives, env.limit) == (3, "push", 2.0)
    (seen, _), done = env.reset(), False
    while not done:
        action = made.scene.policy.act({}, torch.from_numpy(seen).double()[None])[0]
        seen, _, done, _, _ = env.step(action.detach().numpy())
    wanted = made.scene.rollout({}, [10]).trajectory.last
    assert torch.allclose(env.state.q, wanted.q, rtol=0, atol=1e-6)  # observations are in single precision
    with pytest.raises(InputError, match="the episode is over"):
        env.step(env.action_space.sample())


def test_several_cameras_share_the_reward():
    made = task()
    front = made.scene.camera
    target = Targets({"a": made.target, "b": made.target})
    env = SceneEnv(replace(made, scene=replace(made.scene, camera={"a": front, "b": front}), target=target))
    actions = [np.ones(env.action_space.shape)] * 4
    both = [reward for _, reward, *_ in played(env, actions)]
    assert both == pytest.approx([reward for _, reward, *_ in played(SceneEnv(made), actions)], rel=1e-12)


def test_seeds_draw_tasks_and_options_start_elsewhere():
    def drawn(seed: int) -> ControlTask:
        made = task()
        speed = torch.rand((), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        return replace(made, scene=replace(made.scene, params=made.scene.params.replace(drag=speed)))

    env = SceneEnv(drawn)
    runs = {seed: env.reset(seed=seed) and env.step(np.ones(env.action_space.shape))[0] for seed in (1, 2)}
    assert not np.array_equal(runs[1], runs[2])
    assert np.array_equal(env.reset(seed=1) and env.step(np.ones(env.action_space.shape))[0], runs[1])
    after = [env.reset()[1] and env.task.scene.params["drag"] for _ in range(2)]
    assert not torch.equal(*after)
    here, _ = env.reset(options={"values": {"velocity": [9.0, 0.0, 0.0]}})
    assert 9.0 in here.tolist()
    with pytest.raises(InputError, match="velocity"):
        env.reset(options={"values": {"velocty": 1.0}})


def test_image_observations_are_bytes_of_the_camera_image():
    env = SceneEnv(task(), observe=ImageObservation((16, 12), frames=2), render_mode="rgb_array")
    first, _ = env.reset()
    assert first.shape == (16, 12, 6) and first.dtype == np.uint8 and first.max() > 100
    assert np.array_equal(first[..., :3], first[..., 3:])
    second = env.step(np.ones(env.action_space.shape))[0]
    assert np.array_equal(second[..., :3], first[..., 3:]) and not np.array_equal(second[..., 3:], first[..., 3:])
    assert env.render().shape == (*env.task.scene.size, 3)
    assert SceneEnv(task()).render() is None


@dataclass(frozen=True)
class Breaks(ToySteps):
    """Breaks down when it is pushed hard."""

    def rollout(self, dynamics, state, **rest):
        if float(state.q[0, 0]) > 0.3:
            raise SimulationError("step 3: not finite")
        return super().rollout(dynamics, state, **rest)


def test_a_broken_simulation_ends_the_episode():
    made = task()
    env = SceneEnv(replace(made, scene=replace(made.scene, integrator=Breaks())), every=3, limit=50.0, failure=7.0)
    steps = played(env, [np.full(env.action_space.shape, 50.0)] * 2)
    assert [s[2] for s in steps] == [False, True]
    assert steps[1][1] == -7.0 and "not finite" in steps[1][4]["trouble"]


def test_some_numbers_of_a_row_can_be_the_action():
    base = toy_scene(count=2)
    policy = make_network_policy(base.model, base.params, replace(STATE, only=(1,)), 0.4, seed=3)
    scene = replace(base, policy=policy)
    driven = scene.rollout({}, [10]).control["push"]
    assert driven.shape == (10, 2) and not driven[:, 0].any() and driven[:, 1].all()
    env = SceneEnv(ControlTask(scene, make_goal_target([make_pose_goal(scene, {}, 0.4)], scene)))
    assert env.only == ((1,),) and env.action_space.shape == (1,)
    speeds = []
    for push in (0.0, 1.5):
        env.reset()
        env.step(np.array([push], dtype=np.float32))
        speeds.append(env.state.u[:, 0])
    assert float(speeds[0][0]) == float(speeds[1][0]) and float(speeds[0][1]) < float(speeds[1][1])


def test_environments_come_from_experiments_and_by_name():
    made = task()
    experiment = Experiment(made.scene, made.target, ["policy"], stages=(Stage(Adam(), 1, loss=Moments()),))
    assert make_env(experiment, observe="image").task.loss == Moments()
    env = gymnasium.make("diffloom_experiments.environments:diffloom/Scene-v0", source=made, observe="image")
    assert env.reset(seed=0)[0].dtype == np.uint8


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"observe": "pixels"}, "observe"), ({"every": 11}, "got every=11; expected 1 to 10"), ({"drives": "x"}, "'x'"),
        ({"limit": 0.0}, "got limit=0"), ({"only": [9]}, r"got \[9\]"), ({"render_mode": "human"}, "render_mode"),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused_in_words(settings, says):
    with pytest.raises(InputError, match=says):
        SceneEnv(task(), **settings)


def test_without_a_policy_the_action_must_be_said():
    made = task()
    bare = replace(made, scene=replace(made.scene, policy=None), target=aim())
    with pytest.raises(InputError, match="give limit="):
        SceneEnv(bare)
    env = SceneEnv(bare, limit=2.0)
    assert env.every == 1 and env.observe.count == 1
