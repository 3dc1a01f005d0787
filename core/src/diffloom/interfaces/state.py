"""State at one time, inputs per step, and the saved states of a rollout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import overload

import torch
from torch import Tensor

from diffloom.errors import InputError
from diffloom.validation import check_finite

Pair = tuple[Tensor, Tensor]
Given = Tensor | Mapping[str, Tensor]


def _pairs(owner: str, q: Given, u: Given) -> dict[str, Pair]:
    """Coordinates and velocities by node set; a single set needs no name."""
    if isinstance(q, Tensor) and isinstance(u, Tensor):
        return {"": (q, u)}
    if isinstance(q, Mapping) and isinstance(u, Mapping) and q.keys() == u.keys() and q:
        return {name: (q[name], u[name]) for name in q}
    names = [", ".join(map(repr, given)) if isinstance(given, Mapping) else "one tensor" for given in (q, u)]
    raise InputError(f"{owner}: q is of {names[0]} and u of {names[1]}; expected the same node sets in both")


class _Sets:
    """What states and trajectories share: tensors q and u for each node set of a system."""

    sets: Mapping[str, Pair]

    @property
    def names(self) -> tuple[str, ...]:
        """The node sets."""
        return tuple(self.sets)

    @property
    def q(self) -> Tensor:
        """Coordinates, where there is one node set."""
        return self._only()[0]

    @property
    def u(self) -> Tensor:
        """Velocities, where there is one node set."""
        return self._only()[1]

    def _only(self) -> Pair:
        if len(self.sets) != 1:
            kind = type(self).__name__.lower()
            raise InputError(
                f"{kind}.q and {kind}.u: there are several node sets, {', '.join(map(repr, self.sets))}; "
                f"take one by name, {kind}[{next(iter(self.sets))!r}].q"
            )
        return next(iter(self.sets.values()))

    def _named(self, name: str) -> Pair:
        if name not in self.sets:
            raise InputError(f"no node set is called {name!r}; there are: {', '.join(map(repr, self.sets))}")
        return self.sets[name]


class State(_Sets):
    """Where a system is at one time.

    q: coordinates, (nodes, dq): positions [m] of particles (dq = 3), or position and unit quaternion wxyz of
       rigid bodies (dq = 7); systems of other kinds use what they document.
    u: velocities, (nodes, du): [m/s] for particles; [m/s] and angular [rad/s], world frame, for bodies (du = 6).
    time: [s].

    A system of several node sets has q and u of each, given as mappings of their names; ``state["sheet"]`` is the state
    of one of them. Of a batch of scenes q and u have a leading axis of scenes.
    """

    def __init__(self, q: Given, u: Given, time: float = 0.0) -> None:
        self.sets = _pairs("State", q, u)
        self.time = time
        for name, (x, v) in self.sets.items():
            at = f" of {name!r}" if name else ""
            if x.dim() < 1 or v.dim() < 1 or x.shape[0] != v.shape[0]:
                raise InputError(
                    f"State: q{at} has shape {tuple(x.shape)} and u {tuple(v.shape)}; expected (nodes, ...) in both"
                )
            if x.dtype != v.dtype:
                raise InputError(f"State: q{at} is {x.dtype} and u is {v.dtype}; expected one dtype")

    def __getitem__(self, name: str) -> State:
        return State(*self._named(name), self.time)

    def __repr__(self) -> str:
        return f"State({', '.join(f'{name or chr(113)}: {tuple(x.shape)}' for name, (x, _) in self.sets.items())})"

    def check_finite(self) -> State:
        """Itself, or InputError naming the first value that is NaN or infinite."""
        for name, (x, v) in self.sets.items():
            check_finite(f"State{f'[{name!r}]' if name else ''}.q", x)
            check_finite(f"State{f'[{name!r}]' if name else ''}.u", v)
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


class Trajectory(_Sets):
    """The states saved on the way.

    q: (frames, nodes, dq), u: (frames, nodes, du), times: (frames,) [s]. Differentiable. ``trajectory[3]`` is the
    state at a frame; of a system of several node sets ``trajectory["sheet"]`` is the trajectory of one.

    batch: of how many scenes it is, or None; q and u then have a leading axis of scenes, and ``scene(k)`` is the
    trajectory of one. mask: (batch, frames) whether a frame lies within its scene's length, or None where all do; the
    others repeat the scene's last one, without gradient.
    """

    def __init__(self, q: Given, u: Given, times: Tensor, batch: int | None = None, mask: Tensor | None = None) -> None:
        self.sets = _pairs("Trajectory", q, u)
        self.times = times
        self.batch, self.mask = batch, mask
        at = 0 if batch is None else 1
        for x, v in self.sets.values():
            if not x.shape[at] == v.shape[at] == times.shape[0]:
                raise InputError(
                    f"Trajectory: q, u and times hold {x.shape[at]}, {v.shape[at]} and {times.shape[0]} frames; "
                    "expected the same number"
                )

    def scene(self, number: int) -> Trajectory:
        """The trajectory of one scene of a batch, padding included."""
        if self.batch is None:
            raise InputError("Trajectory.scene: it is of one scene; expected a batch, see Model.params(batch=...)")
        return Trajectory(
            {name: x[number] for name, (x, _) in self.sets.items()},
            {name: v[number] for name, (_, v) in self.sets.items()},
            self.times,
        )

    def __len__(self) -> int:
        return int(self.times.shape[0])

    def __iter__(self) -> Iterator[State]:
        return (self[frame] for frame in range(len(self)))

    @overload
    def __getitem__(self, which: int) -> State: ...
    @overload
    def __getitem__(self, which: str) -> Trajectory: ...
    def __getitem__(self, which: int | str) -> State | Trajectory:
        if isinstance(which, str):
            return Trajectory(*self._named(which), self.times, self.batch, self.mask)
        at = (which,) if self.batch is None else (slice(None), which)
        return State(
            {name: x[at] for name, (x, _) in self.sets.items()},
            {name: v[at] for name, (_, v) in self.sets.items()},
            float(self.times[which]),
        )

    @property
    def last(self) -> State:
        """The last saved state."""
        return self[-1]

    def select(self, frames: Tensor | list[int]) -> Trajectory:
        """Only the given frames."""
        index = torch.as_tensor(frames, dtype=torch.long)
        at = (index,) if self.batch is None else (slice(None), index)
        return Trajectory(
            {name: x[at] for name, (x, _) in self.sets.items()},
            {name: v[at] for name, (_, v) in self.sets.items()},
            self.times[index],
            self.batch,
            None if self.mask is None else self.mask[:, index],
        )
