"""State at one time, controls per step, and trajectories of saved states, with internal variables by name."""

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
    """Return coordinates and velocities by node set; a single set has the name ""."""
    if isinstance(q, Tensor) and isinstance(u, Tensor):
        return {"": (q, u)}
    if isinstance(q, Mapping) and isinstance(u, Mapping) and q.keys() == u.keys() and q:
        return {name: (q[name], u[name]) for name in q}
    names = [", ".join(map(repr, given)) if isinstance(given, Mapping) else "one tensor" for given in (q, u)]
    raise InputError(f"{owner}: q is of {names[0]} and u of {names[1]}; expected the same node sets in both")


class _Sets:
    """Base of states and trajectories: tensors q and u of each node set, and internal variables by name."""

    sets: Mapping[str, Pair]
    memory: Mapping[str, Tensor]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the node sets."""
        return tuple(self.sets)

    @property
    def q(self) -> Tensor:
        """Coordinates, if there is one node set."""
        return self._only()[0]

    @property
    def u(self) -> Tensor:
        """Velocities, if there is one node set."""
        return self._only()[1]

    def _only(self) -> Pair:
        """Return q and u of the only node set."""
        if len(self.sets) != 1:
            kind = type(self).__name__.lower()
            raise InputError(
                f"{kind}.q and {kind}.u: there are several node sets, {', '.join(map(repr, self.sets))}; "
                f"take one by name, {kind}[{next(iter(self.sets))!r}].q"
            )
        return next(iter(self.sets.values()))

    def _get_set(self, name: str) -> Pair:
        """Return q and u of one node set."""
        if name not in self.sets:
            raise InputError(f"no node set is called {name!r}; there are: {', '.join(map(repr, self.sets))}")
        return self.sets[name]


class State(_Sets):
    """State of a system at one time.

    A system of several node sets has q and u of each, given as mappings by name; ``state["sheet"]`` is the state of one
    set. In a batch of scenes q and u have a leading axis of scenes.

    Args:
        q: Coordinates (nodes, dq): positions [m] of particles (dq = 3), or position and unit quaternion wxyz of rigid
            bodies
            (dq = 7); other systems document their own.
        u: Velocities (nodes, du): [m/s] of particles; [m/s] and angular [rad/s] in the world frame of bodies (du = 6).
        time: Time [s], 0 by default.
        memory: Internal variables by name, (nodes or elements, ...), as ``Model.memory`` declares them. Variables that
            are left out have their declared start values.
    """

    def __init__(self, q: Given, u: Given, time: float = 0.0, memory: Mapping[str, Tensor] | None = None) -> None:
        self.sets = _pairs("State", q, u)
        self.time = time
        self.memory = dict(memory or {})
        for name, (x, v) in self.sets.items():
            at = f" of {name!r}" if name else ""
            if x.dim() < 1 or v.dim() < 1 or x.shape[0] != v.shape[0]:
                raise InputError(
                    f"State: q{at} has shape {tuple(x.shape)} and u {tuple(v.shape)}; expected (nodes, ...) in both"
                )
            if x.dtype != v.dtype:
                raise InputError(f"State: q{at} is {x.dtype} and u is {v.dtype}; expected one dtype")

    def __getitem__(self, name: str) -> State:
        return State(*self._get_set(name), self.time)

    def __repr__(self) -> str:
        shapes = {name or "q": x.shape for name, (x, _) in self.sets.items()}
        shapes |= {name: value.shape for name, value in self.memory.items()}
        return f"State({', '.join(f'{name}: {tuple(shape)}' for name, shape in shapes.items())})"

    def check_finite(self) -> State:
        """Return the state itself if all values are finite.

        Returns:
            The state.

        Raises:
            InputError: A value is NaN or infinite; the message names the first.
        """
        for name, (x, v) in self.sets.items():
            check_finite(f"State{f'[{name!r}]' if name else ''}.q", x)
            check_finite(f"State{f'[{name!r}]' if name else ''}.u", v)
        for name, value in self.memory.items():
            check_finite(f"State.memory[{name!r}]", value)
        return self


class Control(Mapping[str, Tensor]):
    """Controls by parameter name: each tensor is (steps, *shape of the parameter it drives).

    Args:
        values: Tensors by parameter name; none by default.
    """

    def __init__(self, values: Mapping[str, Tensor] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, name: str) -> Tensor:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def check_steps(self, steps: int) -> Control:
        """Return the control itself if every tensor has one row per step.

        Args:
            steps: Number of steps of the simulation.

        Returns:
            The control.

        Raises:
            InputError: A tensor has another number of rows.
        """
        for name, value in self._values.items():
            if value.dim() < 1 or value.shape[0] != steps:
                raise InputError(
                    f"control {name!r}: got shape {tuple(value.shape)} for {steps} steps; expected one row per step, "
                    f"({steps}, ...)"
                )
        return self


class Trajectory(_Sets):
    """Saved states of a rollout, differentiable.

    ``trajectory[3]`` is the state of a frame; ``trajectory["sheet"]`` is the trajectory of one of several node sets.

    Args:
        q: Coordinates (frames, nodes, dq), or a mapping of these by node set.
        u: Velocities (frames, nodes, du), or a mapping of these by node set.
        times: Times of the frames (frames,) [s].
        batch: Number of scenes, or None for one; q and u of a batch have a leading axis of scenes.
        mask: (batch, frames), True for frames within the length of their scene; None if all are. Later frames repeat
            the
            scene's last one, without gradient.
        memory: Internal variables by name, (frames, nodes or elements, ...), in a batch with a leading axis of scenes.
    """

    def __init__(
        self,
        q: Given,
        u: Given,
        times: Tensor,
        batch: int | None = None,
        mask: Tensor | None = None,
        memory: Mapping[str, Tensor] | None = None,
    ) -> None:
        self.sets = _pairs("Trajectory", q, u)
        self.times = times
        self.batch, self.mask = batch, mask
        self.memory = dict(memory or {})
        at = 0 if batch is None else 1
        for x, v in self.sets.values():
            if not x.shape[at] == v.shape[at] == times.shape[0]:
                raise InputError(
                    f"Trajectory: q, u and times hold {x.shape[at]}, {v.shape[at]} and {times.shape[0]} frames; "
                    "expected the same number"
                )

    def scene(self, number: int) -> Trajectory:
        """Return the trajectory of one scene of a batch, padding included.

        Args:
            number: Number of the scene.

        Returns:
            Trajectory without an axis of scenes.
        """
        if self.batch is None:
            raise InputError("Trajectory.scene: it is of one scene; expected a batch, see Model.params(batch=...)")
        return Trajectory(
            {name: x[number] for name, (x, _) in self.sets.items()},
            {name: v[number] for name, (_, v) in self.sets.items()},
            self.times,
            memory={name: value[number] for name, value in self.memory.items()},
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
            return Trajectory(*self._get_set(which), self.times, self.batch, self.mask)
        at = (which,) if self.batch is None else (slice(None), which)
        return State(
            {name: x[at] for name, (x, _) in self.sets.items()},
            {name: v[at] for name, (_, v) in self.sets.items()},
            float(self.times[which]),
            {name: value[at] for name, value in self.memory.items()},
        )

    @property
    def last(self) -> State:
        """Last saved state."""
        return self[-1]

    def select(self, frames: Tensor | list[int]) -> Trajectory:
        """Return the trajectory of some frames.

        Args:
            frames: Numbers of the frames.

        Returns:
            Trajectory of these frames.
        """
        index = torch.as_tensor(frames, dtype=torch.long)
        at = (index,) if self.batch is None else (slice(None), index)
        return Trajectory(
            {name: x[at] for name, (x, _) in self.sets.items()},
            {name: v[at] for name, (_, v) in self.sets.items()},
            self.times[index],
            self.batch,
            None if self.mask is None else self.mask[:, index],
            {name: value[at] for name, value in self.memory.items()},
        )
