"""Outcome of a fit to a goal, in numbers and in a sentence."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diffloom.interfaces import InputError, NoGradient
from diffloom_fitting.costs import mean_effort
from diffloom_fitting.losses import IoU, TrackError
from diffloom_fitting.losses.centre import centres

if TYPE_CHECKING:
    from diffloom_fitting.experiment import Experiment

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
        told = [f"IoU {self.iou:.2f}"] if self.iou is not None else []
        told += [f"{self.distance:.3g} m away"] if self.distance is not None else []
        told += [f"{100.0 * self.track:.2g} % of the image's height off its track"] if self.track is not None else []
        figures = f", {', '.join(told)}," if told else ""
        return f"{self._verb()}{figures} in {iterations} iteration{'' if iterations == 1 else 's'}"

    def _verb(self) -> str:
        if self.iou is None:
            near = self.distance is not None and self.distance <= CLOSE
            near = near or (self.track is not None and self.track <= ON_TRACK)
            return "reached the goal" if near else "did not reach the goal"
        if self.iou >= MET:
            return "reached the goal"
        return "came near the goal" if self.iou >= NEAR else "did not reach the goal"


def measure_goal(experiment: Experiment, z: Tensor) -> GoalOutcome:
    """Measure how near the goals of an experiment are with the unknowns at ``z``."""
    ious, gaps, effort = [], [], 0.0
    with torch.no_grad():
        values = experiment.layout.decode(z)
        for label, target in experiment.target.by_view().items():
            scene = experiment.scene.select_view(label)
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
    return GoalOutcome(sum(ious) / len(ious) if ious else None, distance, effort, _off_track(experiment, z))


def _off_track(experiment: Experiment, z: Tensor) -> float | None:
    """Return the distance from the goals' tracks, as a part of the image's height.

    The experiment's own loss measures it if it compares tracks, because it knows which vertices follow them.
    """
    targets = experiment.target.by_view()
    if any(target.tracks is None for target in targets.values()):
        return None
    loss = experiment.loss if isinstance(experiment.loss, TrackError) else TrackError()
    with torch.no_grad():
        views = replace(experiment.objective(), loss=loss).views(z, gradient=False)
    squares = [
        float(loss.distances(views[label], target).square().mean() / experiment.scene.select_view(label).size[0] ** 2)
        for label, target in targets.items()
    ]
    return math.sqrt(sum(squares) / len(squares))
