"""Charts as SVG: lines with readable ticks, the loss and the unknowns of a fit, and loss landscapes."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from diffloom_fitting import Estimate, Experiment, Result
from diffloom_fitting.files import write_text
from diffloom_fitting.loop import Record
from diffloom_fitting.numbers import format_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from diffloom_fitting.landscape import LossGrid


ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
MARGIN = 0.05  # free part of the range on both sides


@dataclass(frozen=True)
class ChartAxis:
    """Axis of a chart.

    low, high: its ends, logarithms to base 10 when ``log``. ticks: pairs (value, text).
    """

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def part(self, value: float) -> float:
        """Return the position of a value: 0 at the low end, 1 at the high."""
        return ((math.log10(value) if self.log else value) - self.low) / (self.high - self.low)


def make_linear_axis(values: Sequence[float], count: int, whole: bool = False) -> ChartAxis:
    """Return an axis around the values with about ``count`` ticks; whole: at whole numbers only."""
    low, high = _find_ends(values)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        widened = 0.5 * abs(low) or 0.5
        low, high = low - widened, high + widened
    step = _step((high - low) / count)
    if whole:
        step = max(1.0, float(round(step)))
    low, high = low - MARGIN * (high - low), high + MARGIN * (high - low)
    marks = [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return ChartAxis(low, high, tuple((mark, _format_tick(mark, step)) for mark in marks))


def make_log_axis(values: Sequence[float], count: int) -> ChartAxis:
    """Return a logarithmic axis: ticks at powers of ten, and between them where these are few."""
    low, high = (math.log10(end) for end in _find_ends([v for v in values if v > 0.0]))
    spare = max(MARGIN * (high - low), 0.1)
    low, high = low - spare, high + spare
    first, last = math.floor(low), math.ceil(high)
    for within in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), tuple(1.0 + 0.5 * k for k in range(18))):
        found = [m * 10.0**k for k in range(first, last + 1) for m in within if low <= k + math.log10(m) <= high]
        if len(found) >= 3:
            break
    every = -(-len(found) // (2 * count))
    return ChartAxis(low, high, tuple((mark, f"{mark:.3g}") for mark in found[::every]), log=True)


def _find_ends(values: Sequence[float]) -> tuple[float, float]:
    finite = [v for v in values if math.isfinite(v)]
    return (min(finite), max(finite)) if finite else (1.0, 1.0)


def _step(least: float) -> float:
    """Return the smallest round number that is not below ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((r * power for r in ROUND if r * power >= least * (1.0 - 1e-9)), 10.0 * power)


def _format_tick(mark: float, step: float) -> str:
    """Return a tick's number with the digits that distinguish it from its neighbours."""
    if abs(mark) < 0.5 * step:
        return "0"
    digits = math.floor(math.log10(abs(mark) / step) + 1e-9) + 2
    return f"{mark:.{max(digits, 1)}g}" if abs(mark) >= 1e6 or step < 1e-4 else f"{mark:.{_count_decimals(step)}f}"


def _count_decimals(step: float) -> int:
    """Return the decimal places that write multiples of ``step`` in full."""
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return places if abs(step * 10.0**places - round(step * 10.0**places)) < 1e-6 else places + 1


BLUE, ORANGE, GREY = "#1f5fa8", "#d9632b", "#777777"
HEIGHT, WIDTH = 259, 384  # [px]
FONT, LETTER = 13, 8.3  # height of letters, and width of a digit in a wide typeface [px]
TOP, RIGHT, FOOT = 10.0, 12.0, 46.0


@dataclass(frozen=True)
class Curve:
    """Line through points (x, y), with gaps where y is not finite. label: None keeps it out of the legend."""

    xs: Sequence[float]
    ys: Sequence[float]
    colour: str = BLUE
    label: str | None = None
    width: float = 1.9
    opacity: float = 1.0
    dots: bool = False


@dataclass(frozen=True)
class Chart:
    """Curves over common axes.

    levels: heights of dashed lines. log: a logarithmic vertical axis, for values > 0. whole: ticks at whole numbers
    across. marks: places of dashed vertical lines with their colours. across: number of ticks across.
    """

    curves: Sequence[Curve]
    xlabel: str
    ylabel: str
    levels: Sequence[float] = ()
    log: bool = False
    width: int = WIDTH
    whole: bool = True
    marks: Sequence[tuple[float, str]] = ()
    across: int = 6

    def svg(self, at: tuple[float, float] = (0.0, 0.0)) -> str:
        """Return an <svg> element, the same bytes for the same chart. at: its corner within another element [px]."""
        heights = [y for curve in self.curves for y in curve.ys] + list(self.levels)
        across = make_linear_axis([x for curve in self.curves for x in curve.xs], self.across, whole=self.whole)
        up = (make_log_axis if self.log else make_linear_axis)(heights, 5)
        frame = _PlotFrame(across, up, self.width)
        parts = [*frame.grid(), *(frame.level(y) for y in self.levels)]
        parts += [frame.mark(x, colour) for x, colour in self.marks]
        parts += [part for curve in self.curves for part in frame.curve(curve)]
        parts += [*frame.labels(self.xlabel, self.ylabel), *frame.legend([c for c in self.curves if c.label])]
        return _make_element(self.width, HEIGHT, parts, at)


