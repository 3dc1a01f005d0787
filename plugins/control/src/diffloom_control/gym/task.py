"""A task: a scene, what is wanted of it, and what driving it costs."""

from __future__ import annotations

from dataclasses import dataclass, field

from diffloom_fitting.costs import ControlCosts
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.losses import Loss, PixelError
from diffloom_fitting.scene import Scene
from diffloom_fitting.targets.several import AnyTarget


@dataclass(frozen=True)
class Task:
    """What an environment is made of. The return of an episode is minus the loss between what the scene's cameras see
    and ``target``, minus the costs of the controls: what a fit of the same scene minimises."""

    scene: Scene
    target: AnyTarget
    loss: Loss = field(default_factory=PixelError)
    costs: ControlCosts = field(default_factory=ControlCosts)


def task_of(experiment: Experiment) -> Task:
    """The task of an experiment, judged by the loss of its last stage."""
    loss = experiment.stages[-1].loss or experiment.loss
    return Task(experiment.scene, experiment.target, loss, experiment.costs or ControlCosts())
