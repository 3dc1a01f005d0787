"""Windows of time with their own parameters, such as the restitution of each bounce.

"restitution@2" is that of the second window, "restitution" that of all without their own. The motion continues from
window to window; parameters of the start, such as "velocity@2", are put into the state at the beginning. A window with
a whole start of its own begins anew: multiple shooting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from diffloom.interfaces import InputError, Model, Params, State, Trajectory
from diffloom_fitting.validation import check_numbers

OF_WINDOW = "@"


def check_windows(begins: Sequence[float], span: float) -> tuple[float, ...]:
    """Return the times [s] at which windows after the first begin; raise unless they increase within ``span`` [s]."""
    found = check_numbers("scene.windows [s]", begins, len(begins))
    if any(not low < high for low, high in zip((0.0, *found), (*found, span), strict=True)):
        raise InputError(f"scene.windows: got {list(found)}; expected growing times between 0 s and {span:g} s")
    return found


def strip_window(name: str) -> str:
    """Return a name without its window."""
    return name.partition(OF_WINDOW)[0]


def find_window(name: str, windows: Sequence[float]) -> int | None:
    """Return the window, from 1, of a name such as "velocity@2"; None for names without one."""
    _, of, number = name.partition(OF_WINDOW)
    if not of:
        return None
    if not number.isdigit() or not 1 <= int(number) <= len(windows) + 1 or not windows:
        raise InputError(
            f"unknown {name!r}: got the window {number!r}; expected 1 to {len(windows) + 1} (time.windows)"
        )
    return int(number)


def select_window_values(values: Mapping[str, Tensor], number: int) -> dict[str, Tensor]:
    """Select the values of a window, by names without it."""
    end = f"{OF_WINDOW}{number}"
    return {strip_window(name): value for name, value in values.items() if name.endswith(end)}


def simulate_windows(
    breaks: Sequence[int], save: Sequence[int],
    simulate: Callable[[int, State | None, tuple[int, ...]], Trajectory], dt: float,
) -> Trajectory:  # fmt: skip
    """Simulate window by window.

    Args:
        breaks: First steps of windows after the first.
        save: Steps to save.
        simulate: Function from the number of a window, the state at its beginning (None: the start) and the steps to
            save after it, to its states.
        dt: Time step [s].

    Returns:
        The states at the steps ``save``.
    """
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
    memory = {n: torch.cat([p.memory[n] for p in parts]) for n in parts[0].memory}
    return Trajectory(q, u, torch.tensor(save, dtype=parts[0].times.dtype) * dt, memory=memory)


def start_window(model: Model, params: Params, own: Iterable[str], state: State) -> State:
    """Return ``state`` with the numbers that the parameters ``own`` of a start set."""
    fresh, q, u = model.initial_state(params), {}, {}
    told = [_set_by(model, params, name) for name in own]
    for name, (x, v) in state.sets.items():
        q[name], u[name] = x, v
        for which in told:
            q[name] = torch.where(which[name][0], fresh.sets[name][0], q[name])
            u[name] = torch.where(which[name][1], fresh.sets[name][1], u[name])
    return State(q, u, state.time, state.memory)


def _set_by(model: Model, params: Params, name: str) -> dict[str, tuple[Tensor, Tensor]]:
    """Return masks of the numbers of a start that change with a parameter."""
    with torch.no_grad():
        here = model.initial_state(params)
        shift = torch.linspace(0.3, 0.7, params[name].numel(), dtype=params.dtype).reshape(params[name].shape)
        there = model.initial_state(params.replace(**{name: params[name] + shift}))
    return {key: tuple(a != b for a, b in zip(here.sets[key], there.sets[key], strict=True)) for key in here.sets}  # type: ignore[misc]
