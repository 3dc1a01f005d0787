"""Scenes as gymnasium environments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import Control, InputError, NoGradient, Params, SimulationError, State, Trajectory
from diffloom.validation import check_choice
from diffloom_control.networks import ControlRows, find_control_rows, list_driven_numbers
from diffloom_control.observations import ImageObservation, StateObservation
from diffloom_fitting import ControlCosts, Experiment, Loss, PixelError
from diffloom_fitting.scene import (
    Observation,
    Policy,
    Sampling,
    Scene,
    View,
    find_driven_shape,
    sample_times,
    update_memory,
)
from diffloom_fitting.targets import AnyTarget, Target

__all__ = ["ControlTask", "SceneEnv", "make_task"]

try:
    import gymnasium
except ImportError as error:
    raise InputError('gym: environments need gymnasium; pip install "diffloom[gym]"') from error


@dataclass(frozen=True)
class ControlTask:
    """Task of an environment: a scene, a target, and a measure of success.

    The return of an episode is minus the loss between the images of the scene's cameras and ``target``, minus the costs
    of the controls: the objective of a fit of the same scene, negated.

    Args:
        scene: Scene that is driven.
        target: Target to reach.
        loss: Loss between images or states and the target; a mean over frames.
        costs: Costs of the controls.
    """

    scene: Scene
    target: AnyTarget
    loss: Loss = field(default_factory=PixelError)
    costs: ControlCosts = field(default_factory=ControlCosts)


def make_task(experiment: Experiment) -> ControlTask:
    """Return the task of an experiment, judged by the loss of its last stage.

    Args:
        experiment: The experiment.

    Returns:
        The task.
    """
    loss = experiment.stages[-1].loss or experiment.loss
    return ControlTask(experiment.scene, experiment.target, loss, experiment.costs or ControlCosts())


@dataclass(frozen=True)
class FrameTarget:
    """One frame of the target: the scene that sees it, the steps around it, and its share in the loss."""

    scene: Scene
    target: Target
    sampling: Sampling
    share: float


class StepRewards:
    """Rewards of one episode; their sum is minus the objective of the given controls.

    Every frame of the target is paid for in the step that passes it, effort and smoothness in every step. A loss must
    be a mean over frames.
    """

    def __init__(self, task: ControlTask, params: Params, values: Mapping[str, Tensor]) -> None:
        self.task, self.params, self.values = task, params, values
        self.frames = _split_frames(task, values)
        self.needed = sorted({step for frame in self.frames for step in frame.sampling.save})
        self.states: dict[int, State] = {}
        self.last: dict[str, Tensor] = {}

    def list_needed_steps(self, first: int, last: int) -> list[int]:
        """Return the steps after ``first`` up to ``last`` whose states are needed."""
        return [step for step in self.needed if first < step <= last]

    def compute_reward(
        self, first: int, last: int, states: Mapping[int, State], control: Mapping[str, Tensor]
    ) -> float:
        """Return the reward of going from step ``first`` to ``last`` through these states under controls (steps,
        ...).
        """
        self.states |= {step: state for step, state in states.items() if step in self.needed}
        total = self._compute_cost(control, last - first)
        for frame in self.frames:
            end = frame.sampling.save[-1]
            if first < end <= last or (first == 0 and end == 0):
                total += frame.share * self._compute_loss(frame)
        later = [f.sampling.save[0] for f in self.frames if f.sampling.save[-1] > last]
        keep = min(later, default=self.task.scene.steps + 1)
        self.states = {step: state for step, state in self.states.items() if step >= keep}
        return -total

    def _compute_loss(self, frame: FrameTarget) -> float:
        states = [self.states[step] for step in frame.sampling.save]
        path = Trajectory(
            {name: torch.stack([state.sets[name][0] for state in states]) for name in states[0].names},
            {name: torch.stack([state.sets[name][1] for state in states]) for name in states[0].names},
            torch.tensor([step * self.task.scene.dt for step in frame.sampling.save], dtype=torch.float64),
        )
        loss, scene, q = self.task.loss, frame.scene, frame.scene.states(path, frame.sampling, 1)
        if not loss.outputs:
            view = View(None, q, None, frame.target.times)
        elif loss.outputs == ("outline",):
            outline = scene.outline(path, self.params, self.values, frame.sampling)
            view = View(None, q, None, frame.target.times, outline=outline)
        else:
            image, vertices = scene.draw(path, self.params, self.values, loss.outputs, frame.sampling)
            view = View(image, q, vertices, frame.target.times)
        return float(loss.value(view, frame.target))

    def _compute_cost(self, control: Mapping[str, Tensor], steps: int) -> float:
        """Return the costs of some steps: mean squares over the whole episode, of which these steps are a part."""
        costs, scene, total = self.task.costs, self.task.scene, 0.0
        for name, rows in control.items():
            total += costs.effort * float(rows.square().mean()) * steps / scene.steps
            joined = torch.cat([self.last[name], rows]) if name in self.last else rows
            if costs.smoothness > 0.0 and len(joined) > 1:
                rate = (joined.diff(dim=0) / scene.dt).square()
                total += costs.smoothness * float(rate.mean()) * (len(joined) - 1) / (scene.steps - 1)
            self.last[name] = rows[-1:]
        return total


def _split_frames(task: ControlTask, values: Mapping[str, Tensor]) -> list[FrameTarget]:
    """Return the frames of a task's target."""
    views, found = task.target.by_view(), []
    for label, target in views.items():
        scene = task.scene.select_view(label)
        for k in range(len(target)):
            one = target.select([k])
            times = scene.get_exposure_times(one.times + scene.viewpoint.time_offset, values)
            sampling = sample_times(times, scene.dt, scene.steps)
            found.append(FrameTarget(scene, one, sampling, 1.0 / (len(views) * len(target))))
    return found


