"""How far simulated clips are from what was recorded: mean position and rotation error, clip by clip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from diffloom_fitting.motion.clips import Array
from diffloom_fitting.motion.problem import MotionProblem


@dataclass(frozen=True)
class Score:
    """Of each clip: the mean over its frames of the position error [m] and of the angle between the poses [rad]."""

    position: Array
    rotation: Array

    @property
    def mean_position(self) -> float:
        """Over clips [m]."""
        return float(self.position.mean())

    @property
    def mean_degrees(self) -> float:
        """Over clips."""
        return float(np.degrees(self.rotation.mean()))


def score(problem: MotionProblem, values: Mapping[str, Tensor], own: Tensor | None = None) -> Score:
    """Each clip simulated as a whole from its start."""
    position, rotation = np.zeros(len(problem.clips)), np.zeros(len(problem.clips))
    with torch.no_grad():
        for group in problem.groups:
            place, turn = problem.errors(group, values, None if own is None else own[group.rows])
            share = group.weight / group.weight.sum(dim=0)
            position[group.rows] = (place.norm(dim=2) * share).sum(dim=0).numpy()
            rotation[group.rows] = (turn.norm(dim=2) * share).sum(dim=0).numpy()
    return Score(position, rotation)
