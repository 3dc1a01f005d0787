"""Columns of a Jacobian that one simulation tells: a window's own unknowns show in no other window's frames."""

from __future__ import annotations

from bisect import bisect_right

import torch
from torch import Tensor

from diffloom_fitting.objective import Objective
from diffloom_fitting.scene.windows import plain_name, window_number

#: Columns that are moved at once, by the window whose residuals each has; None: all residuals.
Together = dict[int | None, int]


def columns_together(objective: Objective, count: int) -> list[Together]:
    """The ``count`` columns, those of one unknown in several windows together."""
    if not objective.scene.windows:
        return [{None: column} for column in range(count)]
    owners, found = _owners(objective), dict[object, Together]()
    for column in range(count):
        entries = [column] if objective.tie is None else (objective.tie.index == column).nonzero().flatten().tolist()
        name, place, window = owners[entries[0]]
        alone = window is None or len(entries) > 1
        key: object = column if alone else (name, place)
        found.setdefault(key, {})[None if alone else window] = column
    return list(found.values())


def windows_of(objective: Objective, fields: list[Tensor]) -> Tensor:
    """(n,): the window of each residual, those of a Gaussian prior included; 0 for what is of none."""
    scene, parts = objective.scene, []
    for field, (label, target) in zip(fields, objective.target.by_view().items(), strict=True):
        times = (target.times + scene.viewpoints[label].time_offset).tolist()
        each = torch.tensor([bisect_right(scene.windows, time) + 1 for time in times])
        parts.append(each.repeat_interleave(field.numel() // max(1, len(times))))
    sizes = {slot.name: slot.size for slot in objective.layout.slots}
    for name in {} if objective.gaussian is None else objective.gaussian.means:
        parts.append(torch.full((sizes[name],), window_number(name, scene.windows) or 0))
    return torch.cat(parts)


def _owners(objective: Objective) -> list[tuple[str, int, int | None]]:
    """Of each entry of the full vector: the unknown's plain name, which of its numbers it is, and its window."""
    return [
        (plain_name(slot.name), place, window_number(slot.name, objective.scene.windows))
        for slot in objective.layout.slots
        for place in range(slot.size)
    ]