Array = NDArray[Any]
MODES = ("rgb_array",)


class SceneEnv(gymnasium.Env[Array, Array]):
    """A task as a Gymnasium environment; an episode is one simulation of the scene, which ends with ``terminated``.

    ``reset(options={"values": {"position": [0, 1, 0]}})`` starts an episode with other parameters.

    Args:
        task: Task, or a function from a seed to a task. The function is called at every reset with the seed that
            ``reset`` was given, else with a seed drawn from the environment's own generator.
        observe: "state" (float32), "image" (uint8, RGB) or an ``Observation``; default the one of the scene's policy.
        every: Physics steps of one action; default that of the scene's policy.
        drives: Name of the control that is the action; default that of the scene's policy.
        limit: Largest action, in the control's unit; default that of the scene's policy.
        only: Numbers of the control's row that are actions, or names of regions, each of which is one action; all
            other numbers stay 0.
        failure: Amount subtracted from the reward when the simulation breaks down, which ends the episode.
        render_mode: None, or "rgb_array".

    Example:
        env = SceneEnv(make_task(experiment), observe="state", every=10)
        observation, information = env.reset(seed=0)
    """

    metadata: dict[str, Any] = {"render_modes": list(MODES), "render_fps": 30}  # noqa: RUF012
    _state: State
    _rewards: StepRewards
    _step: int
    _past: tuple[Tensor, ...]

    def __init__(
        self, task: ControlTask | Callable[[int], ControlTask], *,
        observe: Literal["state", "image"] | Observation | None = None, every: int | None = None,
        drives: str | None = None, limit: float | None = None, only: Sequence[int | str] | None = None,
        failure: float = 1.0, render_mode: str | None = None,
    ) -> None:  # fmt: skip
        if render_mode is not None:
            check_choice("render_mode", render_mode, MODES)
        self.render_mode, self.failure = render_mode, float(failure)
        self._make = None if isinstance(task, ControlTask) else task
        self.task = task if isinstance(task, ControlTask) else task(0)
        scene = self.task.scene
        self.observe = _choose_observation(observe, scene.policy)
        self.every = _choose_every(every, scene)
        self.drives = _choose_control(drives, scene)
        self._shape = find_driven_shape(scene.model, self.drives)
        network = _find_control_layer(scene.policy)
        self.limit = _choose_limit(limit, network, scene, self.drives)
        chosen = only if only is not None or network is None else network.only
        self.only = list_driven_numbers("gym: only", scene.model, self.drives, chosen)
        size = self._shape if self.only is None else (len(self.only),)
        self.action_space = gymnasium.spaces.Box(-self.limit, self.limit, size, np.float32)
        self.metadata = {**self.metadata, "render_fps": max(1, round(1.0 / (self.every * scene.dt)))}
        self._begin({})
        self.observation_space = self._make_space(self._stack_observation())

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin a new episode.

        Args:
            seed: Seed of the environment's generator, and of the task where that is a function of a seed.
            options: {"values": {...}} for other parameters.

        Returns:
            The first observation, and the information {"time": 0.0}.
        """
        super().reset(seed=seed)
        if self._make is not None:
            self.task = self._make(int(self.np_random.integers(2**31)) if seed is None else seed)
        given = dict((options or {}).get("values", {}))
        self.task.scene.check_known(given, "gym: options")
        checked = self.task.scene.model.params(self.task.scene.dtype, **given)
        self._begin({name: checked[name] for name in given})
        return self._stack_observation(), self._make_info()

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Hold an action for ``every`` steps.

        Args:
            action: Numbers of the control, clipped to ``limit``.

        Returns:
            Observation, reward, terminated, truncated (False), and information: the time [s], and "trouble" after a
            breakdown.
        """
        scene, first = self.task.scene, self._step
        if first >= scene.steps:
            raise InputError("gym: the episode is over; reset the environment first")
        last = min(first + self.every, scene.steps)
        control = self._make_control(action, first, last)
        try:
            states = self._advance(control, first, last)
            reward = self._rewards.compute_reward(first, last, states, control)
            self._state, self._step = states[last], last
            return self._stack_observation(), reward, last == scene.steps, False, self._make_info()
        except SimulationError as error:
            if isinstance(error, InputError):
                raise  # the input is wrong, not the simulation
            self._step = scene.steps
            return self._stack_observation(), -self.failure, True, False, {**self._make_info(), "trouble": str(error)}

    def render(self) -> Array | None:
        """Return the present image of the scene's camera.

        Returns:
            (height, width, 3) bytes; None without a render mode.
        """
        return _to_bytes(self._observe(ImageObservation())) if self.render_mode == "rgb_array" else None

    @property
    def state(self) -> State:
        """Present state of the scene."""
        return self._state

    def _begin(self, values: Mapping[str, Tensor]) -> None:
        scene = self.task.scene
        with torch.no_grad():
            self._params, self._values = scene.params_with(values), values
            self._given = scene.get_given_control(values)
            self._state = scene.model.initial_state(self._params)
        self._rewards = StepRewards(self.task, self._params, values)
        self._past = ()
        self._step = 0

    def _make_control(self, action: Array, first: int, last: int) -> dict[str, Tensor]:
        """Return the controls of some steps, including the action."""
        scene = self.task.scene
        given = torch.as_tensor(np.clip(action, -self.limit, self.limit), dtype=scene.dtype).reshape(1, -1)
        row = find_control_rows(given, self._shape, self.only)[0]
        control = {name: value[first:last] for name, value in self._given.items()}
        return {**control, self.drives: row.expand(last - first, *self._shape)}

    def _advance(self, control: Mapping[str, Tensor], first: int, last: int) -> dict[int, State]:
        """Return the states at steps that rewards need, and the last one."""
        scene = self.task.scene
        save = sorted({*self._rewards.list_needed_steps(first, last), last})
        with torch.no_grad():
            path = simulate(
                scene.model, self._params, dt=scene.dt, steps=last - first, save=[step - first for step in save],
                integrator=scene.integrator, gradient=NoGradient(), state=self._state,
                control=Control({name: rows.to(scene.device) for name, rows in control.items()}),
            )  # fmt: skip
        start = {0: self._state} if first == 0 else {}
        return {**start, **{step: path[k] for k, step in enumerate(save)}}

    def _observe(self, observe: Observation) -> Tensor:
        with torch.no_grad():
            return observe.observe(self.task.scene, self._state, self._params, self._values)

    def _stack_observation(self) -> Array:
        shown, self._past = update_memory(self._past, self._observe(self.observe), self.observe.count)
        if isinstance(self.observe, ImageObservation):
            return _to_bytes(shown)
        return np.asarray(shown[0].to(torch.float32).numpy())

    def _make_info(self) -> dict[str, Any]:
        return {"time": self._step * self.task.scene.dt}

    def _make_space(self, first: Array) -> gymnasium.spaces.Box:
        if first.dtype == np.uint8:
            return gymnasium.spaces.Box(0, 255, first.shape, np.uint8)
        return gymnasium.spaces.Box(-np.inf, np.inf, first.shape, np.float32)


