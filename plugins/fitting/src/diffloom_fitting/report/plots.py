"""Plots as SVG: sharp on a phone and in print."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from diffloom_fitting.console.numbers import pretty_unit
from diffloom_fitting.loop import Record
from diffloom_fitting.result import Estimate, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE = {
    "font.size": 10.0, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
    "svg.fonttype": "path", "svg.hashsalt": "diffloom", "axes.axisbelow": True,
}  # fmt: skip
BLUE, ORANGE, GREY = "#1f5fa8", "#d9632b", "#777777"
MOST = 9  # unknowns that are drawn


def loss_plot(result: Result) -> str:
    """The loss over iterations, stages told apart by colour."""
    figure, axes = _figure(1)
    records = [r for r in result.history if math.isfinite(r.loss)]
    # A loss of exactly zero is drawn at the foot of a logarithmic axis.
    floor = 0.1 * min((r.loss for r in records if r.loss > 0.0), default=0.0)
    groups: dict[tuple[int, int], list[Record]] = {}
    for record in records:
        groups.setdefault((record.start, record.stage), []).append(record)
    for number, ((_, stage), rows) in enumerate(groups.items()):
        label = f"stage {stage + 1}: {rows[0].optimiser}" if number < 6 else None
        losses = [max(r.loss, floor) for r in rows]
        axes[0].plot([r.total for r in rows], losses, marker="o", markersize=3, label=label)
    if floor > 0.0:
        axes[0].set_yscale("log")
    axes[0].set(xlabel="iteration", ylabel="loss")
    if 1 < len(groups) <= 6:
        axes[0].legend(frameon=False, fontsize=9)
    return svg(figure)


def parameter_plot(result: Result) -> str:
    """Each unknown over the iterations, with the truth where it is known, in one drawing."""
    shown = result.estimates[:MOST]
    figure, axes = _figure(len(shown))
    for estimate, at in zip(shown, axes, strict=False):
        _one_parameter(at, estimate, result.history)
    return svg(figure)


def parameter_plots(result: Result) -> list[str]:
    """The same, a drawing each, so that a page can lay them out for any width."""
    drawings = []
    for estimate in result.estimates[:MOST]:
        figure, axes = _figure(1, width=4.0)
        _one_parameter(axes[0], estimate, result.history)
        drawings.append(svg(figure))
    return drawings


def _one_parameter(at: Axes, estimate: Estimate, history: Sequence[Record]) -> None:
    steps = [r.total for r in history]
    curves = _curves([r.values[estimate.name] for r in history])
    for curve in curves:
        at.plot(
            steps, curve, color=BLUE, linewidth=1.4 if len(curves) < 4 else 0.8, alpha=1.0 if len(curves) < 4 else 0.5
        )
    if estimate.truth is not None:
        for value in sorted({round(v, 12) for v in estimate.truth.flatten().tolist()})[:16]:
            at.axhline(value, color=ORANGE, linestyle="--", linewidth=1.2)
    at.set(xlabel="iteration", ylabel=estimate.name + (f" [{pretty_unit(estimate.unit)}]" if estimate.unit else ""))


def _curves(values: Sequence[Any]) -> list[list[float]]:
    """One list per number; mean, low and high where there were many."""
    if isinstance(values[0], dict):
        return [[float(v[key]) for v in values] for key in ("low", "mean", "high")]
    rows = [_flat(v) for v in values]
    return [list(column) for column in zip(*rows, strict=True)]


def _flat(value: Any) -> list[float]:
    return [x for item in value for x in _flat(item)] if isinstance(value, list) else [float(value)]


def _figure(count: int, width: float = 6.4) -> tuple[Figure, list[Axes]]:
    import matplotlib
    from matplotlib.figure import Figure

    columns = min(count, 3)
    rows = -(-count // columns)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.0 * columns if count > 1 else width, 2.7 * rows), layout="constrained")
        axes = [figure.add_subplot(rows, columns, n + 1) for n in range(count)]
    return figure, axes


def svg(figure: Figure) -> str:
    """The figure as an <svg> element, the same bytes for the same figure."""
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return re.sub(r"^.*?(?=<svg)", "", text, count=1, flags=re.DOTALL)
