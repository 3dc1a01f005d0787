"""Clips: the recorded motion of one body from one start."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Clip:
    """Motion of one body in the world's axes.

    Args:
        name: Name of the clip.
        rate: Frames per second.
        position: (frames, 3), position of the body's frame [m].
        orientation: (frames, 4), quaternions w, x, y, z of either sign; None for a marker in the middle of a body.
        weight: (frames,), weight of each frame; 0 where a sample is missing.
        velocity: (frames, 3) [m/s], if measured.
        angular_velocity: (frames, 3) [rad/s], if measured.
        joint_position: (frames, joints) [rad], up to full turns, of the joints of a tree whose first link is the frame.
        joint_velocity: (frames, joints) [rad/s], if measured.
        joint_torque: (frames, joints) [N m], known torques of motors at the joints; none without motors.
        fixed: True if the tree stands on a fixed base: its joints are all that moves.
    """

    name: str
    rate: float
    position: Array
    orientation: Array | None
    weight: Array
    velocity: Array | None = None
    angular_velocity: Array | None = None
    joint_position: Array | None = None
    joint_velocity: Array | None = None
    joint_torque: Array | None = None
    fixed: bool = False

    def __post_init__(self) -> None:
        frames = len(self.position)
        shapes = {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3}
        for field, width in shapes.items():
            value = getattr(self, field)
            if value is not None and value.shape != (frames, width):
                raise InputError(f"clip {self.name!r}: {field} has shape {value.shape}; expected ({frames}, {width})")
        joints = self.joint_position
        for field in ("joint_position", "joint_velocity", "joint_torque"):
            value = getattr(self, field)
            count = -1 if joints is None else joints.shape[-1]
            if value is not None and (value.ndim != 2 or len(value) != frames or value.shape[1] != count):
                told = "joints" if count < 0 or field == "joint_position" else count
                raise InputError(f"clip {self.name!r}: {field} has shape {value.shape}; expected ({frames}, {told})")
        if self.fixed and joints is None:
            raise InputError(f"clip {self.name!r}: a tree on a fixed base needs joint_position")
        if self.weight.shape != (frames,) or bool((self.weight < 0.0).any()):
            raise InputError(f"clip {self.name!r}: expected a weight of at least 0 for each of {frames} frames")
        if not self.weight[0] > 0.0:
            raise InputError(f"clip {self.name!r}: its first frame is missing; cut it off: clips begin with a sample")
        if self.rate <= 0.0:
            raise InputError(f"clip {self.name!r}: got a rate of {self.rate:g}; expected frames per second")

    def __len__(self) -> int:
        return len(self.position)

    def part(self, first: int, end: int) -> Clip:
        """Cut a part of the clip.

        Args:
            first: First frame.
            end: Frame after the last.

        Returns:
            The frames from ``first`` on, before ``end``.
        """

        def cut(value: Array | None) -> Array | None:
            return None if value is None else value[first:end]

        return replace(
            self, name=f"{self.name}@{first}", position=self.position[first:end], orientation=cut(self.orientation),
            weight=self.weight[first:end], velocity=cut(self.velocity), angular_velocity=cut(self.angular_velocity),
            joint_position=cut(self.joint_position), joint_velocity=cut(self.joint_velocity),
            joint_torque=cut(self.joint_torque),
        )  # fmt: skip

    def windows(self, frames: int, stride: int) -> list[Clip]:
        """Cut the clip into windows, for multiple shooting.

        Args:
            frames: Frames of a window.
            stride: Frames from the beginning of one window to that of the next.

        Returns:
            The windows, without those whose first sample is missing or that are shorter than half.
        """
        if frames < 2 or stride < 1:
            raise InputError(f"windows: got frames={frames} and stride={stride}; expected at least 2 and 1")
        pieces = [(at, min(at + frames, len(self))) for at in range(0, len(self), stride)]
        kept = [(at, end) for at, end in pieces if self.weight[at] > 0.0 and 2 * (end - at) >= frames]
        return [self.part(at, end) for at, end in kept]
