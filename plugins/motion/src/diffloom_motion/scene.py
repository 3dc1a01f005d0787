"""Clips under one model: many of them simulated side by side, against what was recorded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import InputError, Params, Trajectory
from diffloom_geometry.rotations import multiply_quaternions, quaternions_from_vectors, rotation_vectors_between
from diffloom_motion.clips import Array, Clip
from diffloom_motion.starts import LEAST_FLIGHT, Starts, count_flight_frames, find_starts

#: Recorded length per metre: an unknown of the recording, not of the model.
SCALE = "scale"
#: Prefix of the unknowns that are corrections of each clip's start.
START = "start."
#: Parts of a start that may be free, with their units: three numbers each, and one for each joint.
STARTS = {"position": "m", "orientation": "rad", "velocity": "m/s", "angular_velocity": "rad/s"}
JOINT_STARTS = {"joint_position": "rad", "joint_velocity": "rad/s"}
#: Frames at the end of a clip by which the ground is found.
ENDING = 5
#: Clips of one rollout are at most so many times as long as its shortest.
UNEVEN = 1.5


class CopiedBodies(Protocol):
    """A model of one body of which many copies run side by side, and that tells where the frame of each is.

    Models of trees also bring copied_values, start_values, joint_coordinates and heights, as the model "articulated".
    """

    def copies(self, count: int) -> CopiedBodies: ...

    def params(self, dtype: torch.dtype = ..., **values: object) -> Params: ...

    def frames(self, trajectory: Trajectory, params: Params) -> Tensor: ...


@dataclass(frozen=True)
class OwnStart:
    """Corrections of each clip's start that are sought, with what is expected of them.

    deviations: by part of the start, the standard deviation [m, rad, m/s, rad/s] of its error. noise: that [m]
    of a frame's error that they are weighed against. joints: of the model.
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
        """Numbers that a part of the start has in a clip."""
        return self.joints if name in JOINT_STARTS else 3


@dataclass(frozen=True)
class StartRules:
    """How clips are simulated and compared.

    params: known values of the model's parameters. substeps: steps of physics a frame. rotation_length: what a radian
    counts [m], joint_length: one of a joint (None: as much). start: rule and tolerance as in starts_of; with the rule
    "fitted" tolerance [m] is the height over the ground under which a tree no longer flies. own: corrections of the
    starts that are sought. grounded: whether clips of trees are moved along the ground's normal so that their lowest
    points end on the ground, for recordings whose ground is not at one height.
    """

    params: Mapping[str, Any] = field(default_factory=dict)
    substeps: int = 16
    rotation_length: float = 0.1
    start: str = "flight"
    tolerance: float = 2e-4
    own: OwnStart | None = None
    joint_length: float | None = None
    grounded: bool = False