def arrange_charts(charts: Sequence[Chart], columns: int = 3) -> str:
    """Return charts in rows as one <svg> element."""
    columns = min(columns, len(charts))
    places = [((n % columns) * WIDTH, (n // columns) * HEIGHT) for n in range(len(charts))]
    parts = [chart.svg(place) for chart, place in zip(charts, places, strict=True)]
    return _make_element(columns * WIDTH, -(-len(charts) // columns) * HEIGHT, parts)


def _make_element(width: float, height: float, parts: Sequence[str], at: tuple[float, float] = (0.0, 0.0)) -> str:
    place = f' x="{at[0]:g}" y="{at[1]:g}"' if any(at) else ""
    head = f'<svg xmlns="http://www.w3.org/2000/svg"{place} width="{width:g}" height="{height:g}" '
    head += f'viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" font-size="{FONT}" fill="currentColor">'
    return "\n".join([head, *parts, "</svg>\n"])


@dataclass(frozen=True)
class _PlotFrame:
    """Mapping of values to positions on the page."""

    across: ChartAxis
    up: ChartAxis
    width: int

    @property
    def left(self) -> float:
        return 32.0 + LETTER * max(len(text) for _, text in self.up.ticks)

    def x(self, value: float) -> float:
        return self.left + self.across.part(value) * (self.width - RIGHT - self.left)

    def y(self, value: float) -> float:
        return TOP + (1.0 - self.up.part(value)) * (HEIGHT - FOOT - TOP)

    def grid(self) -> list[str]:
        """Return lines at the ticks, their labels, and the two axes."""
        foot, end = HEIGHT - FOOT, self.width - RIGHT
        parts = []
        for value, text in self.across.ticks:
            x = self.x(value)
            parts.append(_draw_line(x, TOP, x, foot, "currentColor", 'stroke-opacity="0.15"'))
            parts.append(_draw_text(x, foot + 17, text))
        for value, text in self.up.ticks:
            y = self.y(value)
            parts.append(_draw_line(self.left, y, end, y, "currentColor", 'stroke-opacity="0.15"'))
            parts.append(_draw_text(self.left - 6, y + 4.5, text, 'text-anchor="end"'))
        return [
            *parts,
            _draw_line(self.left, TOP, self.left, foot, "currentColor"),
            _draw_line(self.left, foot, end, foot, "currentColor"),
        ]

    def level(self, value: float) -> str:
        y = self.y(value)
        return _draw_line(self.left, y, self.width - RIGHT, y, ORANGE, 'stroke-width="1.6" stroke-dasharray="6 4"')

    def mark(self, value: float, colour: str) -> str:
        x = self.x(value)
        return _draw_line(x, TOP, x, HEIGHT - FOOT, colour, 'stroke-width="1.4" stroke-dasharray="5 4"')

    def curve(self, curve: Curve) -> list[str]:
        runs: list[list[tuple[float, float]]] = [[]]
        for x, y in zip(curve.xs, curve.ys, strict=True):
            if math.isfinite(y):
                runs[-1].append((self.x(x), self.y(y)))
            elif runs[-1]:
                runs.append([])
        style = f'stroke="{curve.colour}" stroke-width="{curve.width:g}" stroke-opacity="{curve.opacity:g}"'
        points = [" ".join(f"{x:.2f},{y:.2f}" for x, y in run) for run in runs if run]
        parts = [f'<polyline points="{text}" fill="none" stroke-linejoin="round" {style}/>' for text in points]
        # A run of one point is shown as a dot.
        dotted = [point for run in runs for point in run if curve.dots or len(run) == 1]
        return parts + [f'<circle cx="{x:.2f}" cy="{y:.2f}" r="2.2" fill="{curve.colour}"/>' for x, y in dotted]

    def labels(self, xlabel: str, ylabel: str) -> list[str]:
        middle = 0.5 * (TOP + HEIGHT - FOOT)
        turned = f'transform="rotate(-90 15 {middle:g})"'
        return [
            _draw_text(0.5 * (self.left + self.width - RIGHT), HEIGHT - 8, xlabel),
            _draw_text(15, middle, ylabel, turned),
        ]

    def legend(self, curves: Sequence[Curve]) -> list[str]:
        """Return the names of curves in the upper right corner, where a falling loss leaves room."""
        if len(curves) < 2:
            return []
        start = self.width - RIGHT - 30 - LETTER * max(len(str(curve.label)) for curve in curves)
        parts = []
        for n, curve in enumerate(curves):
            y = TOP + 12 + 17 * n
            parts.append(_draw_line(start, y - 4.5, start + 18, y - 4.5, curve.colour, 'stroke-width="1.9"'))
            parts.append(_draw_text(start + 24, y, str(curve.label), 'text-anchor="start"'))
        return parts


def _draw_line(x1: float, y1: float, x2: float, y2: float, colour: str, style: str = "") -> str:
    return f'<line x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}" stroke="{colour}" {style}/>'


def _draw_text(x: float, y: float, text: str, style: str = "") -> str:
    anchor = "" if "text-anchor" in style else ' text-anchor="middle"'
    return f'<text x="{x:.2f}" y="{y:.2f}"{anchor} {style}>{escape(text)}</text>'


COLOURS = (BLUE, ORANGE, "#2c8a57", "#a23b72", "#8a6d1d", GREY)  # stages, in turn
MOST = 9  # unknowns that are drawn


def plot_loss(result: Result) -> str:
    """Return a chart of the loss over iterations, with a colour for each stage."""
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


def plot_parameters(result: Result) -> str:
    """Return charts of the unknowns over the iterations, with the truth where it is known, as one drawing."""
    return arrange_charts(_make_charts(result))


def plot_each_parameter(result: Result) -> list[str]:
    """Return a chart of each unknown, so that a page can lay them out for any width."""
    return [chart.svg() for chart in _make_charts(result)]


def _make_charts(result: Result) -> list[Chart]:
    return [_chart_parameter(estimate, result.history) for estimate in result.estimates[:MOST]]


def _chart_parameter(estimate: Estimate, history: Sequence[Record]) -> Chart:
    steps = [r.total for r in history]
    rows = _split_curves([r.values[estimate.name] for r in history])
    few = len(rows) < 4
    curves = [Curve(steps, row, width=1.9 if few else 1.0, opacity=1.0 if few else 0.5) for row in rows]
    if estimate.found.shape == (3,) and len(rows) == 3:
        curves = [replace(curve, colour=COLOURS[k], label="xyz"[k]) for k, curve in enumerate(curves)]
    truth: list[float] = []
    if estimate.truth is not None:
        truth = sorted({round(v, 12) for v in estimate.truth.flatten().tolist()})[:16]
    name = estimate.name + (f" [{format_unit(estimate.unit)}]" if estimate.unit else "")
    return Chart(curves, "iteration", name, truth)


def _split_curves(values: Sequence[Any]) -> list[list[float]]:
    """Return one list per number; mean, low and high where there were many."""
    if not values:
        return []
    if isinstance(values[0], dict):
        return [[float(v[key]) for v in values] for key in ("low", "mean", "high")]
    rows = [_flatten(v) for v in values]
    return [list(column) for column in zip(*rows, strict=True)]


def _flatten(value: Any) -> list[float]:
    return [x for item in value for x in _flatten(item)] if isinstance(value, list) else [float(value)]


STYLE = {
    "font.size": 10.0, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
    "svg.fonttype": "path", "svg.hashsalt": "diffloom", "axes.axisbelow": True,
}  # fmt: skip


def plot_landscape(grid: LossGrid, truth: Mapping[str, float], level: float | None = None) -> str:
    """Return an SVG of the grid, with marks at the truth where it is known and at a ``level`` of the loss."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        at = figure.add_subplot()
        names = [axis.name for axis in grid.axes]
        at.set_xlabel(names[0])
        if len(names) == 1:
            at.plot(grid.axes[0].values, grid.losses, color=BLUE, marker="o", markersize=2.5)
            at.set_ylabel("loss")
            if level is not None:
                at.axhline(level, color="0.5", linestyle=":", label="95 %")
                at.legend(frameon=False)
            if names[0] in truth:
                at.axvline(truth[names[0]], color=ORANGE, linestyle="--")
        else:
            shown = np.log10(np.maximum(grid.losses, 1e-300)).T
            low = float(np.min(shown[shown > -299.0])) if (shown > -299.0).any() else -300.0
            shown = np.maximum(shown, low)
            mesh = at.contourf(grid.axes[0].values, grid.axes[1].values, shown, levels=30, cmap="viridis")
            figure.colorbar(mesh, ax=at, label="log10 loss")
            at.set_ylabel(names[1])
            if level is not None:
                edge = [float(np.log10(level))]
                at.contour(grid.axes[0].values, grid.axes[1].values, shown, levels=edge, colors="white")
            if all(name in truth for name in names):
                at.plot([truth[names[0]]], [truth[names[1]]], marker="*", markersize=12, color=ORANGE)
        return _to_svg(figure)


def _to_svg(figure: Figure) -> str:
    """Return the figure as an <svg> element, the same bytes for the same figure."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return re.sub(r"^.*?(?=<svg)", "", buffer.getvalue(), count=1, flags=re.DOTALL)


def write_landscape(
    folder: Path, experiment: Experiment, grid: LossGrid, level: float | None = None
) -> tuple[Path, Path]:
    """Write landscape.svg and landscape.csv. level: a loss to mark, such as the edge of a profile's 95 % region."""
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow([*(axis.name for axis in grid.axes), "loss"])
    for index in np.ndindex(grid.losses.shape):
        place = [repr(float(axis.values[i])) for axis, i in zip(grid.axes, index, strict=True)]
        table.writerow([*place, repr(float(grid.losses[index]))])
    write_text(folder / "landscape.csv", text.getvalue())
    truth = {name: float(value.flatten()[0]) for name, value in experiment.truth.items()}
    write_text(folder / "landscape.svg", plot_landscape(grid, truth, level))
    return folder / "landscape.svg", folder / "landscape.csv"
