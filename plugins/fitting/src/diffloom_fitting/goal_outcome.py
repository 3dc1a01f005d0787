"""Outcome of a fit to a goal, in numbers and in a sentence."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diffloom.interfaces import Control, InputError, NoGradient, SimulationError
from diffloom_fitting.costs import mean_effort
from diffloom_fitting.losses import IoU, TrackError
from diffloom_fitting.losses.centre import centres
from diffloom_fitting.scene import Rollouts

if TYPE_CHECKING:
    from diffloom_fitting.experiment import Experiment
    from diffloom_fitting.scene import Scene

MET, NEAR = 0.8, 0.3  # IoU from which on a goal counts as reached, and as nearly reached
CLOSE = 0.1  # distance within which a position counts as reached [m]
ON_TRACK = 0.02  # distance within which a track counts as followed, as a part of the image's height


@dataclass(frozen=True)
class GoalOutcome:
    """Distance from a goal.

    Args:
        iou: IoU of the outline with that of the goal, mean over goals and views; None without an outline.
        distance: Root mean square distance between the centres of the nodes and the goal [m]; None if unknown.
        effort: Mean square of all controls.
        track: Root mean square distance from a track in the image, as a part of the image's height; None without a
            track.
    """

    iou: float | None
    distance: float | None
    effort: float
    track: float | None = None

    def words(self, iterations: int) -> str:
        """Describe the outcome in a sentence, such as "reached the goal, IoU 0.97, in 12 iterations".

        Args:
            iterations: Number of iterations of the fit.

        Returns:
            The sentence.
        """
        comma = "," if ", " in self.text else ""
        return f"{self.text}{comma} in {iterations} iteration{'' if iterations == 1 else 's'}"

    @property
    def text(self) -> str:
        """The outcome in words, such as "reached the goal, IoU 0.97"."""
        told = [f"IoU {self.iou:.2f}"] if self.iou is not None else []
        told += [f"{self.distance:.3g} m away"] if self.distance is not None else []
        told += [f"{100.0 * self.track:.2g} % of the image's height off its track"] if self.track is not None else []
        verb = {2: "reached the goal", 1: "came near the goal", 0: "did not reach the goal"}[self.reach]
        return ", ".join([verb, *told])

    @property
    def reach(self) -> int:
        """2 if the goal was reached, 1 if nearly, 0 if not."""
        if self.iou is None:
            near = self.distance is not None and self.distance <= CLOSE
            return 2 if near or (self.track is not None and self.track <= ON_TRACK) else 0
        return 2 if self.iou >= MET else 1 if self.iou >= NEAR else 0


def measure_goal(experiment: Experiment, z: Tensor) -> GoalOutcome:
    """Measure how near the goals of an experiment are with the unknowns at ``z``."""
    with torch.no_grad():
        return _measure(experiment, experiment.scene, experiment.layout.decode(z))


def measure_goal_at_half_step(experiment: Experiment, z: Tensor) -> GoalOutcome | None:
    """Measure the same with half the physics step and the same control over time; None if no scene has it."""
    scene = experiment.scene
    if scene.windows:
        return None
    with torch.no_grad():
        values = experiment.layout.decode(z)
        closed = scene.policy is not None and scene.policy.observe is not None
        rows = scene.get_given_control(values) if closed else dict(scene.make_control(values, scene.steps).items())
        control = Control({name: value.repeat_interleave(2, dim=0) for name, value in rows.items()})
        policy = replace(scene.policy, every=2 * scene.policy.every) if closed and scene.policy is not None else None
        finer = replace(scene, dt=0.5 * scene.dt, steps=2 * scene.steps, control=control, policy=policy)
        made = ("control.",) if closed else ("control.", "policy.")
        held = {name: value for name, value in values.items() if not name.startswith(made)}
        try:
            return _measure(experiment, finer, held)
        except SimulationError:
            return None


def _measure(experiment: Experiment, whole: Scene, values: dict[str, Tensor]) -> GoalOutcome:
    """Measure the outcome of a scene with these values."""
    ious, gaps, effort = [], [], 0.0
    with torch.no_grad():
        for label, target in experiment.target.by_view().items():
            scene = whole.select_view(label)
            drawn = target.masks is not None or (target.frames is not None and target.frames.shape[-1] == 4)
            outputs = ("silhouette",) if drawn else ()
            view = scene.render(values, target.times + scene.viewpoint.time_offset, outputs, NoGradient())
            if drawn:
                ious.append(1.0 - float(IoU().value(view, target)))
            if target.q is not None:
                with suppress(InputError):  # joint angles have no centre in space
                    gaps.append(float((centres(view.q) - centres(target.q)).square().sum(dim=1).mean()))
            effort = sum(float(mean_effort(rows)) for rows in view.control.values())
    distance = (sum(gaps) / len(gaps)) ** 0.5 if gaps else None
    return GoalOutcome(sum(ious) / len(ious) if ious else None, distance, effort, _off_track(experiment, whole, values))


def _off_track(experiment: Experiment, scene: Scene, values: dict[str, Tensor]) -> float | None:
    """Return the distance from the goals' tracks, as a part of the image's height.

    The experiment's own loss measures it if it compares tracks, because it knows which vertices follow them.
    """
    targets = experiment.target.by_view()
    if any(target.tracks is None for target in targets.values()):
        return None
    loss = experiment.loss if isinstance(experiment.loss, TrackError) else TrackError()
    with torch.no_grad():
        views = replace(experiment.objective(), loss=loss, scene=scene, rollouts=Rollouts()).views_of(values, False)
    squares = [
        float(loss.distances(views[label], target).square().mean() / scene.select_view(label).size[0] ** 2)
        for label, target in targets.items()
    ]
    return math.sqrt(sum(squares) / len(squares))
