"""Scores of simulated clips: mean position and rotation error, clip by clip."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from diffloom_motion.scene import MotionScene


class Score(dict[str, Tensor]):
    """Errors of each clip, means over its frames (clips,), by kind.

    "position" [m]; "rotation" [rad], the angle between the poses; "joint" [rad], the largest error of the joints, if
    there are any.
    """

    @property
    def mean_position(self) -> float:
        """Mean position error over clips [m]."""
        return float(self["position"].mean())

    @property
    def mean_degrees(self) -> float:
        """Mean rotation error over clips [degrees]."""
        return math.degrees(self["rotation"].mean())

    @property
    def mean_joint_degrees(self) -> float:
        """Mean joint error over clips [degrees]; 0 without joints."""
        return math.degrees(self["joint"].mean()) if "joint" in self else 0.0

    def words(self, width: float | None = None) -> str:
        """Describe the mean errors over clips and the median rotation error in a sentence.

        Args:
            width: Size [m] to which position errors are relative; None shows them in mm.

        Returns:
            The sentence.
        """
        if "joint" in self and not bool(self["position"].any()) and not bool(self["rotation"].any()):
            joints = np.degrees(self["joint"].numpy())
            return f"joints {joints.mean():.2f} degrees, mean over {len(joints)} clips (median {np.median(joints):.2f})"
        place = f"{1e3 * self.mean_position:.2f} mm" if width is None else f"{100 * self.mean_position / width:.2f} %"
        of = "" if width is None else " of the width"
        joint = f", joints {self.mean_joint_degrees:.2f} degrees" if "joint" in self else ""
        return (
            f"position {place}{of}, rotation {self.mean_degrees:.2f} degrees{joint}, mean over {len(self['position'])} "
            f"clips (median {math.degrees(np.median(self['rotation'])):.2f} degrees)"
        )


def score_clips(scene: MotionScene, values: Mapping[str, Tensor]) -> Score:
    """Simulate each clip as a whole from its start and score it.

    Args:
        scene: The clips.
        values: Values of the unknowns by name.

    Returns:
        Errors of each clip.
    """
    found = Score({name: torch.zeros(len(scene.clips), dtype=torch.float64) for name in ("position", "rotation")})
    with torch.no_grad():
        for group in scene.groups:
            place, turn, off = scene.errors(group, values)
            share = group.weight / group.weight.sum(dim=0)
            found["position"][group.rows] = (place.norm(dim=2) * share).sum(dim=0)
            found["rotation"][group.rows] = (turn.norm(dim=2) * share).sum(dim=0)
            if off.shape[2]:
                found.setdefault("joint", torch.zeros_like(found["position"]))
                found["joint"][group.rows] = (off.abs().amax(dim=2) * share).sum(dim=0)
    return found
