"""Starts of rollouts: from the first sample, or from a fit of the flight before the first contact.

With s the recorded length per metre and c the centre of mass in the body's axes, the centre is at p / s + R c, which is
differentiable by both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_geometry.rotations import (
    invert_quaternions,
    multiply_quaternions,
    quaternions_from_vectors,
    rotate_vectors,
    rotation_vectors,
)
from diffloom_motion.clips import Array, Clip

LEAST_FLIGHT = 4
MOMENT = 1e-6  # time from the first sample to a second, extrapolated one [s]
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class Starts:
    """Linear maps from the frames of n clips, padded to f frames, to their starts.

    Args:
        place: (n, f, 3), recorded positions.
        arm: (n, f, 4), orientations that turn the centre of mass.
        here: (n, 2, f), map from positions to position and velocity at the start.
        fall: (n, f), half the time squared.
        orientation: (n, 4), at the start.
        angular_velocity: (n, 3), at the start [rad/s].
        joints: (n, 2, joints), coordinates [rad] and rates at the start.
    """

    place: Tensor
    arm: Tensor
    here: Tensor
    fall: Tensor
    orientation: Tensor
    angular_velocity: Tensor
    joints: Tensor

    def state(self, scale: Tensor, centre: Tensor | None, gravity: Tensor) -> tuple[Tensor, Tensor]:
        """Return position (n, 3) [m] and velocity (n, 3) [m/s] of the centre of mass at the start."""
        place = self.place / scale - self.fall[..., None] * gravity
        if centre is not None:
            place = place + rotate_vectors(self.arm, centre.reshape(-1, 1, 3))
        found = torch.einsum("ckf,cfi->cki", self.here, place)
        return found[:, 0], found[:, 1]


def count_flight_frames(clip: Clip, tolerance: float) -> int:
    """Count the first frames that one parabola fits to within ``tolerance`` [m], for any gravity and scale."""
    frames = LEAST_FLIGHT
    while frames < len(clip):
        t = np.arange(frames + 1) / clip.rate
        design = np.stack([np.ones_like(t), t, t * t], axis=1)
        part = clip.position[: frames + 1]
        left = part - design @ np.linalg.lstsq(design, part, rcond=None)[0]
        if np.abs(left).max() > tolerance or not clip.weight[frames] > 0.0:
            break
        frames += 1
    return frames


def fit_turning_start(orientation: Array, rate: float) -> tuple[Array, Array]:
    """Fit orientation and angular velocity [rad/s, world] at the start of a free flight.

    The angular velocity is taken as constant in the world, which holds for compact bodies, and for short flights.

    Args:
        orientation: (frames, 4), orientations in flight.
        rate: Frames per second.
    """
    frames = len(orientation)
    t = (np.arange(frames) - frames // 2) / rate
    seen = torch.tensor(orientation)
    design = np.stack([np.ones(frames), t], axis=1)
    middle, spin = seen[frames // 2], np.zeros(3)
    for _ in range(4):
        said = multiply_quaternions(quaternions_from_vectors(torch.tensor(spin * t[:, None])), middle.expand(frames, 4))
        left = rotation_vectors(multiply_quaternions(seen, invert_quaternions(said))).numpy()
        shift, more = np.linalg.lstsq(design, left, rcond=None)[0]
        middle, spin = multiply_quaternions(quaternions_from_vectors(torch.tensor(shift)), middle), spin + more
    first = multiply_quaternions(quaternions_from_vectors(torch.tensor(spin * t[0])), middle)
    return first.numpy(), spin


def count_start_frames(clip: Clip, rule: str, tolerance: float) -> int:
    """Count the first frames of a clip that determine its start."""
    if clip.fixed:
        return 1
    if rule == "fitted":
        return min(2 * LEAST_FLIGHT, len(clip))
    return count_flight_frames(clip, tolerance) if rule == "flight" else 1


def fit_joint_start(seen: Array, rate: float, order: int = 1) -> Array:
    """Fit joint coordinates and rates (2, joints) at the start by a polynomial, full turns removed."""
    t = np.arange(len(seen)) / rate
    table = t[:, None] ** np.arange(min(order, len(seen) - 1) + 1)
    return np.asarray(np.linalg.lstsq(table, np.unwrap(seen, axis=0), rcond=None)[0][:2])


def find_joint_start(clip: Clip, rule: str, frames: int) -> Array:
    """Return joint coordinates and rates (2, joints) at the start of a clip.

    Args:
        clip: The clip, with joints.
        rule: "sample" takes the measured rates of a fixed base; other rules fit the first frames.
        frames: Number of first frames that are fitted.
    """
    assert clip.joint_position is not None
    if not clip.fixed:
        return fit_joint_start(clip.joint_position[:frames], clip.rate)
    if rule == "sample":
        if clip.joint_velocity is None:
            raise InputError(
                f'clip {clip.name!r}: start.rule \'sample\' needs columns.joint_velocity, such as ["v1", "v2"]; or '
                "leave start.rule out: a parabola through the first frames"
            )
        return np.stack([clip.joint_position[0], clip.joint_velocity[0]])
    seen = clip.weight[:frames] > 0.0
    return fit_joint_start(
        clip.joint_position[: max(2, int(seen.argmin()) if not seen.all() else frames)], clip.rate, 2
    )


def find_starts(
    clips: Sequence[Clip], rule: str = "flight", tolerance: float = 2e-4, frames: int = 2 * LEAST_FLIGHT
) -> Starts:
    """Compute the starts of clips.

    A clip without orientations, of a marker in the middle of a ball, starts upright and does not turn.

    Args:
        clips: The clips.
        rule: "flight", least squares over the flight before the first contact; "sample", the first sample with measured
            velocities; "fitted", a smooth curve through the first frames, from which the start is then sought.
        tolerance: Largest error of a parabola that counts as flight [m].
        frames: Number of first frames from which the joints of a fixed base are taken.
    """
    if rule not in ("flight", "sample", "fitted"):
        raise InputError(f"start.rule: got {rule!r}; expected 'flight', 'sample' or 'fitted'")
    counts = [count_start_frames(clip, rule, tolerance) for clip in clips]
    most = max(2, *counts)
    place, arm = np.zeros((len(clips), most, 3)), np.zeros((len(clips), most, 4))
    here, fall = np.zeros((len(clips), 2, most)), np.zeros((len(clips), most))
    turn, spin = np.zeros((len(clips), 4)), np.zeros((len(clips), 3))
    joints = np.zeros((len(clips), 2, max(0 if c.joint_position is None else c.joint_position.shape[1] for c in clips)))
    arm[..., 0] = 1.0
    for i, (clip, n) in enumerate(zip(clips, counts, strict=True)):
        seen = UPRIGHT * np.ones((n, 1)) if clip.orientation is None else clip.orientation[:n]
        if clip.joint_position is not None:
            joints[i] = find_joint_start(clip, rule, frames if clip.fixed else max(n, LEAST_FLIGHT))
        if clip.fixed:
            here[i, 0, 0], turn[i] = 1.0, UPRIGHT
            continue
        if rule != "sample":
            t = np.arange(n) / clip.rate
            place[i, :n], arm[i, :n] = clip.position[:n], seen
            if rule == "flight":
                here[i, :, :n], fall[i, :n] = np.linalg.pinv(np.stack([np.ones(n), t], axis=1)), 0.5 * t * t
            else:
                here[i, :, :n] = np.linalg.pinv(np.stack([np.ones(n), t, t * t], axis=1))[:2]
            turn[i], spin[i] = fit_turning_start(seen, clip.rate)
            continue
        turned = clip.orientation is not None and clip.angular_velocity is None
        if clip.velocity is None or turned:
            raise InputError(f"clip {clip.name!r}: start.rule 'sample' needs velocity and angular_velocity columns")
        # A second frame, extrapolated by the measured velocities, makes one formula serve both rules.
        turn[i] = seen[0]
        spin[i] = 0.0 if clip.angular_velocity is None else clip.angular_velocity[0]
        next_turn = multiply_quaternions(
            quaternions_from_vectors(torch.tensor(MOMENT * spin[i])), torch.tensor(turn[i])
        ).numpy()
        place[i, :2] = clip.position[0], clip.position[0] + MOMENT * clip.velocity[0]
        arm[i, :2] = turn[i], next_turn
        here[i, :, :2] = [[1.0, 0.0], [-1.0 / MOMENT, 1.0 / MOMENT]]
    return Starts(*(torch.tensor(a) for a in (place, arm, here, fall, turn, spin, joints)))
