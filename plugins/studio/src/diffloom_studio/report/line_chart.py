"""Line charts as SVG. The report needs no more than lines, and a plotting library takes seconds to start and draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from diffloom_studio.report.ticks import Axis, linear_axis, log_axis

BLUE, ORANGE, GREY = "#1f5fa8", "#d9632b", "#777777"
HEIGHT, WIDTH = 259, 384  # [px]
FONT, LETTER = 13, 8.3  # height of the letters, and the width of a digit in a wide typeface [px]
TOP, RIGHT, FOOT = 10.0, 12.0, 46.0


@dataclass(frozen=True)
class Curve:
    """One line through (x, y). Gaps are left where y is not finite. label: None keeps it out of the legend."""

    xs: Sequence[float]
    ys: Sequence[float]
    colour: str = BLUE
    label: str | None = None
    width: float = 1.9
    opacity: float = 1.0
    dots: bool = False


@dataclass(frozen=True)
class Chart:
    """Curves over common axes. levels: heights of dashed lines. log: a logarithmic vertical axis, for values > 0.
    whole: marks at whole numbers across."""

    curves: Sequence[Curve]
    xlabel: str
    ylabel: str
    levels: Sequence[float] = ()
    log: bool = False
    width: int = WIDTH
    whole: bool = True

    def svg(self, at: tuple[float, float] = (0.0, 0.0)) -> str:
        """An <svg> element, the same bytes for the same chart. at: its corner within another [px]."""
        heights = [y for curve in self.curves for y in curve.ys] + list(self.levels)
        across = linear_axis([x for curve in self.curves for x in curve.xs], 6, whole=self.whole)
        up = (log_axis if self.log else linear_axis)(heights, 5)
        frame = _Frame(across, up, self.width)
        parts = [*frame.grid(), *(frame.level(y) for y in self.levels)]
        parts += [part for curve in self.curves for part in frame.curve(curve)]
        parts += [*frame.labels(self.xlabel, self.ylabel), *frame.legend([c for c in self.curves if c.label])]
        return _element(self.width, HEIGHT, parts, at)


def beside(charts: Sequence[Chart], columns: int = 3) -> str:
    """Charts in rows as one <svg> element."""
    columns = min(columns, len(charts))
    places = [((n % columns) * WIDTH, (n // columns) * HEIGHT) for n in range(len(charts))]
    parts = [chart.svg(place) for chart, place in zip(charts, places, strict=True)]
    return _element(columns * WIDTH, -(-len(charts) // columns) * HEIGHT, parts)


def _element(width: float, height: float, parts: Sequence[str], at: tuple[float, float] = (0.0, 0.0)) -> str:
    place = f' x="{at[0]:g}" y="{at[1]:g}"' if any(at) else ""
    head = f'<svg xmlns="http://www.w3.org/2000/svg"{place} width="{width:g}" height="{height:g}" '
    head += f'viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" font-size="{FONT}" fill="currentColor">'
    return "\n".join([head, *parts, "</svg>\n"])


@dataclass(frozen=True)
class _Frame:
    """Where values lie on the page."""

    across: Axis
    up: Axis
    width: int

    @property
    def left(self) -> float:
        return 32.0 + LETTER * max(len(text) for _, text in self.up.ticks)

    def x(self, value: float) -> float:
        return self.left + self.across.part(value) * (self.width - RIGHT - self.left)

    def y(self, value: float) -> float:
        return TOP + (1.0 - self.up.part(value)) * (HEIGHT - FOOT - TOP)

    def grid(self) -> list[str]:
        """Lines at the ticks, their labels, and the two axes."""
        foot, end = HEIGHT - FOOT, self.width - RIGHT
        parts = []
        for value, text in self.across.ticks:
            x = self.x(value)
            parts.append(_line(x, TOP, x, foot, "currentColor", 'stroke-opacity="0.15"'))
            parts.append(_text(x, foot + 17, text))
        for value, text in self.up.ticks:
            y = self.y(value)
            parts.append(_line(self.left, y, end, y, "currentColor", 'stroke-opacity="0.15"'))
            parts.append(_text(self.left - 6, y + 4.5, text, 'text-anchor="end"'))
        return [
            *parts,
            _line(self.left, TOP, self.left, foot, "currentColor"),
            _line(self.left, foot, end, foot, "currentColor"),
        ]

    def level(self, value: float) -> str:
        y = self.y(value)
        return _line(self.left, y, self.width - RIGHT, y, ORANGE, 'stroke-width="1.6" stroke-dasharray="6 4"')

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
        # A run of one point is no line: it shows as a dot.
        dotted = [point for run in runs for point in run if curve.dots or len(run) == 1]
        return parts + [f'<circle cx="{x:.2f}" cy="{y:.2f}" r="2.2" fill="{curve.colour}"/>' for x, y in dotted]

    def labels(self, xlabel: str, ylabel: str) -> list[str]:
        middle = 0.5 * (TOP + HEIGHT - FOOT)
        turned = f'transform="rotate(-90 15 {middle:g})"'
        return [_text(0.5 * (self.left + self.width - RIGHT), HEIGHT - 8, xlabel), _text(15, middle, ylabel, turned)]

    def legend(self, curves: Sequence[Curve]) -> list[str]:
        """Names of curves in the upper right corner, where a loss that falls leaves room."""
        if len(curves) < 2:
            return []
        start = self.width - RIGHT - 30 - LETTER * max(len(str(curve.label)) for curve in curves)
        parts = []
        for n, curve in enumerate(curves):
            y = TOP + 12 + 17 * n
            parts.append(_line(start, y - 4.5, start + 18, y - 4.5, curve.colour, 'stroke-width="1.9"'))
            parts.append(_text(start + 24, y, str(curve.label), 'text-anchor="start"'))
        return parts


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, style: str = "") -> str:
    return f'<line x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}" stroke="{colour}" {style}/>'


def _text(x: float, y: float, text: str, style: str = "") -> str:
    anchor = "" if "text-anchor" in style else ' text-anchor="middle"'
    return f'<text x="{x:.2f}" y="{y:.2f}"{anchor} {style}>{escape(text)}</text>'
