"""State at one time, inputs per step, and the saved states of a rollout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces.errors import InputError, check_finite


@dataclass(frozen=True)
class State:
    """Where a system is at one time.

    q: coordinates, (nodes, dq): positions [m] of particles (dq = 3), or position and unit quaternion wxyz of
       rigid bodies (dq = 7); systems of other kinds use what they document.
    u: velocities, (nodes, du): [m/s] for particles; [m/s] and angular [rad/s], world frame, for bodies (du = 6).
    time: [s].
    """

    q: Tensor
    u: Tensor
    time: float = 0.0

    def __post_init__(self) -> None:
        if self.q.dim() < 1 or self.u.dim() < 1 or self.q.shape[0] != self.u.shape[0]:
            raise InputError(
                f"State: q has shape {tuple(self.q.shape)} and u {tuple(self.u.shape)}; expected (nodes, ...) in both"
            )
        if self.q.dtype != self.u.dtype:
            raise InputError(f"State: q is {self.q.dtype} and u is {self.u.dtype}; expected one dtype")

    def check_finite(self) -> State:
        """Itself, or InputError naming the first value that is NaN or infinite."""
        check_finite("State.q", self.q)
        check_finite("State.u", self.u)
        return self


class Control(Mapping[str, Tensor]):
    """Inputs per physics step: each tensor is (steps, *shape of the parameter it drives)."""

    def __init__(self, values: Mapping[str, Tensor] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, name: str) -> Tensor:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def check_steps(self, steps: int) -> Control:
        """Itself, or InputError when a tensor does not have one row per step."""
        for name, value in self._values.items():
            if value.dim() < 1 or value.shape[0] != steps:
                raise InputError(
                    f"control {name!r}: got shape {tuple(value.shape)} for {steps} steps; expected one row per step, "
                    f"({steps}, ...)"
                )
        return self


@dataclass(frozen=True)
class Trajectory:
    """The states saved on the way.

    q: (frames, nodes, dq), u: (frames, nodes, du), times: (frames,) [s]. Differentiable.
    """

    q: Tensor
    u: Tensor
    times: Tensor

    def __post_init__(self) -> None:
        if not self.q.shape[0] == self.u.shape[0] == self.times.shape[0]:
            raise InputError(
                f"Trajectory: q, u and times hold {self.q.shape[0]}, {self.u.shape[0]} and {self.times.shape[0]} "
                "frames; expected the same number"
            )

    def __len__(self) -> int:
        return int(self.q.shape[0])

    def __getitem__(self, frame: int) -> State:
        return State(self.q[frame], self.u[frame], float(self.times[frame]))

    @property
    def last(self) -> State:
        """The last saved state."""
        return self[-1]

    def select(self, frames: Tensor | list[int]) -> Trajectory:
        """Only the given frames."""
        index = torch.as_tensor(frames, dtype=torch.long)
        return Trajectory(self.q[index], self.u[index], self.times[index])
