"""Clips under one model: their simulation, many at once, and errors against the recording."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import Control, InputError, Params, Trajectory
from diffloom_geometry.rotations import multiply_quaternions, quaternions_from_vectors, rotation_vectors_between
from diffloom_motion.clips import Array, Clip
from diffloom_motion.starts import LEAST_FLIGHT, Starts, count_flight_frames, find_starts

#: Name of the recorded length per metre, an unknown of the recording.
SCALE = "scale"
#: Prefix of the unknowns that are corrections of each clip's start.
START = "start."
#: Parts of a start that may be free, with their units: three numbers each, or one per joint.
STARTS = {"position": "m", "orientation": "rad", "velocity": "m/s", "angular_velocity": "rad/s"}
JOINT_STARTS = {"joint_position": "rad", "joint_velocity": "rad/s"}
#: Frames at the end of a clip from which the ground is found.
ENDING = 5
#: Largest ratio of the lengths of two clips in one rollout.
UNEVEN = 1.5


class CopiedBodies(Protocol):
    """Model of one body that can simulate many copies in one rollout and return the frame of each.

    Models of trees also have copied_values, start_values, joint_coordinates and heights, as the model "articulated".
    """

    def copies(self, count: int) -> CopiedBodies: ...

    def params(self, dtype: torch.dtype = ..., **values: object) -> Params: ...

    def frames(self, trajectory: Trajectory, params: Params) -> Tensor: ...


@dataclass(frozen=True)
class OwnStart:
    """Corrections of each clip's start that are sought, with their prior.

    Args:
        deviations: Standard deviation of the error of each part of the start [m, rad, m/s, rad/s].
        noise: Standard deviation of a frame's error [m] that they are weighed against.
        joints: Number of joints of the model.
    """

    deviations: Mapping[str, float]
    noise: float = 1e-3
    joints: int = 0

    def __post_init__(self) -> None:
        for name, value in self.deviations.items():
            if name not in STARTS | JOINT_STARTS or not value > 0.0 or not math.isfinite(value):
                raise InputError(f"start.free.{name}: got {value}; expected a positive deviation of one of "
                                 f"{', '.join(STARTS | JOINT_STARTS)}")  # fmt: skip

    def width(self, name: str) -> int:
        """Return the number of numbers that a part of the start has in a clip.

        Args:
            name: Name of the part, such as "velocity".

        Returns:
            3, or the number of joints.
        """
        return self.joints if name in JOINT_STARTS else 3


@dataclass(frozen=True)
class StartRules:
    """Rules of simulating and comparing clips.

    Args:
        params: Known values of the model's parameters.
        substeps: Physics steps per frame.
        rotation_length: Position error [m] that weighs as much as a rotation error of one radian.
        start: "flight", "sample" or "fitted": a fit of the flight before the first contact, the first sample, or a
            smooth curve from which the start is sought. On a fixed base "flight" is a parabola through the first
            frames.
        tolerance: Largest error of a parabola that counts as flight [m]. With "fitted", height over the ground below
            which a tree is in contact.
        own: Corrections of the starts that are sought.
        joint_length: Position error [m] that weighs as much as a joint error of one radian; None takes rotation_length.
        grounded: True to move clips of trees along the ground's normal so that they end on the ground, for recordings
            on uneven ground.
        start_frames: Number of first frames from which the start of a clip on a fixed base is taken.
    """

    params: Mapping[str, Any] = field(default_factory=dict)
    substeps: int = 16
    rotation_length: float = 0.1
    start: str = "flight"
    tolerance: float = 2e-4
    own: OwnStart | None = None
    joint_length: float | None = None
    grounded: bool = False
    start_frames: int = 8


@dataclass(frozen=True)
class ClipGroup:
    """Clips of similar length that are simulated in one rollout.

    Args:
        model: Model of all copies.
        rows: Positions of the clips among all clips.
        rate: Frames per second.
        starts: Maps to the starts.
        position: (frames, n, 3), recorded positions.
        orientation: (frames, n, 4), recorded orientations.
        weight: (frames, n), adds up to 1 over a clip.
        turned: (n,), 1 for clips with orientations.
        joints: (frames, n, joints) [rad].
        flight: (frames, n), 1 before a clip's first contact, then 0.
        torque: (frames, n, joints) [N m] of the motors, or None without them.
    """

    model: Any
    rows: list[int]
    rate: float
    starts: Starts
    position: Tensor
    orientation: Tensor
    weight: Tensor
    turned: Tensor
    joints: Tensor
    flight: Tensor
    torque: Tensor | None = None


class MotionScene:
    """Clips under one model.

    Values of unknowns have names: parameters of the model, ``scale``, the recorded length per metre, and
    ``start.velocity`` and so on, (clips, 3), corrections of the clips' starts.

    Args:
        model: Model of one body, with copies and frames, such as "rigid" with one body.
        clips: The clips.
        rules: Rules of simulating and comparing them.
    """

    def __init__(self, model: CopiedBodies, clips: Sequence[Clip], rules: StartRules) -> None:
        if not clips:
            raise InputError("clips: got none; expected at least one")
        if not hasattr(model, "copies") or not hasattr(model, "frames"):
            raise InputError(f"model {type(model).__name__}: measured motion needs a model with copies and frames, "
                             "such as 'rigid' with one body")  # fmt: skip
        self.model, self.rules = model, rules
        for clip in clips if hasattr(model, "check_recording") else ():
            joints = 0 if clip.joint_position is None else clip.joint_position.shape[1]
            model.check_recording(joints, clip.fixed)  # type: ignore[attr-defined]
        self.clips = tuple(self._put_on_ground(clip) if rules.grounded else clip for clip in clips)
        clips = self.clips
        order = sorted(range(len(clips)), key=lambda i: len(clips[i]))
        rows: list[list[int]] = []
        for i in order:
            if rows and len(clips[i]) <= UNEVEN * len(clips[rows[-1][0]]) and clips[i].rate == clips[rows[-1][0]].rate:
                rows[-1].append(i)
            else:
                rows.append([i])
        self.groups = [self._group(own) for own in rows]

    def _group(self, rows: list[int]) -> ClipGroup:
        clips = [self.clips[i] for i in rows]
        frames = max(len(clip) for clip in clips)
        position, weight = np.zeros((frames, len(clips), 3)), np.zeros((frames, len(clips)))
        turn = np.tile([1.0, 0.0, 0.0, 0.0], (frames, len(clips), 1))
        for i, clip in enumerate(clips):
            position[: len(clip), i], weight[: len(clip), i] = clip.position, clip.weight / clip.weight.sum()
            if clip.orientation is not None:
                turn[: len(clip), i] = clip.orientation
        starts = find_starts(clips, self.rules.start, self.rules.tolerance, self.rules.start_frames)
        turned = torch.tensor([clip.orientation is not None for clip in clips], dtype=torch.float64)
        joints, flight = np.zeros((frames, len(clips), starts.joints.shape[2])), np.zeros((frames, len(clips)))
        for i, clip in enumerate(clips):
            flight[: self._flight(clip), i] = 1.0
            if clip.joint_position is not None:
                joints[: len(clip), i] = clip.joint_position
        return ClipGroup(
            self.model.copies(len(clips)), rows, clips[0].rate, starts, torch.tensor(position), torch.tensor(turn),
            torch.tensor(weight), turned, torch.tensor(joints), torch.tensor(flight), gather_torques(clips, frames),
        )  # fmt: skip

    def _flight(self, clip: Clip) -> int:
        """Count the frames before a clip's first contact; for trees, by their height over the ground. On a fixed base,
        those of the start.
        """
        if clip.fixed:
            return min(self.rules.start_frames, len(clip))
        if clip.joint_position is None:
            return count_flight_frames(clip, self.rules.tolerance)
        low = self._heights(clip) < self.rules.tolerance
        return max(int(low.argmax()) if low.any() else len(clip), LEAST_FLIGHT)

    def _heights(self, clip: Clip) -> Array:
        """Return the recorded height (frames,) of a tree's lowest point over the ground [m]."""
        if clip.joint_position is None or clip.orientation is None:
            raise InputError(f"clip {clip.name!r}: its height over the ground needs orientation and joint_position")
        seen = {"position": clip.position, "orientation": clip.orientation, "joint_position": clip.joint_position}
        model: Any = self.model.copies(len(clip))
        start = model.start_values({name: torch.tensor(value) for name, value in seen.items()})
        params = model.params(torch.float64, **model.copied_values(self.rules.params), **start)
        return np.asarray(model.heights(params).numpy())

    def _put_on_ground(self, clip: Clip) -> Clip:
        """Move a clip so that the lowest point of its last frames is on the ground."""
        normal = np.asarray(self.rules.params.get("ground_normal", (0.0, 1.0, 0.0)), dtype=np.float64)
        normal = normal / np.linalg.norm(normal)
        end = float(np.median(self._heights(clip)[-ENDING:]))
        return replace(clip, position=clip.position - end * normal)

    @property
    def own(self) -> Mapping[str, float]:
        """Standard deviations of the parts of each clip's start that are sought."""
        return {} if self.rules.own is None else self.rules.own.deviations

    def poses(self, group: ClipGroup, values: Mapping[str, Tensor], frames: int | None) -> tuple[Tensor, Tensor]:
        """Simulate the clips of a group.

        Args:
            group: The clips.
            values: Values of the unknowns by name.
            frames: Number of frames; None for all.

        Returns:
            Poses (frames, n, 7) of the bodies [m] and joint coordinates (frames, n, joints) [rad].
        """
        count = len(group.position) if frames is None else min(frames, len(group.position))
        start = self._start(group, values)
        given = {name: value for name, value in values.items() if name != SCALE and not name.startswith(START)}
        model = group.model
        if hasattr(model, "copied_values"):
            given = model.copied_values({**self.rules.params, **given})
            start = model.start_values(start)
        else:
            rows = {n: v[None] if n in ("inertia", "centre_of_mass") else v for n, v in given.items()}
            given = {name: value for name, value in self.rules.params.items() if name not in given} | rows
        params = model.params(torch.float64, **given, **start)
        step = 1.0 / (group.rate * self.rules.substeps)
        steps = self.rules.substeps * (count - 1)
        control = None if group.torque is None else self._motors(group.torque[:count], params["torque"])
        path = simulate(model, params, dt=step, steps=steps, save_every=self.rules.substeps, control=control)
        found: Tensor = model.frames(path, params)
        joints = model.joint_coordinates(path) if group.joints.shape[2] else found[..., :0]
        return found, joints

    def _motors(self, torque: Tensor, offset: Tensor) -> Control:
        """Return the recorded torques (frames, n, joints) at the middle of each step, by interpolation, plus the
        model's own, which are offsets of the motors.
        """
        share = (torch.arange(self.rules.substeps, dtype=torch.float64) + 0.5) / self.rules.substeps
        steps = torque[:-1, None] + share[:, None, None] * (torque[1:] - torque[:-1])[:, None]
        return Control({"torque": steps.reshape(-1, torque.shape[1] * torque.shape[2]) + offset})

    def _start(self, group: ClipGroup, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        said, starts = self.rules.params, group.starts
        centre = values.get("centre_of_mass", said.get("centre_of_mass"))
        if centre is not None:
            centre = torch.as_tensor(centre, dtype=torch.float64)
        gravity = torch.as_tensor(values.get("gravity", said.get("gravity", (0.0, -9.81, 0.0))), dtype=torch.float64)
        place, velocity = starts.state(get_scale(values, said), centre, gravity)
        found = {"position": place, "orientation": starts.orientation, "velocity": velocity,
                 "angular_velocity": starts.angular_velocity}  # fmt: skip
        if starts.joints.shape[2]:
            found |= {"joint_position": starts.joints[:, 0], "joint_velocity": starts.joints[:, 1]}
        for name in found:
            if START + name in values:
                change = values[START + name][group.rows]
                turned = name == "orientation"
                found[name] = (
                    multiply_quaternions(quaternions_from_vectors(change), found[name])
                    if turned
                    else found[name] + change
                )
        return found

    def errors(
        self, group: ClipGroup, values: Mapping[str, Tensor], frames: int | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the errors of each frame and clip.

        Args:
            group: The clips.
            values: Values of the unknowns by name.
            frames: Number of frames; None for all.

        Returns:
            Position errors (frames, n, 3) [m], rotation errors (frames, n, 3) [rad] and joint errors (frames, n,
            joints) [rad] without full turns.
        """
        poses, joints = self.poses(group, values, frames)
        place = poses[..., :3] - group.position[: len(poses)] / get_scale(values, self.rules.params)
        turn = rotation_vectors_between(poses[..., 3:], group.orientation[: len(poses)]) * group.turned[None, :, None]
        off = joints - group.joints[: len(poses)]
        return place, turn, off - 2.0 * torch.pi * torch.round(off.detach() / (2.0 * torch.pi))

    def residuals(
        self, group: ClipGroup, values: Mapping[str, Tensor], frames: int | None = None, flight: bool = False
    ) -> Tensor:
        """Compute the residuals whose squares a fit adds up; they are differentiable.

        Args:
            group: The clips.
            values: Values of the unknowns by name.
            frames: Number of frames; None for all.
            flight: True to use only frames before the first contact.

        Returns:
            (n, frames + 1, 6 + joints) [m]: errors whose squares add up to the mean squared error of a clip, and
            corrections of its own start in the same measure.
        """
        if flight:
            frames = min(int(group.flight.sum(dim=0).max()), frames or len(group.flight))
        place, turn, joint = self.errors(group, values, frames)
        weight = group.weight[: len(place)] * (group.flight[: len(place)] if flight else 1.0)
        share = (weight / weight.sum(dim=0)).sqrt()[..., None]
        length, joint_length = self.rules.rotation_length, self.rules.joint_length or self.rules.rotation_length
        rows = torch.cat([place, length * turn, joint_length * joint], dim=-1) * share
        found = rows.transpose(0, 1)
        width = found.shape[2]
        sought = {START + name: deviation for name, deviation in self.own.items() if START + name in values}
        if not sought or self.rules.own is None:
            return found
        own = torch.cat([values[name][group.rows] / deviation for name, deviation in sought.items()], dim=1)
        counts = (weight > 0.0).sum(dim=0).sqrt()[:, None]
        prior = self.rules.own.noise * own / counts
        padded = torch.nn.functional.pad(prior, (0, -prior.shape[1] % width)).reshape(len(prior), -1, width)
        return torch.cat([found, padded], dim=1)


def gather_torques(clips: Sequence[Clip], frames: int) -> Tensor | None:
    """Return the torques (frames, clips, joints) of the motors [N m]; None if no clip has any."""
    if all(clip.joint_torque is None for clip in clips):
        return None
    found = []
    for clip in clips:
        if clip.joint_torque is None or clip.joint_position is None:
            raise InputError(f"clip {clip.name!r}: it has no joint_torque, and other clips have it; record it in all")
        found.append(np.pad(clip.joint_torque, ((0, frames - len(clip)), (0, 0)), mode="edge"))
    return torch.tensor(np.stack(found, axis=1))


def get_scale(values: Mapping[str, Tensor], known: Mapping[str, Any]) -> Tensor:
    """Return the recorded length per metre: the unknown's value, or 1."""
    return values[SCALE] if SCALE in values else torch.ones(1, dtype=torch.float64)