@dataclass(frozen=True)
class ClipGroup:
    """Clips of like length that are simulated in one rollout, ``rows`` of them among all clips.

    position (frames, n, 3) [recorded m], orientation (frames, n, 4), weight (frames, n), which add up to 1
    over a clip; turned: whether there are orientations; joints (frames, n, joints) [rad]; flight (frames, n): 1 before
    a clip's first contact, 0 from then on.
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


class MotionScene:
    """Clips under one model. ``residuals`` is what fits square and add up; it is differentiable.

    Values of unknowns come by name: parameters of the model, ``scale``, the recorded length per metre, and
    ``start.velocity`` and its like, (clips, 3), corrections of the clips' starts.
    """

    def __init__(self, model: CopiedBodies, clips: Sequence[Clip], rules: StartRules) -> None:
        if not clips:
            raise InputError("clips: there are none; expected at least one")
        if not hasattr(model, "copies") or not hasattr(model, "frames"):
            raise InputError(f"model {type(model).__name__}: measured motion needs a model with copies and frames, "
                             "such as 'rigid' with one body")  # fmt: skip
        self.model, self.rules = model, rules
        self.clips = tuple(self._grounded(clip) if rules.grounded else clip for clip in clips)
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
        starts = find_starts(clips, self.rules.start, self.rules.tolerance)
        turned = torch.tensor([clip.orientation is not None for clip in clips], dtype=torch.float64)
        joints, flight = np.zeros((frames, len(clips), starts.joints.shape[2])), np.zeros((frames, len(clips)))
        for i, clip in enumerate(clips):
            flight[: self._flight(clip), i] = 1.0
            if clip.joint_position is not None:
                joints[: len(clip), i] = clip.joint_position
        return ClipGroup(
            self.model.copies(len(clips)), rows, clips[0].rate, starts, torch.tensor(position), torch.tensor(turn),
            torch.tensor(weight), turned, torch.tensor(joints), torch.tensor(flight),
        )  # fmt: skip

    def _flight(self, clip: Clip) -> int:
        """How many of a clip's first frames are before its first contact: a tree's by its height over the ground."""
        if clip.joint_position is None:
            return count_flight_frames(clip, self.rules.tolerance)
        low = self._heights(clip) < self.rules.tolerance
        return max(int(low.argmax()) if low.any() else len(clip), LEAST_FLIGHT)

    def _heights(self, clip: Clip) -> Array:
        """(frames,) of a tree's lowest point over the ground [m], as it was recorded."""
        if clip.joint_position is None or clip.orientation is None:
            raise InputError(f"clip {clip.name!r}: its height over the ground needs orientation and joint_position")
        seen = {"position": clip.position, "orientation": clip.orientation, "joint_position": clip.joint_position}
        model: Any = self.model.copies(len(clip))
        start = model.start_values({name: torch.tensor(value) for name, value in seen.items()})
        params = model.params(torch.float64, **model.copied_values(self.rules.params), **start)
        return np.asarray(model.heights(params).numpy())

    def _grounded(self, clip: Clip) -> Clip:
        """The clip moved so that the lowest point of its last frames is on the ground."""
        normal = np.asarray(self.rules.params.get("ground_normal", (0.0, 1.0, 0.0)), dtype=np.float64)
        normal = normal / np.linalg.norm(normal)
        end = float(np.median(self._heights(clip)[-ENDING:]))
        return replace(clip, position=clip.position - end * normal)

    @property
    def own(self) -> Mapping[str, float]:
        """Parts of each clip's start that are sought, with their deviations."""
        return {} if self.rules.own is None else self.rules.own.deviations

    def poses(self, group: ClipGroup, values: Mapping[str, Tensor], frames: int | None) -> tuple[Tensor, Tensor]:
        """(frames, n, 7) of the bodies' frames, in metres, and (frames, n, joints) [rad]."""
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
        path = simulate(model, params, dt=step, steps=steps, save_every=self.rules.substeps)
        found: Tensor = model.frames(path, params)
        joints = model.joint_coordinates(path) if group.joints.shape[2] else found[..., :0]
        return found, joints

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
        """Of each frame and clip: position error (frames, n, 3) [m], rotation error (frames, n, 3) [rad] and those of
        the joints (frames, n, joints) [rad], full turns left out."""
        poses, joints = self.poses(group, values, frames)
        place = poses[..., :3] - group.position[: len(poses)] / get_scale(values, self.rules.params)
        turn = rotation_vectors_between(poses[..., 3:], group.orientation[: len(poses)]) * group.turned[None, :, None]
        off = joints - group.joints[: len(poses)]
        return place, turn, off - 2.0 * torch.pi * torch.round(off.detach() / (2.0 * torch.pi))

    def residuals(
        self, group: ClipGroup, values: Mapping[str, Tensor], frames: int | None = None, flight: bool = False
    ) -> Tensor:
        """(n, frames + 1, 6 + joints) [m]: errors of a clip's frames, whose squares add up to the mean squared error
        over these, and what its own start is off by, weighed in the same measure. flight: only frames before the first
        contact count."""
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


def get_scale(values: Mapping[str, Tensor], known: Mapping[str, Any]) -> Tensor:
    """Recorded length per metre: sought, or 1."""
    return values[SCALE] if SCALE in values else torch.ones(1, dtype=torch.float64)
