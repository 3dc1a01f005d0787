"""The unknowns as sliders: one for each number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom_fitting import Experiment

MOST = 6  # numbers of one unknown that get a slider
WIDER = 2.0  # how far beyond all known values a slider reaches
STEPS = 200  # at least, from one end to the other


@dataclass(frozen=True)
class Knob:
    """A slider for entry ``index`` of the unknown ``name``."""

    name: str
    index: int
    label: str
    low: float
    high: float
    step: float
    value: float


def knobs(experiment: Experiment, values: Mapping[str, Mapping[str, Tensor]], first: str) -> list[Knob]:
    """Sliders from half the smallest to twice the largest known value, within the bounds of a positive quantity;
    ``first`` names the values they begin with."""
    found = []
    for slot in experiment.layout.slots:
        known = [values[name][slot.name].detach().double().flatten() for name in values]
        if slot.size > MOST or len({len(one) for one in known}) > 1 or len(known[0]) > MOST:
            continue
        begin = values[first][slot.name].detach().double().flatten()
        for index in range(len(begin)):
            low, high, step = _range([float(one[index]) for one in known])
            unit = f" [{slot.unit}]" if slot.unit else ""
            label = slot.name + (f" {index}" if len(begin) > 1 else "") + unit
            found.append(Knob(slot.name, index, label, low, high, step, float(begin[index])))
    return found


def _range(known: list[float]) -> tuple[float, float, float]:
    """Low and high end and step, round numbers all."""
    least, most = min(known), max(known)
    if least > 0.0:
        low, high = least / WIDER, most * WIDER
    else:
        reach = max(most - least, abs(least), abs(most)) or 1.0
        low, high = least - reach, most + reach
    step = 10.0 ** math.floor(math.log10((high - low) / STEPS))
    tidy = 10.0 * step
    return math.floor(low / tidy) * tidy if low < 0.0 or low > tidy else step, math.ceil(high / tidy) * tidy, step


def turned(values: Mapping[str, Tensor], settings: Mapping[tuple[str, int], float]) -> dict[str, Tensor]:
    """``values`` with the entries that sliders were set to."""
    found = {name: value.detach().clone() for name, value in values.items()}
    with torch.no_grad():
        for (name, index), value in settings.items():
            found[name].view(-1)[index] = value
    return found
