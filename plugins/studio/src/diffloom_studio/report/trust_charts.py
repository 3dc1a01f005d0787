"""Charts that show how well the video determines the unknowns: profiles of the loss, and correlations."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from diffloom.interfaces import InputError, SimulationError
from diffloom_fitting import Experiment, Result
from diffloom_fitting.numbers import format_unit
from diffloom_fitting.trust import Uncertainty
from diffloom_studio.report.charts import BLUE, FONT, LETTER, ORANGE, Chart, Curve

MOST_PROFILES, MOST_CELLS = 6, 12  # unknowns with a profile, and rows of the map of correlations
DEVIATIONS = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)  # points of a profile, in units of ±
MOST_SECONDS = 20.0  # longest time that profiles may take, by the time of an iteration [s]
CELL = 34  # width of a cell of the map [px]


def plot_profiles(experiment: Experiment, result: Result) -> list[str]:
    """Return a chart for each of the first unknowns: the loss at up to three of its ± from the estimate.

    The other unknowns follow by their correlation with it, which is the profile of the loss to first order.

    Args:
        experiment: The experiment.
        result: Its result.
    """
    sure = result.uncertainty
    if not isinstance(sure, Uncertainty) or not _is_complete(result):
        return []
    deviations = torch.cat([e.deviation.reshape(-1) for e in result.estimates if e.deviation is not None])
    if len(deviations) != experiment.layout.size or sure.correlation.shape != (len(deviations), len(deviations)):
        return []
    count = min(MOST_PROFILES, len(deviations))
    if result.seconds_per_iteration * count * len(DEVIATIONS) > MOST_SECONDS:
        return []
    return [_plot_profile(experiment, result, deviations, k) for k in range(count)]


def _is_complete(result: Result) -> bool:
    """Return True if every unknown has a finite deviation."""
    return all(e.deviation is not None and bool(torch.isfinite(e.deviation).all()) for e in result.estimates)


def _plot_profile(experiment: Experiment, result: Result, deviations: Tensor, number: int) -> str:
    sure = result.uncertainty
    assert isinstance(sure, Uncertainty)
    found = torch.cat([e.found.reshape(-1) for e in result.estimates]).to(experiment.layout.dtype)
    along = (deviations * sure.correlation[number]).to(found.dtype)
    xs, points = [], []
    for t in DEVIATIONS:
        values = _split(experiment, found + t * along)
        try:
            points.append(experiment.layout.encode(values))
        except InputError:  # outside the unknown's bounds
            continue
        xs.append(float(found[number] + t * along[number]))
    try:
        losses = [seen.value for seen in experiment.objective().values_at(points)]
    except SimulationError:
        losses = [math.nan] * len(points)
    names = [
        (e.name if e.found.numel() == 1 else f"{e.name} {'xyz'[k] if e.found.numel() == 3 else k + 1}", e.unit)
        for e in result.estimates for k in range(e.found.numel())
    ]  # fmt: skip
    name, unit = names[number]
    label = name + (f" [{format_unit(unit)}]" if unit else "")
    middle, width = float(found[number]), float(deviations[number])
    marks = ((middle - width, BLUE), (middle, ORANGE), (middle + width, BLUE))
    return Chart([Curve(xs, losses, dots=True)], label, "loss", whole=False, marks=marks, across=4).svg()


def _split(experiment: Experiment, numbers: Tensor) -> dict[str, Tensor]:
    """Return values by name from all numbers in a row."""
    parts = torch.split(numbers, [slot.size for slot in experiment.layout.slots])
    return {slot.name: part.reshape(slot.shape) for slot, part in zip(experiment.layout.slots, parts, strict=True)}


def draw_correlations(result: Result, labels: list[str]) -> str:
    """Return a map of the correlations between unknowns as an <svg> element; "" for a single unknown, or too many.

    Args:
        result: The result.
        labels: Name of each entry.
    """
    sure = result.uncertainty
    count = len(labels)
    if not isinstance(sure, Uncertainty) or not 2 <= count <= MOST_CELLS or sure.correlation.shape != (count, count):
        return ""
    names = [_shorten(label) for label in labels]
    left = LETTER * max(map(len, names)) + 12
    wide, high = left + CELL * count + 4, CELL * count + 26
    parts = []
    for row, name in enumerate(names):
        y = CELL * row
        parts.append(f'<text x="{left - 8:.0f}" y="{y + CELL / 2 + 5:.0f}" text-anchor="end">{name}</text>')
        parts.append(
            f'<text x="{left + CELL * (row + 0.5):.0f}" y="{CELL * count + 18}" text-anchor="middle">{row + 1}</text>'
        )
        for column in range(count):
            value = float(sure.correlation[row, column])
            colour = ORANGE if value > 0.0 else BLUE
            x = left + CELL * column
            parts.append(
                f'<rect x="{x:.0f}" y="{y}" width="{CELL - 2}" height="{CELL - 2}" rx="3" fill="{colour}" '
                f'fill-opacity="{min(1.0, abs(value)) * 0.85:.2f}" stroke="currentColor" stroke-opacity="0.15"/>'
            )
            parts.append(
                f'<text x="{x + CELL / 2 - 1:.0f}" y="{y + CELL / 2 + 4:.0f}" text-anchor="middle" font-size="11">'
                f"{value:.2f}</text>"
            )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high}" viewBox="0 0 {wide:.0f} {high}" '
    )
    return head + f'font-family="sans-serif" font-size="{FONT}" fill="currentColor">' + "".join(parts) + "</svg>"


def _shorten(label: str) -> str:
    """Return "velocity y" for "velocity[1]"."""
    name, _, rest = label.partition("[")
    part = rest.removesuffix("]")
    return f"{name} {'xyz'[int(part)]}" if part in ("0", "1", "2") else label
