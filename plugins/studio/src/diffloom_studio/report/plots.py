"""The report's charts as SVG: sharp on a phone and in print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from diffloom_fitting.loop import Record
from diffloom_fitting.numbers import pretty_unit
from diffloom_fitting.result import Estimate, Result
from diffloom_studio.report.line_chart import BLUE, GREY, ORANGE, Chart, Curve, beside

COLOURS = (BLUE, ORANGE, "#2c8a57", "#a23b72", "#8a6d1d", GREY)  # stages, in turn
MOST = 9  # unknowns that are drawn


def loss_plot(result: Result) -> str:
    """The loss over iterations, stages told apart by colour."""
    records = [r for r in result.history if math.isfinite(r.loss)]
    # A loss of exactly zero is drawn at the foot of a logarithmic axis.
    floor = 0.1 * min((r.loss for r in records if r.loss > 0.0), default=0.0)
    groups: dict[tuple[int, int], list[Record]] = {}
    for record in records:
        groups.setdefault((record.start, record.stage), []).append(record)
    stages = sorted({stage for _, stage in groups})
    named: set[int] = set()
    curves = []
    for (_, stage), rows in groups.items():
        # Several starts share the colours of the stages, and one line of the legend for each.
        label = (
            f"stage {stage + 1}: {rows[0].optimiser}" if stage not in named and len(stages) <= len(COLOURS) else None
        )
        named.add(stage)
        heights = [max(r.loss, floor) for r in rows]
        curves.append(Curve([r.total for r in rows], heights, COLOURS[stage % len(COLOURS)], label, dots=True))
    log = floor > 0.0
    return Chart(curves, "iteration", "loss, log scale" if log else "loss", log=log).svg()


def parameter_plot(result: Result) -> str:
    """Each unknown over the iterations, with the truth where it is known, in one drawing."""
    return beside(_charts(result))


def parameter_plots(result: Result) -> list[str]:
    """The same, a drawing each, so that a page can lay them out for any width."""
    return [chart.svg() for chart in _charts(result)]


def _charts(result: Result) -> list[Chart]:
    return [_one_parameter(estimate, result.history) for estimate in result.estimates[:MOST]]


def _one_parameter(estimate: Estimate, history: Sequence[Record]) -> Chart:
    steps = [r.total for r in history]
    rows = _curves([r.values[estimate.name] for r in history])
    few = len(rows) < 4
    curves = [Curve(steps, row, width=1.9 if few else 1.0, opacity=1.0 if few else 0.5) for row in rows]
    truth: list[float] = []
    if estimate.truth is not None:
        truth = sorted({round(v, 12) for v in estimate.truth.flatten().tolist()})[:16]
    name = estimate.name + (f" [{pretty_unit(estimate.unit)}]" if estimate.unit else "")
    return Chart(curves, "iteration", name, truth)


def _curves(values: Sequence[Any]) -> list[list[float]]:
    """One list per number; mean, low and high where there were many."""
    if not values:
        return []
    if isinstance(values[0], dict):
        return [[float(v[key]) for v in values] for key in ("low", "mean", "high")]
    rows = [_flat(v) for v in values]
    return [list(column) for column in zip(*rows, strict=True)]


def _flat(value: Any) -> list[float]:
    return [x for item in value for x in _flat(item)] if isinstance(value, list) else [float(value)]
