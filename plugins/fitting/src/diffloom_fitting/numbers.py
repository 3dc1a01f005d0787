"""Formatting of numbers for users."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

__all__ = [
    "format_brief",
    "format_memory",
    "format_number",
    "format_percent",
    "format_seconds",
    "format_unit",
    "format_value",
    "format_value_lines",
    "format_with_caveat",
]

WHOLE = 1e6  # numbers below are never written with an exponent


def format_number(value: float, digits: int = 6) -> str:
    """Format a number.

    Args:
        value: The number.
        digits: Largest number of significant digits.

    Returns:
        The text.
    """
    return f"{value:.{digits}g}"


def format_measured(value: float, deviation: float | None) -> str:
    """Format a value with its standard deviation, to the digits that it supports: 6.0012 ± 0.0003."""
    if deviation is None or not math.isfinite(deviation) or deviation <= 0.0:
        return format_number(value)
    if value != 0.0 and deviation < 1e-9 * abs(value):
        return f"{value:.10g}"
    decimals = -math.floor(math.log10(deviation)) + 1
    if 0 <= decimals <= 9:
        return f"{value:.{decimals}f} ± {deviation:.{decimals}f}"
    if decimals < 0 and abs(value) < WHOLE:
        return f"{round(value, decimals):.0f} ± {round(deviation, decimals):.0f}"
    return f"{value:.{max(3, decimals + _magnitude(value) + 1)}g} ± {deviation:.2g}"


def _magnitude(value: float) -> int:
    return 0 if value == 0.0 else math.floor(math.log10(abs(value)))


def format_value(value: Tensor, deviation: Tensor | None = None) -> str:
    """Format a parameter: a number, a short list, or mean and range of many numbers.

    Args:
        value: The parameter.
        deviation: Its standard deviation, of the same shape.

    Returns:
        The text.
    """
    if value.numel() == 1:
        return format_measured(float(value), None if deviation is None else float(deviation))
    if value.numel() <= 4:
        parts = value.flatten().tolist()
        deviations = [None] * len(parts) if deviation is None else deviation.flatten().tolist()
        return "(" + ", ".join(format_measured(v, d) for v, d in zip(parts, deviations, strict=True)) + ")"
    mean, low, high = (format_number(float(part), 4) for part in (value.mean(), value.min(), value.max()))
    return f"mean {mean}, {low} to {high}"


def format_value_lines(value: Tensor, deviation: Tensor | None = None) -> list[str]:
    """Format a parameter with each number of a short list on a line of its own.

    Args:
        value: The parameter.
        deviation: Its standard deviation, of the same shape.

    Returns:
        The lines.
    """
    if not 1 < value.numel() <= 4:
        return [format_value(value, deviation)]
    deviations = [None] * value.numel() if deviation is None else deviation.flatten().tolist()
    return [format_measured(v, d) for v, d in zip(value.flatten().tolist(), deviations, strict=True)]


def format_with_caveat(told: str, caveat: str) -> str:
    """Append a caveat to a value: 4246 (± withheld).

    Args:
        told: The formatted value.
        caveat: The caveat; may be empty.

    Returns:
        The text.
    """
    return f"{told} ({caveat})" if caveat else told


def format_brief(value: Any) -> str:
    """Format a value of a record in a few characters.

    Args:
        value: A number, a list, or a summary.

    Returns:
        The text.
    """
    if isinstance(value, dict):
        return f"~{format_number(value['mean'], 5)}"
    if isinstance(value, list):
        flat = _flat(value)
        if len(flat) == 1:
            return format_number(flat[0], 7)
        if len(flat) <= 3:
            return "(" + ", ".join(format_number(v, 4) for v in flat) + ")"
        return f"~{format_number(sum(flat) / len(flat), 5)}"
    return format_number(float(value), 7)


def _flat(value: Any) -> list[float]:
    return [x for item in value for x in _flat(item)] if isinstance(value, list) else [float(value)]


def format_unit(unit: str) -> str:
    """Format a unit for print: m/s^2 becomes m/s².

    Args:
        unit: The unit.

    Returns:
        The text.
    """
    return unit.replace("^2", "²").replace("^3", "³").replace("^-1", "⁻¹")


def format_percent(error: float | None) -> str:
    """Format a relative error.

    Args:
        error: The error, or None.

    Returns:
        The text; empty for None.
    """
    if error is None:
        return ""
    if error == 0.0:
        return "0"
    return f"{100.0 * error:.2g} %" if error >= 1e-4 else f"{error:.1e}"


def format_seconds(value: float) -> str:
    """Format a duration.

    Args:
        value: The duration [s].

    Returns:
        The text.
    """
    if value < 1.0:
        return f"{1000.0 * value:.0f} ms"
    if value < 120.0:
        return f"{value:.1f} s"
    return f"{value / 60.0:.1f} min"


def format_memory(count: int) -> str:
    """Format an amount of memory.

    Args:
        count: The amount [bytes]; 0 if it was not measured.

    Returns:
        The text.
    """
    if count == 0:
        return "unknown"
    return f"{count / 2**20:.0f} MB" if count < 2**30 else f"{count / 2**30:.2f} GB"
