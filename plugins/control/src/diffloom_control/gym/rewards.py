"""Rewards: an experiment's loss and costs, paid as an episode goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import Params, State, Trajectory
from diffloom_control.gym.task import Task
from diffloom_fitting.scene import Sampling, Scene, View, sample_times
from diffloom_fitting.targets import Target


@dataclass(frozen=True)
class Wanted:
    """One frame of the target: who sees it, between which steps it lies, and its share in the loss."""

    scene: Scene
    target: Target
    sampling: Sampling
    share: float


class Rewards:
    """The rewards of one episode; their sum is minus the objective of the controls that were given.

    Every frame of the target is paid for in the step that passes it, effort and smoothness in every step. A loss must
    be a mean over frames, as ours are.
    """

    def __init__(self, task: Task, params: Params, values: Mapping[str, Tensor]) -> None:
        self.task, self.params, self.values = task, params, values
        self.frames = _frames(task, values)
        self.needed = sorted({step for frame in self.frames for step in frame.sampling.save})
        self.states: dict[int, State] = {}
        self.last: dict[str, Tensor] = {}

    def wanted(self, first: int, last: int) -> list[int]:
        """The steps after ``first`` up to ``last`` whose states are needed."""
        return [step for step in self.needed if first < step <= last]

    def paid(self, first: int, last: int, states: Mapping[int, State], control: Mapping[str, Tensor]) -> float:
        """The reward of going from step ``first`` to ``last`` through these states under controls (steps, ...)."""
        self.states |= {step: state for step, state in states.items() if step in self.needed}
        total = self._cost(control, last - first)
        for frame in self.frames:
            end = frame.sampling.save[-1]
            if first < end <= last or (first == 0 and end == 0):
                total += frame.share * self._loss(frame)
        later = [f.sampling.save[0] for f in self.frames if f.sampling.save[-1] > last]
        keep = min(later, default=self.task.scene.steps + 1)
        self.states = {step: state for step, state in self.states.items() if step >= keep}
        return -total

    def _loss(self, frame: Wanted) -> float:
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

    def _cost(self, control: Mapping[str, Tensor], steps: int) -> float:
        """Mean squares over the whole episode, of which these steps are a part."""
        costs, scene, total = self.task.costs, self.task.scene, 0.0
        for name, rows in control.items():
            total += costs.effort * float(rows.square().mean()) * steps / scene.steps
            joined = torch.cat([self.last[name], rows]) if name in self.last else rows
            if costs.smoothness > 0.0 and len(joined) > 1:
                rate = (joined.diff(dim=0) / scene.dt).square()
                total += costs.smoothness * float(rate.mean()) * (len(joined) - 1) / (scene.steps - 1)
            self.last[name] = rows[-1:]
        return total


def _frames(task: Task, values: Mapping[str, Tensor]) -> list[Wanted]:
    views, found = task.target.by_view(), []
    for label, target in views.items():
        scene = task.scene.seen_from(label)
        for k in range(len(target)):
            one = target.select([k])
            times = scene.exposed(one.times + scene.viewpoint.time_offset, values)
            sampling = sample_times(times, scene.dt, scene.steps)
            found.append(Wanted(scene, one, sampling, 1.0 / (len(views) * len(target))))
    return found