def _to_bytes(image: Tensor) -> Array:
    """Return images (1, 4 images, height, width) side by side as bytes (height, width, 3 images)."""
    colours = image.unflatten(1, (-1, 4))[0, :, :3].flatten(0, 1)
    return np.asarray((colours.clamp(0.0, 1.0) * 255.0).round().to(torch.uint8).permute(1, 2, 0).contiguous().numpy())


def _choose_observation(given: object, policy: Policy | None) -> Observation:
    if isinstance(given, Observation):
        return given
    if given is None and policy is not None and policy.observe is not None:
        return policy.observe
    named = check_choice("gym: observe", "state" if given is None else str(given), ("state", "image"))
    return StateObservation() if named == "state" else ImageObservation()


def _choose_every(given: int | None, scene: Scene) -> int:
    own = scene.policy.every if scene.policy is not None and scene.policy.observe is not None else 1
    every = own if given is None else int(given)
    if not 1 <= every <= scene.steps:
        raise InputError(f"gym: got every={every}; expected 1 to {scene.steps} steps, those of the scene")
    return every


def _choose_control(given: str | None, scene: Scene) -> str:
    if given is not None:
        return given
    if scene.policy is not None:
        return scene.policy.drives
    controls = [spec.name for spec in scene.model.specs if spec.per_step]
    if len(controls) != 1:
        raise InputError(f"gym: the model has no single control; give drives=, one of: {', '.join(controls) or 'none'}")
    return controls[0]


def _find_control_layer(policy: Policy | None) -> ControlRows | None:
    """Return the last layer of a network that a file or ``make_network_policy`` made."""
    layers = [] if policy is None else list(policy.module.children())
    return layers[-1] if layers and isinstance(layers[-1], ControlRows) else None


def _choose_limit(given: float | None, network: ControlRows | None, scene: Scene, drives: str) -> float:
    limit = given if given is not None else None if network is None else network.scale
    if limit is None:
        unit = scene.model.spec(drives).unit or "1"
        raise InputError(f"gym: the scene has no largest action; give limit=, the largest {drives!r} [{unit}]")
    if not (np.isfinite(limit) and limit > 0.0):
        raise InputError(f"gym: got limit={limit}; expected a finite number above 0")
    return float(limit)
