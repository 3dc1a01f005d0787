"""How far simulated clips are from what was recorded: mean position and rotation error, clip by clip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from diffloom_motion.clips import Array
from diffloom_motion.problem import MotionProblem


@dataclass(frozen=True)
class Score:
    """Of each clip: the mean over its frames of the position error [m], of the angle between the poses [rad], and of
    the largest error of its joints [rad] where it has any."""

    position: Array
    rotation: Array
    joint: Array | None = None

    @property
    def mean_position(self) -> float:
        """Over clips [m]."""
        return float(self.position.mean())

    @property
    def mean_degrees(self) -> float:
        """Over clips."""
        return float(np.degrees(self.rotation.mean()))

    @property
    def mean_joint_degrees(self) -> float:
        """Over clips; 0 without joints."""
        return 0.0 if self.joint is None else float(np.degrees(self.joint.mean()))


def score(problem: MotionProblem, values: Mapping[str, Tensor], own: Tensor | None = None) -> Score:
    """Each clip simulated as a whole from its start."""
    position, rotation, joint = (np.zeros(len(problem.clips)) for _ in range(3))
    jointed = False
    with torch.no_grad():
        for group in problem.groups:
            place, turn, off = problem.errors(group, values, None if own is None else own[group.rows])
            share = group.weight / group.weight.sum(dim=0)
            position[group.rows] = (place.norm(dim=2) * share).sum(dim=0).numpy()
            rotation[group.rows] = (turn.norm(dim=2) * share).sum(dim=0).numpy()
            if off.shape[2]:
                jointed = True
                joint[group.rows] = (off.abs().amax(dim=2) * share).sum(dim=0).numpy()
    return Score(position, rotation, joint if jointed else None)
