"""Windows of time: parameters that are others from some moment on, such as the restitution of each bounce.

"restitution@2" is that of the second window, "restitution" that of all that have none of their own. The motion goes on
from window to window; what a window has of its own of the start, such as "velocity@2", is put into the state at its
begin. With all of the start of its own a window begins anew: multiple shooting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from diffloom.interfaces import InputError, Model, Params, State, Trajectory
from diffloom_fitting.validation import numbers

OF_WINDOW = "@"


def check_windows(begins: Sequence[float], span: float) -> tuple[float, ...]:
    """Where windows after the first begin [s]; InputError unless they come one after another within the span [s]."""
    found = numbers("scene.windows [s]", begins, len(begins))
    if any(not low < high for low, high in zip((0.0, *found), (*found, span), strict=True)):
        raise InputError(f"scene.windows: got {list(found)}; expected growing times between 0 s and {span:g} s")
    return found


def strip_window(name: str) -> str:
    """The name without its window."""
    return name.partition(OF_WINDOW)[0]


def find_window(name: str, windows: Sequence[float]) -> int | None:
    """Which window a name such as "velocity@2" is of, from 1; None for what all share."""
    _, of, number = name.partition(OF_WINDOW)
    if not of:
        return None
    if not number.isdigit() or not 1 <= int(number) <= len(windows) + 1 or not windows:
        raise InputError(
            f"unknown {name!r}: got the window {number!r}; expected 1 to {len(windows) + 1}, see scene.windows"
        )
    return int(number)


def select_window_values(values: Mapping[str, Tensor], number: int) -> dict[str, Tensor]:
    """What a window has of its own, by plain names."""
    end = f"{OF_WINDOW}{number}"
    return {strip_window(name): value for name, value in values.items() if name.endswith(end)}


def simulate_windows(
    breaks: Sequence[int], save: Sequence[int],
    simulate: Callable[[int, State | None, tuple[int, ...]], Trajectory], dt: float,
) -> Trajectory:  # fmt: skip
    """The states at the steps ``save``. breaks: first steps of windows after the first. simulate: from the number of a
    window, the state at its begin (None: the start) and the steps to save after that, to its states."""
    parts, state = [], None
    for number, (first, end) in enumerate(pairwise((0, *breaks, save[-1] + 1)), start=1):
        if first > save[-1]:
            break
        kept = [step - first for step in save if first <= step < end]
        goes_on = end <= save[-1]
        path = simulate(number, state, (*kept, end - first) if goes_on else tuple(kept))
        state = path.last if goes_on else None
        parts.append(path.select(list(range(len(kept)))))
    q, u = ({n: torch.cat([p.sets[n][k] for p in parts]) for n in parts[0].sets} for k in (0, 1))
    return Trajectory(q, u, torch.tensor(save, dtype=parts[0].times.dtype) * dt)


def start_window(model: Model, params: Params, own: Iterable[str], state: State) -> State:
    """``state`` with those of its numbers that the parameters ``own`` set at a start as ``params`` set them."""
    fresh, q, u = model.initial_state(params), {}, {}
    told = [_set_by(model, params, name) for name in own]
    for name, (x, v) in state.sets.items():
        q[name], u[name] = x, v
        for which in told:
            q[name] = torch.where(which[name][0], fresh.sets[name][0], q[name])
            u[name] = torch.where(which[name][1], fresh.sets[name][1], u[name])
    return State(q, u, state.time)


def _set_by(model: Model, params: Params, name: str) -> dict[str, tuple[Tensor, Tensor]]:
    """Which numbers of a start a parameter sets: those that change with it."""
    with torch.no_grad():
        here = model.initial_state(params)
        shift = torch.linspace(0.3, 0.7, params[name].numel(), dtype=params.dtype).reshape(params[name].shape)
        there = model.initial_state(params.replace(**{name: params[name] + shift}))
    return {key: tuple(a != b for a, b in zip(here.sets[key], there.sets[key], strict=True)) for key in here.sets}  # type: ignore[misc]
