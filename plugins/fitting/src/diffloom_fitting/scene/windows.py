"""Windows of time (multiple shooting): a scene that begins anew several times, each time from values of its own.

A motion that a small change at its start makes another one, such as that of a ball after its third bounce, is not found
by simulating it as a whole. Cut into windows, each is short; what they share, such as gravity and the camera, is
found from all. "velocity@2" is the velocity of the second window, "velocity" that of all that have none of their own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

import torch
from torch import Tensor

from diffloom.interfaces import InputError, Trajectory
from diffloom_fitting.accepting import numbers

OF_WINDOW = "@"


def checked_windows(begins: Sequence[float], span: float) -> tuple[float, ...]:
    """Where windows after the first begin [s]; InputError unless they come one after another within the span [s]."""
    found = numbers("scene.windows [s]", begins, len(begins))
    if any(not low < high for low, high in zip((0.0, *found), (*found, span), strict=True)):
        raise InputError(f"scene.windows: got {list(found)}; expected growing times between 0 s and {span:g} s")
    return found


def plain_name(name: str) -> str:
    """The name without its window."""
    return name.partition(OF_WINDOW)[0]


def window_number(name: str, windows: Sequence[float]) -> int | None:
    """Which window a name such as "velocity@2" is of, from 1; None for what all share."""
    _, of, number = name.partition(OF_WINDOW)
    if not of:
        return None
    if not number.isdigit() or not 1 <= int(number) <= len(windows) + 1 or not windows:
        raise InputError(
            f"unknown {name!r}: got the window {number!r}; expected 1 to {len(windows) + 1}, see scene.windows"
        )
    return int(number)


def values_of_window(values: Mapping[str, Tensor], number: int) -> dict[str, Tensor]:
    """What a window is simulated with: the values that are shared, and its own in their place."""
    shared = {name: value for name, value in values.items() if OF_WINDOW not in name}
    end = f"{OF_WINDOW}{number}"
    return shared | {plain_name(name): value for name, value in values.items() if name.endswith(end)}


def in_windows(
    breaks: Sequence[int], save: Sequence[int], simulate: Callable[[int, int, tuple[int, ...]], Trajectory], dt: float
) -> Trajectory:
    """The states at the steps ``save``, each of its window. breaks: first steps of windows after the first; simulate:
    from a window's number and first step, and the steps to save after that, to its states."""
    parts = []
    for number, steps in groupby(save, lambda step: bisect_right(breaks, step)):
        first = breaks[number - 1] if number else 0
        parts.append(simulate(number + 1, first, tuple(step - first for step in steps)))
    q, u = ({n: torch.cat([p.sets[n][k] for p in parts]) for n in parts[0].sets} for k in (0, 1))
    return Trajectory(q, u, torch.tensor(save, dtype=parts[0].times.dtype) * dt)
